output "cards" {
  description = "The cards as their driver shows them. There is no firmware version and no PSID: null."
  value = {
    for place, card in module.lab.cards : place => {
      chip       = card.chip
      board      = card.part_number
      driver     = card.driver
      rdma       = card.rdma_device
      port_guids = { for number, port in card.ports : number => port.port_guid }
      psid       = card.flash_psid
      firmware   = card.running_version
    }
  }
}
