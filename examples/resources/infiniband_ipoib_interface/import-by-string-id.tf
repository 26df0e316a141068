import {
  to = infiniband_ipoib_interface.intel9
  id = "intel9/0xe41d2d0300e44ed1"
}
