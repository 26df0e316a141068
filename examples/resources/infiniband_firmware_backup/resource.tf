resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}

# Reads the card and writes nothing to it: a good first resource for a new card.
resource "infiniband_firmware_backup" "intel9" {
  card_id = infiniband_card.intel9.id

  # A new backup, beside the old one, whenever a value changes.
  triggers = { reason = "before the cross-flash" }
}

output "firmware_backup" {
  value = infiniband_firmware_backup.intel9.image_path
}
