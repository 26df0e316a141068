import {
  to = infiniband_node_names.nas
  identity = {
    host = "nas"
  }
}
