resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}

# Enabled, now and at every boot; QLogic cards come up disabled.
resource "infiniband_port" "first" {
  card_id = infiniband_card.intel9.id
  port    = 1
}

# A long copper cable that only holds at DDR.
resource "infiniband_port" "second" {
  card_id = infiniband_card.intel9.id
  port    = 2
  speeds  = ["SDR", "DDR"]
  widths  = ["1X", "4X"]
}
