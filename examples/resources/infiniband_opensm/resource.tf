resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}

resource "infiniband_guids" "intel9" {
  card_id  = infiniband_card.intel9.id
  base_mac = "e4:1d:2d:e4:4e:d0"
}

resource "infiniband_opensm" "intel9" {
  host      = "intel9"
  port_guid = infiniband_guids.intel9.port_guids["1"]
  priority  = 14

  # A standby of this one takes over after 2 s × (2 + 2) = 8 s, not after a minute.
  sminfo_polling_timeout = "2s"
  polling_retry_number   = 2

  partitions = {
    Default = { ipoib = true, mtu = 4096, full = ["ALL"] }
    storage = {
      pkey    = "0x8001"
      ipoib   = true
      mtu     = 4096
      full    = [infiniband_guids.intel9.port_guids["1"]] # the server, which all others reach
      limited = ["ALL_CAS"]                               # its clients, which do not reach each other
    }
  }
}
