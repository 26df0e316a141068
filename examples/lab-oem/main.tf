provider "infiniband" {
  ssh   = { private_key_file = var.private_key_file, known_hosts_files = var.known_hosts_files }
  hosts = var.hosts
}

module "lab" {
  source = "../modules/lab" # elsewhere: "github.com/ibfabric/terraform-provider-infiniband//examples/modules/lab?ref=v0.1.0"

  # Before anything is changed: a card that a seller sent by mistake fails the plan. HP's firmware
  # is VPI: nothing is burned. The ports begin as Ethernet.
  cards      = var.cards
  chip       = "ConnectX-3 Pro"
  link_types = { "1" = "ib", "2" = "ib" }

  # Two cables are two fabrics without a subnet manager. One host runs one for each of its ports.
  # While the ports are Ethernet a plan cannot see that each has a fabric of its own, so the priorities differ (SM005).
  subnet_managers = { (var.subnet_manager) = { "1" = 14, "2" = 13 } }

  ipoib_mode = "connected"
  ipoib_mtu  = 65520
}
