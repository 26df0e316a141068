provider "infiniband" {
  backup_dir = "${path.root}/firmware-backups"
  reboot     = { allowed = true }

  ssh   = { private_key_file = var.private_key_file, known_hosts_files = var.known_hosts_files }
  hosts = var.hosts
}

module "lab" {
  source = "../modules/lab" # elsewhere: "github.com/ibfabric/terraform-provider-infiniband//examples/modules/lab?ref=v0.1.0"

  cards      = var.cards
  image      = { source = var.image, sha256 = var.image_sha256 }
  allow      = var.allow
  link_types = { "1" = "ib", "2" = "ib" }

  # An unmanaged switch has no subnet manager: one host runs it.
  subnet_managers = { (var.subnet_manager) = { (var.cards[var.subnet_manager].port) = 14 } }

  ipoib_mode = var.ipoib_mode
  ipoib_mtu  = var.ipoib_mtu
}

# The fabric as the host with the subnet manager sees it, once all is done.
data "infiniband_fabric" "lab" {
  host = var.subnet_manager

  depends_on = [module.lab]
}

# Its picture, in a file of the repository that is written again when it changes.
resource "infiniband_fabric_file" "picture" {
  file_path = "${path.root}/fabric.svg"
  content   = data.infiniband_fabric.lab.svg
}
