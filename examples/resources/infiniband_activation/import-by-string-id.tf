import {
  to = infiniband_activation.intel9
  id = "intel9"
}
