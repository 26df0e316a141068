resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}

# From the MAC address on the card's label: node GUID 0xe41d2d0300e44ed0, ports +1 and +2.
resource "infiniband_guids" "intel9" {
  card_id    = infiniband_card.intel9.id
  base_mac   = "e4:1d:2d:e4:4e:d0"
  activation = "reboot"
}
