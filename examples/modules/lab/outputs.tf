output "cards" {
  description = "Every card of the hosts of these cards, as its host shows it on each plan, by host and PCI address."
  value       = data.infiniband_cards.now.cards
}

output "firmware" {
  description = "PSID and version that each card runs, and where its old firmware is."
  value = {
    for name, card in infiniband_firmware.card : name => {
      psid    = try(infiniband_activation.host[local.hosts[name]].running[var.cards[name].pci_address].psid, null)
      version = try(infiniband_activation.host[local.hosts[name]].running[var.cards[name].pci_address].version, null)
      backup  = card.original_backup_path
    }
  }
}

output "guids" {
  description = "The identity of each card that was given one."
  value = {
    for name, card in infiniband_guids.card : name => {
      node  = card.node_guid
      ports = card.port_guids
      macs  = card.macs
    }
  }
}

output "subnet_managers" {
  description = "The subnet managers by card and port: their units, and the state of their ports."
  value = {
    for place, manager in infiniband_opensm.fabric : place => {
      unit  = manager.unit
      state = manager.port_state
    }
  }
}

output "interfaces" {
  description = "The IPoIB interfaces by card and port."
  value = {
    for place, ipoib in infiniband_ipoib_interface.fabric : place => {
      interface = ipoib.interface
      mode      = ipoib.mode
      mtu       = ipoib.mtu
      addresses = ipoib.addresses
    }
  }
}
