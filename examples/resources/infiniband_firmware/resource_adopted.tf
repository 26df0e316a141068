# Without image_id the resource shows what the card has and never writes to it.
resource "infiniband_card" "as_bought" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}

resource "infiniband_firmware" "as_bought" {
  card_id = infiniband_card.as_bought.id
}
