resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}

resource "infiniband_link_type" "intel9" {
  card_id = infiniband_card.intel9.id
  ports   = { "1" = "ib", "2" = "ib" }
}
