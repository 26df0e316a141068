data "infiniband_cards" "all" {
  allow_unreachable = true
}

# Ethernet-only cards end in 23.
output "cards" {
  value = { for id, card in data.infiniband_cards.all.cards : id => "${coalesce(card.chip, "unknown")} ${coalesce(card.flash_psid, "unreadable")}" }
}
