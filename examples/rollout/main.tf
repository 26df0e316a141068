provider "infiniband" {
  backup_dir = "${path.root}/firmware-backups"
  reboot     = { allowed = true }

  cards_at_once = 8 # of a wave, after its first one

  ssh   = { private_key_file = var.private_key_file, known_hosts_files = var.known_hosts_files }
  hosts = var.hosts
}

# An instance for each host: only so does -target=module.host["node1"] mean one host. No
# instance refers to objects of another one.
module "host" {
  source   = "../modules/lab" # elsewhere: "github.com/ibfabric/terraform-provider-infiniband//examples/modules/lab?ref=v0.1.0"
  for_each = var.cards

  cards      = { (each.key) = each.value }
  image      = { source = var.image, sha256 = var.image_sha256 }
  allow      = var.allow
  link_types = { "1" = "ib", "2" = "ib" }

  subnet_managers = contains(keys(var.subnet_managers), each.key) ? {
    (each.key) = { (try(each.value.port, 1)) = var.subnet_managers[each.key] }
  } : {}

  ipoib_mode = var.ipoib_mode
  ipoib_mtu  = var.ipoib_mtu
}
