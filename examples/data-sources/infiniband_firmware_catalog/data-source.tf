data "infiniband_cards" "all" {}

# Which cards are behind the catalogue. Nothing is changed by this.
data "infiniband_firmware_catalog" "lab" {
  file = "${path.root}/firmware.json"
  cards = { for id, card in data.infiniband_cards.all.cards : id => {
    psid    = card.flash_psid
    version = card.flash_version
  } if card.flash_psid != null }
}

output "behind" {
  value = { for id, u in data.infiniband_firmware_catalog.lab.updates : id => "${u.psid} ${u.from_version} -> ${u.version}" }
}
