output "firmware" {
  description = "PSID and version that each card runs, and where its old firmware is."
  value = {
    for name, card in infiniband_firmware.card : name => {
      psid    = card.running_psid
      version = card.running_version
      backup  = card.original_backup_path
    }
  }
}

output "guids" {
  description = "The identity of each card."
  value = {
    for name, card in infiniband_guids.card : name => {
      node  = card.node_guid
      ports = card.port_guids
      macs  = card.macs
    }
  }
}

output "ports" {
  description = "Every port as its host sees it: state, LID, and the LID of the subnet manager."
  value = merge([
    for card in data.infiniband_cards.fabric.cards : {
      for number, port in card.ports : "${card.host} port ${number}" => "${coalesce(port.link_type, "?")} ${coalesce(port.state, "?")}/${coalesce(port.physical_state, "?")} lid ${port.lid} sm_lid ${port.sm_lid}"
    }
  ]...)
}

output "subnet_manager" {
  description = "The unit that runs the subnet manager."
  value       = infiniband_opensm.fabric.unit
}

output "interfaces" {
  description = "The IPoIB interfaces, with what brings them back after a restart."
  value = {
    for name, ipoib in infiniband_ipoib_interface.fabric : name => {
      interface = ipoib.interface
      mode      = ipoib.mode
      mtu       = ipoib.mtu
      addresses = ipoib.addresses
      stored_in = ipoib.stored_in
    }
  }
}

output "picture" {
  description = "File with a picture of the fabric."
  value       = infiniband_fabric_file.picture.file_path
}
