provider "infiniband" {
  backup_dir = "${path.root}/firmware-backups"

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
      reboot            = { allowed = true }
    }
  }
}

resource "infiniband_card" "card" {
  for_each = var.cards

  host        = each.key
  pci_address = each.value.pci_address
}

# The image is verified here, copied to each host under its hash, and verified there.
resource "infiniband_firmware_image" "vpi" {
  for_each = var.cards

  host   = each.key
  source = var.image
  sha256 = var.image_sha256
}

# Ethernet-only cards become VPI cards. The old firmware is in backup_dir first.
resource "infiniband_firmware" "card" {
  for_each = var.cards

  card_id    = infiniband_card.card[each.key].id
  image_id   = infiniband_firmware_image.vpi[each.key].id
  allow      = { psid_change = each.value.allow.psid_change != null ? each.value.allow.psid_change : var.allow.psid_change }
  activation = "reboot"
}

# Ethernet-only firmware has no GUIDs, and the cross-flash cannot invent them.
resource "infiniband_guids" "card" {
  for_each = var.cards

  card_id    = infiniband_card.card[each.key].id
  base_mac   = each.value.base_mac
  allow      = { guid_change = each.value.allow.guid_change }
  activation = "reboot"

  depends_on = [infiniband_firmware.card]
}

resource "infiniband_link_type" "card" {
  for_each = var.cards

  card_id = infiniband_card.card[each.key].id
  ports   = { "1" = "ib", "2" = "ib" }

  depends_on = [infiniband_guids.card]
}

# An unmanaged switch has no subnet manager: one host runs it.
resource "infiniband_opensm" "fabric" {
  host      = var.subnet_manager
  port_guid = infiniband_guids.card[var.subnet_manager].port_guids[var.cards[var.subnet_manager].port]
  priority  = 14

  depends_on = [infiniband_link_type.card]
}

resource "infiniband_ipoib_interface" "fabric" {
  for_each = var.cards

  host      = each.key
  port_guid = infiniband_guids.card[each.key].port_guids[each.value.port]
  mode      = var.ipoib_mode
  mtu       = var.ipoib_mtu
  addresses = [each.value.address]
  allow     = { keep_interface = each.value.allow.keep_interface }

  depends_on = [infiniband_opensm.fabric]
}

# What the hosts themselves say once everything is done. Each kind of resource that
# changes it is named: Terraform waits for those only that stand here.
data "infiniband_cards" "fabric" {
  depends_on = [infiniband_link_type.card, infiniband_opensm.fabric, infiniband_ipoib_interface.fabric]
}

# The fabric as the host with the subnet manager sees it.
data "infiniband_fabric" "lab" {
  host = var.subnet_manager

  depends_on = [infiniband_link_type.card, infiniband_opensm.fabric, infiniband_ipoib_interface.fabric]
}

# Its picture, in a file of the repository that is written again when it changes.
resource "infiniband_fabric_file" "picture" {
  file_path = "${path.root}/fabric.svg"
  content   = data.infiniband_fabric.lab.svg
}
