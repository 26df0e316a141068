# The hosts of one shard. Terraform's memory and the damage of a mistake end with it.
locals {
  inventory = jsondecode(file(var.inventory))
  hosts     = { for name, host in local.inventory.hosts : name => host if host.shard == var.shard }

  # One host of each other shard, which is only read: a burn that fails there stops the burns here (HO051).
  shards = { for name, host in local.inventory.hosts : host.shard => name... if host.shard != var.shard }
  others = { for shard, names in local.shards : names[0] => local.inventory.hosts[names[0]] }
}

provider "infiniband" {
  backup_dir  = var.backup_dir
  unreachable = "keep" # among hundreds one is always down
  reboot      = { allowed = var.reboot }

  ssh = { private_key_file = var.private_key_file, known_hosts_files = var.known_hosts_files }
  hosts = { for name, host in merge(local.others, local.hosts) : name => {
    address = host.address
    port    = try(host.port, null)
    user    = try(host.user, null)
    mode    = host.shard == var.shard ? null : "observe"
  } }
}

# One module a host: -target='module.host["r1n01"]' is this host and no other.
module "host" {
  source   = "../../modules/lab" # elsewhere: "github.com/ibfabric/terraform-provider-infiniband//examples/modules/lab?ref=v0.1.0"
  for_each = local.hosts

  cards = { (each.key) = {
    pci_address   = each.value.pci_address
    serial_number = try(each.value.serial_number, null)
    base_mac      = try(each.value.base_mac, null)
    address       = try(each.value.ipoib, null)
  } }
  image           = try(local.inventory.image, null)
  allow           = try(local.inventory.allow, {})
  link_types      = try(local.inventory.link_types, null)
  subnet_managers = try({ (each.key) = { "1" = each.value.subnet_manager } }, {})
}
