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

resource "infiniband_card" "card" {
  for_each = var.cards

  host        = each.key
  pci_address = each.value.pci_address

  expect = { chip = "ConnectX-4" }
}

# The IS5022 is unmanaged: it has no subnet manager.
resource "infiniband_opensm" "fabric" {
  host      = var.subnet_manager
  port_guid = infiniband_card.card[var.subnet_manager].port_guids["1"]
  priority  = 14
}
