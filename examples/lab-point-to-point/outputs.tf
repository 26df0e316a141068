output "cards" {
  description = "The cards as their driver shows them."
  value = {
    for place, card in module.lab.cards : place => {
      chip       = card.chip
      firmware   = card.running_version
      port_guids = { for number, port in card.ports : number => port.port_guid }
    }
  }
}
