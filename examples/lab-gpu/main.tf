provider "infiniband" {
  ssh   = { private_key_file = var.private_key_file, known_hosts_files = var.known_hosts_files }
  hosts = var.hosts
}

module "lab" {
  source = "../modules/lab" # elsewhere: "github.com/ibfabric/terraform-provider-infiniband//examples/modules/lab?ref=v0.1.0"

  cards = var.cards
  chip  = "ConnectX-4"

  # The IS5022 is unmanaged: it has no subnet manager.
  subnet_managers = { (var.subnet_manager) = { "1" = 14 } }

  ipoib_mode = var.ipoib_mode
  ipoib_mtu  = var.ipoib_mtu
}
