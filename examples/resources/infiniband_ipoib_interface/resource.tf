resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}

resource "infiniband_guids" "intel9" {
  card_id  = infiniband_card.intel9.id
  base_mac = "e4:1d:2d:e4:4e:d0"
}

resource "infiniband_ipoib_interface" "intel9" {
  host      = "intel9"
  port_guid = infiniband_guids.intel9.port_guids["1"]
  mode      = "connected"
  mtu       = 65520
  addresses = ["172.16.0.20/24"]
}
