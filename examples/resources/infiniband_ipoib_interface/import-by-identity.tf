import {
  to = infiniband_ipoib_interface.intel9
  identity = {
    host      = "intel9"
    port_guid = "0xe41d2d0300e44ed1"
  }
}
