# What the hosts show now, on each plan.
data "infiniband_cards" "lab" {}

output "cards" {
  description = "What was bought: chip, part number, PSID and firmware of each card."
  value = {
    for place, card in data.infiniband_cards.lab.cards : place => {
      chip        = card.chip
      subsystem   = card.pci_subsystem_id # 103c is HP
      part_number = card.part_number
      psid        = card.flash_psid
      firmware    = card.flash_version
    }
  }
}

output "interfaces" {
  description = "The IPoIB interfaces."
  value = {
    for name, ipoib in infiniband_ipoib_interface.fabric : name => {
      interface = ipoib.interface
      mode      = ipoib.mode
      mtu       = ipoib.mtu
      addresses = ipoib.addresses
    }
  }
}
