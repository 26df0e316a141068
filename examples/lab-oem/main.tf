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

# Before anything is changed: which chip, whose firmware, which PSID. `expect` fails the
# plan if a seller sent another card.
resource "infiniband_card" "card" {
  for_each = var.cards

  host        = each.key
  pci_address = each.value.pci_address

  expect = {
    chip        = "ConnectX-3 Pro"
    part_number = each.value.part_number
  }
}

# HP's firmware is VPI: it speaks InfiniBand as it is, and nothing is burned. Its ports
# begin as Ethernet.
resource "infiniband_link_type" "card" {
  for_each = var.cards

  card_id = infiniband_card.card[each.key].id
  ports   = { "1" = "ib", "2" = "ib" }
}

# Two cards and two cables are two fabrics without a subnet manager. One host runs one for
# each of its ports.
resource "infiniband_opensm" "first" {
  host      = var.subnet_manager
  port_guid = infiniband_card.card[var.subnet_manager].port_guids["1"]
  priority  = 14

  depends_on = [infiniband_link_type.card]
}

resource "infiniband_opensm" "second" {
  host      = var.subnet_manager
  port_guid = infiniband_card.card[var.subnet_manager].port_guids["2"]
  # Not that of the first: a plan cannot know that each has a fabric of its own (SM005).
  priority = 13

  depends_on = [infiniband_link_type.card]
}

resource "infiniband_ipoib_interface" "fabric" {
  for_each = var.cards

  host      = each.key
  port_guid = infiniband_card.card[each.key].port_guids["1"]
  mode      = "connected"
  mtu       = 65520
  addresses = [each.value.address]

  depends_on = [infiniband_opensm.first]
}
