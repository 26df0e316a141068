import {
  to = infiniband_opensm.intel9
  identity = {
    host      = "intel9"
    port_guid = "0xe41d2d0300e44ed1"
  }
}
