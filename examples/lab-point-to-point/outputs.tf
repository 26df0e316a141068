# What the hosts show now, on each plan.
data "infiniband_cards" "lab" {}

output "cards" {
  description = "The cards as their driver shows them."
  value = {
    for place, card in data.infiniband_cards.lab.cards : place => {
      chip       = card.chip
      firmware   = card.running_version
      port_guids = { for number, port in card.ports : number => port.port_guid }
    }
  }
}

output "link" {
  description = "The cabled port of the host that runs the subnet manager: Active once the link works."
  value       = infiniband_opensm.link.port_state
}
