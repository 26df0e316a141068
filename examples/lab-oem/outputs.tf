output "cards" {
  description = "What was bought: chip, part number, PSID and firmware of each card."
  value = {
    for place, card in module.lab.cards : place => {
      chip        = card.chip
      subsystem   = card.pci_subsystem_id # 103c is HP
      part_number = card.part_number
      psid        = card.flash_psid
      firmware    = card.flash_version
    }
  }
}
