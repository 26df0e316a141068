data "infiniband_cards" "all" {
  allow_unreachable = true
}

# Chip, PSID and base MAC of each card.
output "cards" {
  value = { for id, card in data.infiniband_cards.all.cards : id => "${coalesce(card.chip, "unknown")} ${coalesce(card.flash_psid, "unreadable")} ${lookup(card.flash_macs, "1", "no MAC")}" }
}
