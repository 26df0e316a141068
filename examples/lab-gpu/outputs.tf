output "cards" {
  description = "The cards, with the PCI Express link that GPUDirect shares with them."
  value = {
    for place, card in module.lab.cards : place => {
      psid     = card.flash_psid
      firmware = card.running_version
      pcie     = card.pcie
      rate     = card.ports["1"].rate # 40 Gb/sec: the switch is QDR, whatever the card can
    }
  }
}
