import {
  to = infiniband_activation.intel9
  identity = {
    host = "intel9"
  }
}
