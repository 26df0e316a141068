provider "infiniband" {
  ssh   = { private_key_file = var.private_key_file, known_hosts_files = var.known_hosts_files }
  hosts = var.hosts
}

module "lab" {
  source = "../modules/lab" # elsewhere: "github.com/ibfabric/terraform-provider-infiniband//examples/modules/lab?ref=v0.1.0"

  # A QLogic card has no firmware in flash and no PSID: what its driver shows is all there
  # is to know of it.
  cards = var.cards

  # Arch has no package of opensm, Ubuntu has one: that settles which end runs it. It is
  # what takes both ports from Initializing to Active.
  subnet_managers = { (var.subnet_manager) = { "1" = 14 } }

  ipoib_mode = "connected"
  ipoib_mtu  = var.ipoib_mtu
}
