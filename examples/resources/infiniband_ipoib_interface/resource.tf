resource "infiniband_ipoib_interface" "intel9" {
  host      = "intel9"
  port_guid = "0xe41d2d0300e44ed1" # or infiniband_guids.intel9.port_guids["1"]
  mode      = "connected"
  mtu       = 65520
  addresses = ["172.16.0.20/24"]
}
