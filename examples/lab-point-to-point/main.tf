provider "infiniband" {
  ssh   = { private_key_file = var.private_key_file, known_hosts_files = var.known_hosts_files }
  hosts = var.hosts
}

module "lab" {
  source = "../modules/lab" # elsewhere: "github.com/ibfabric/terraform-provider-infiniband//examples/modules/lab?ref=v0.1.0"

  # The cards are adopted as they are: nobody can burn an InfiniHost any more, and nobody
  # needs to.
  cards = var.cards

  # Without a switch there is no subnet manager either. One end runs it; two would only
  # argue about who is the master.
  subnet_managers = { (var.subnet_manager) = { "1" = 14 } }

  # Connected mode and the large MTU are what makes these cards fast; datagram mode ends
  # at 2044 with them. Both ends must agree.
  ipoib_mode = "connected"
  ipoib_mtu  = 65520
}
