resource "infiniband_card" "pve3" {
  host        = "pve3"
  pci_address = "0000:01:00.0"
}

# A QLogic card comes up disabled; this brings its port up at every boot.
resource "infiniband_port" "pve3" {
  card_id = infiniband_card.pve3.id
  port    = 1
}

# A long copper cable that only holds at DDR.
resource "infiniband_card" "pve1" {
  host        = "pve1"
  pci_address = "0000:01:00.0"
}

resource "infiniband_port" "pve1" {
  card_id = infiniband_card.pve1.id
  port    = 2
  speeds  = ["SDR", "DDR"]
  widths  = ["1X", "4X"]
}
