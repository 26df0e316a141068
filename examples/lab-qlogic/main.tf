provider "infiniband" {
  ssh = {
    private_key_file  = var.private_key_file
    known_hosts_files = var.known_hosts_files
  }

  hosts = {
    for name, host in var.hosts : name => {
      address           = host.address
      port              = host.port
      user              = host.user
      private_key_file  = host.private_key_file
      known_hosts_files = host.known_hosts_file == null ? null : [host.known_hosts_file]
    }
  }
}

# A QLogic card has no firmware in flash and no PSID: what its driver shows is all there
# is to know of it.
resource "infiniband_card" "card" {
  for_each = var.cards

  host        = each.key
  pci_address = each.value.pci_address
}

# Arch has no package of opensm, Ubuntu has one: that settles which end runs it. It is
# what takes both ports from Initializing to Active.
resource "infiniband_opensm" "link" {
  host      = var.subnet_manager
  port_guid = infiniband_card.card[var.subnet_manager].port_guids["1"]
  priority  = 14
}
