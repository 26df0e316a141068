import {
  to = infiniband_node_names.intel9
  identity = {
    host = "intel9"
  }
}
