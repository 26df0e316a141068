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

# The cards are adopted as they are: nobody can burn an InfiniHost any more, and nobody
# needs to.
resource "infiniband_card" "card" {
  for_each = var.cards

  host        = each.key
  pci_address = each.value.pci_address
}

# Without a switch there is no subnet manager either. One end runs it; two would only
# argue about who is the master.
resource "infiniband_opensm" "link" {
  host      = var.subnet_manager
  port_guid = infiniband_card.card[var.subnet_manager].port_guids["1"]
  priority  = 14
}
