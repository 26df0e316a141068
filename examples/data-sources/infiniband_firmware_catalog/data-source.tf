data "infiniband_cards" "all" {}

# firmware.json says for each PSID and board which firmware it is to have, and for some hosts and cards another one.
data "infiniband_firmware_catalog" "lab" {
  file = "${path.root}/firmware.json"
  cards = { for id, card in data.infiniband_cards.all.cards : id => {
    psid          = card.flash_psid
    version       = card.flash_version
    part_number   = card.part_number
    serial_number = card.serial_number
    host          = card.host
  } if card.flash_psid != null }
}

# Which cards are behind. Nothing is changed by this.
output "behind" {
  value = { for id, u in data.infiniband_firmware_catalog.lab.updates : id =>
    "${u.from_psid} ${u.from_version} -> ${u.psid} ${u.version} (${u.chosen_by})"
  }
}
