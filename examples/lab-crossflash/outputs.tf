output "picture" {
  description = "File with a picture of the fabric."
  value       = infiniband_fabric_file.picture.file_path
}

# What the hosts themselves say once everything is done.
data "infiniband_cards" "afterwards" {
  depends_on = [module.lab]
}

output "ports" {
  description = "Every port as its host sees it after the apply: state, LID, and the LID of the subnet manager."
  value = merge([
    for card in data.infiniband_cards.afterwards.cards : {
      for number, port in card.ports : "${card.host} port ${number}" => "${coalesce(port.link_type, "?")} ${coalesce(port.state, "?")}/${coalesce(port.physical_state, "?")} lid ${port.lid} sm_lid ${port.sm_lid}"
    }
  ]...)
}
