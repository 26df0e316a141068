# The cards of a lab, what is in their flash, and the fabric between them. The provider
# block stands in the configuration that calls this module, with the hosts.

locals {
  hosts      = { for name, card in var.cards : name => coalesce(card.host, name) }
  identified = { for name, card in var.cards : name => card if card.base_mac != null }
  types      = { for name, card in var.cards : name => try(coalesce(card.link_types, var.link_types), null) }

  # By host for the image of all cards, by host and hash for that of a card's own.
  images  = { for name, card in var.cards : name => try(coalesce(card.image, var.image), null) }
  burned  = { for name, card in var.cards : name => card if local.images[name] != null }
  shelf   = { for name, card in local.burned : name => card.image == null ? local.hosts[name] : "${local.hosts[name]}/${substr(card.image.sha256, 0, 12)}" }
  shelved = { for name, key in local.shelf : key => merge(local.images[name], { host = local.hosts[name] })... }

  # ConnectX-4 and later store the types in the card and take them at a restart: that of the firmware and the GUIDs.
  # Firmware of another PSID has to run before it stores any. With -target=module.host["node1"] the engine works
  # these values out for all instances of the module, and the others may have no objects yet: hence try.
  later = { for name, card in var.cards : name =>
    length(regexall("^ConnectX-([4-9]|[1-9][0-9])", try(infiniband_card.card[name].chip, ""))) > 0
  }
  stored = { for name, types in local.types : name => types if
    types != null && local.later[name] && var.cards[name].allow.psid_change == null && var.allow.psid_change == null
  }
  restarted = toset([for name, card in var.cards : local.hosts[name] if
    local.images[name] != null || card.base_mac != null || contains(keys(local.stored), name)
  ])

  # By card and port, "intel9/1".
  managers = merge([for name, ports in var.subnet_managers : {
    for port, priority in ports : "${name}/${port}" => { card = name, port = port, priority = priority }
  }]...)
  interfaces = merge([for name, card in var.cards : {
    for port, addresses in merge(card.addresses, card.address == null ? {} : { (card.port) = [card.address] }) :
    "${name}/${port}" => { card = name, port = port, addresses = addresses }
  }]...)

  # Those that infiniband_guids writes are known before they are in use.
  port_guids = { for name, card in var.cards : name =>
    try(card.base_mac != null ? infiniband_guids.card[name].port_guids : infiniband_card.card[name].port_guids, null)
  }
}

resource "infiniband_card" "card" {
  for_each = var.cards

  host        = local.hosts[each.key]
  pci_address = each.value.pci_address

  # Before anything is changed: a card that a seller sent by mistake fails the plan.
  expect = try(coalesce(var.chip, each.value.serial_number, each.value.part_number), null) == null ? null : {
    chip          = var.chip
    serial_number = each.value.serial_number
    part_number   = each.value.part_number
  }
}

# The image is verified here, copied to each host under its hash, and verified there.
resource "infiniband_firmware_image" "image" {
  for_each = { for key, images in local.shelved : key => images[0] }

  host    = each.value.host
  source  = each.value.source
  sha256  = each.value.sha256
  member  = each.value.member
  psid    = each.value.psid
  version = each.value.version
}

# The old firmware is in backup_dir first.
resource "infiniband_firmware" "card" {
  # Of var.cards, so that a review of the plan finds the consents.
  for_each = { for name, card in var.cards : name => card if contains(keys(local.burned), name) }

  card_id  = infiniband_card.card[each.key].id
  image_id = infiniband_firmware_image.image[local.shelf[each.key]].id
  # The firmware of a later card takes GUIDs only when it runs.
  activation = local.later[each.key] && each.value.base_mac != null ? "reboot" : "host"
  on_destroy = var.on_destroy

  allow = { # not here: write a consent into the block that calls this module, as allow or in the card's entry
    psid_change   = try(coalesce(each.value.allow.psid_change, var.allow.psid_change), null)
    downgrade     = try(coalesce(each.value.allow.downgrade, var.allow.downgrade), null)
    branch_change = try(coalesce(each.value.allow.branch_change, var.allow.branch_change), null)
    reinstall     = try(coalesce(each.value.allow.reinstall, var.allow.reinstall), null)
    other_board   = try(coalesce(each.value.allow.other_board, var.allow.other_board), null)

    unproven_flash  = each.value.allow.unproven_flash
    management_path = each.value.allow.management_path
  }
}

