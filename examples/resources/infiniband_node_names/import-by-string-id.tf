import {
  to = infiniband_node_names.intel9
  id = "intel9"
}
