# terraform apply -invoke=action.infiniband_settle_job.intel9
action "infiniband_settle_job" "intel9" {
  config {
    card_id = infiniband_card.intel9.id
  }
}

resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}
