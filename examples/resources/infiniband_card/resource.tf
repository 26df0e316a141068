resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"

  # Optional: what the card must be. From the first apply on it is known by its serial number.
  expect = {
    chip = "ConnectX-3 Pro"
  }
}
