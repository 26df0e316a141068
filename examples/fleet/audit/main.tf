# What no shard can see, because it has only its own hosts: two cards with one GUID, two hosts with one address, and
# which subnet manager of a fabric is the master. It reads all hosts, changes none, and keeps no state.
locals {
  hosts = jsondecode(file(var.inventory)).hosts

  # By what must be unique, the hosts that have it.
  addresses = { for name, host in local.hosts : "${host.address}:${try(host.port, 22)}" => name... }
  ipoib     = { for name, host in local.hosts : split("/", host.ipoib)[0] => name... if can(host.ipoib) }
  orders    = { for name, host in local.hosts : "${host.fabric}, priority ${host.subnet_manager}" => name... if can(host.subnet_manager) }

  managers = { for name, host in local.hosts : host.fabric => merge(host, { name = name })... if can(host.subnet_manager) }
  # Who the master has to be, by fabric.
  masters = { for fabric, hosts in local.managers : fabric => [
    for host in hosts : host.name if host.subnet_manager == max(hosts[*].subnet_manager...)
  ] }

  cards = data.infiniband_cards.all.cards
  guids = merge([for place, card in local.cards : { for guid in distinct(compact(concat(
    [card.node_guid, card.flash_node_guid], values(card.flash_port_guids), values(card.ports)[*].port_guid
  ))) : "${guid} ${place}" => { guid = guid, place = place } }]...)
  macs = merge([for place, card in local.cards : {
    for mac in distinct(values(card.flash_macs)) : "${mac} ${place}" => { guid = mac, place = place }
  }]...)
  # All ones are the GUIDs of a card that never got any.
  identities = { for entry in merge(local.guids, local.macs) : entry.guid => entry.place... if entry.guid != "0xffffffffffffffff" }

  twice = [for what, who in merge(local.addresses, local.ipoib, local.orders, local.identities) :
    "${what}: ${join(", ", who)}" if length(who) > 1
  ]
  master = { for fabric, seen in data.infiniband_fabric.fabric : fabric =>
    try(split("/", local.identities[seen.sms[0].port_guid][0])[0], seen.sms[0].port_guid, "none")
  }
  others = [for fabric, who in local.master : "${fabric}: ${who}, and not ${join(", ", local.masters[fabric])}"
    if !contains(local.masters[fabric], who) && data.infiniband_fabric.fabric[fabric].nodes != null
  ]
}

provider "infiniband" {
  mode        = "observe"
  unreachable = "keep"

  ssh   = { private_key_file = var.private_key_file, known_hosts_files = var.known_hosts_files }
  hosts = { for name, host in local.hosts : name => { address = host.address, port = try(host.port, null), user = try(host.user, null) } }
}

data "infiniband_cards" "all" {
  allow_unreachable = true
}

# One host of each fabric looks at it.
data "infiniband_fabric" "fabric" {
  for_each = local.masters

  host       = each.value[0]
  detail     = false
  pcie_hosts = []
}

output "cards" {
  description = "How many cards were compared."
  value       = length(local.cards)

  precondition {
    condition     = length(local.twice) == 0
    error_message = "These must be unique, and are there twice:\n${join("\n", local.twice)}"
  }
}

output "masters" {
  description = "Who is the master of each fabric."
  value       = local.master

  precondition {
    condition     = length(local.others) == 0
    error_message = "The master of a fabric is another subnet manager than the inventory says:\n${join("\n", local.others)}"
  }
}

output "not_seen" {
  description = "Hosts that did not answer. Their cards were not compared."
  value       = data.infiniband_cards.all.unreachable
}
