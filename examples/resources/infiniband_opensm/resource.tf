resource "infiniband_opensm" "intel9" {
  host      = "intel9"
  port_guid = "0xe41d2d0300e44ed1" # or infiniband_guids.intel9.port_guids["1"]
  priority  = 14

  # A standby of this one takes over after 2 s × (2 + 2) = 8 s, not after a minute.
  sminfo_polling_timeout = "2s"
  polling_retry_number   = 2

  partitions = {
    Default = { ipoib = true, mtu = 4096, full = ["ALL"] }
    storage = {
      pkey    = "0x0001"
      ipoib   = true
      mtu     = 4096
      full    = ["0xe41d2d0300e44ed1"] # the server, which all others reach
      limited = ["ALL_CAS"]            # its clients, which do not reach each other
    }
  }
}
