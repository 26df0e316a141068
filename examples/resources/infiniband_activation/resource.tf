resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}

resource "infiniband_guids" "intel9" {
  card_id    = infiniband_card.intel9.id
  base_mac   = "e4:1d:2d:e4:4e:d0"
  activation = "host"
}

resource "infiniband_activation" "intel9" {
  host = "intel9"

  depends_on = [infiniband_guids.intel9]
}
