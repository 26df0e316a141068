resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"

  # Optional: fail if another card is found there.
  expect = {
    chip = "ConnectX-3 Pro"
  }
}
