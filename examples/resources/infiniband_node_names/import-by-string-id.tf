import {
  to = infiniband_node_names.nas
  id = "nas"
}
