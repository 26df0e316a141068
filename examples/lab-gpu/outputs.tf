output "cards" {
  description = "The cards, with the PCI Express link that GPUDirect shares with them."
  value = {
    for name, card in infiniband_card.card : name => {
      psid     = card.flash_psid
      firmware = card.running_version
      pcie     = card.pcie
      rate     = card.ports["1"].rate # 40 Gb/sec: the switch is QDR, whatever the card can
    }
  }
}