# Ethernet-only firmware has no GUIDs, and the cross-flash cannot invent them.
resource "infiniband_guids" "card" {
  for_each = local.identified

  card_id    = infiniband_card.card[each.key].id
  base_mac   = each.value.base_mac
  activation = "host"

  allow = { # not here: write a consent into the card's entry in the block that calls this module
    guid_change     = each.value.allow.guid_change
    unproven_flash  = each.value.allow.unproven_flash
    management_path = each.value.allow.management_path
  }

  depends_on = [infiniband_firmware.card]
}

resource "infiniband_link_type" "stored" {
  for_each = local.stored

  card_id    = infiniband_card.card[each.key].id
  ports      = each.value
  activation = "host"

  allow = { # not here: write a consent into the card's entry in the block that calls this module
    other_cards     = var.cards[each.key].allow.other_cards
    management_path = var.cards[each.key].allow.management_path
  }

  depends_on = [infiniband_guids.card]
}

# One restart a host, for all of the above on all of its cards.
resource "infiniband_activation" "host" {
  for_each = local.restarted

  host = each.key

  allow = {
    management_path = try(coalescelist(flatten([for name, card in var.cards :
      coalesce(card.allow.management_path, []) if local.hosts[name] == each.key
    ])), null)
  }

  depends_on = [infiniband_firmware.card, infiniband_guids.card, infiniband_link_type.stored]
}

# The driver of a ConnectX-3 switches its ports as soon as the firmware runs that can do InfiniBand.
resource "infiniband_link_type" "card" {
  for_each = { for name, types in local.types : name => types if types != null && !contains(keys(local.stored), name) }

  card_id    = infiniband_card.card[each.key].id
  ports      = each.value
  activation = "reboot"

  allow = {
    other_cards     = var.cards[each.key].allow.other_cards
    management_path = var.cards[each.key].allow.management_path
  }

  depends_on = [infiniband_activation.host]
}

# With an unmanaged switch, or with none, a host runs the subnet manager.
resource "infiniband_opensm" "fabric" {
  for_each = local.managers

  host      = local.hosts[each.value.card]
  port_guid = local.port_guids[each.value.card][each.value.port]
  priority  = each.value.priority

  allow = { # not here: write a consent into the card's entry in the block that calls this module
    last_manager   = var.cards[each.value.card].allow.last_manager
    equal_priority = var.cards[each.value.card].allow.equal_priority
  }

  depends_on = [infiniband_link_type.card]
}

resource "infiniband_ipoib_interface" "fabric" {
  for_each = local.interfaces

  host      = local.hosts[each.value.card]
  port_guid = local.port_guids[each.value.card][each.value.port]
  mode      = var.ipoib_mode
  mtu       = var.ipoib_mtu
  addresses = each.value.addresses

  allow = { # not here: write a consent into the card's entry in the block that calls this module
    adopt_files     = var.cards[each.value.card].allow.adopt_files
    adopt_interface = var.cards[each.value.card].allow.adopt_interface
    adopt_without   = var.cards[each.value.card].allow.adopt_without
    keep_interface  = var.cards[each.value.card].allow.keep_interface
    private_mtu     = var.cards[each.value.card].allow.private_mtu
    management_path = var.cards[each.value.card].allow.management_path
  }

  depends_on = [infiniband_opensm.fabric]
}

# What the hosts show now, on each plan.
data "infiniband_cards" "now" {
  hosts = toset(values(local.hosts))
}

check "every_port_with_an_address_has_a_link" {
  assert {
    condition = alltrue([for i in local.interfaces :
      try(data.infiniband_cards.now.cards["${local.hosts[i.card]}/${var.cards[i.card].pci_address}"].ports[i.port].physical_state, "") != "Polling"
    ])
    error_message = "A port with an address has no link. Look at its cable: ibstat shows it as Polling."
  }
}
