data "infiniband_cards" "all" {}

# firmware.json says for each PSID and board which firmware it is to have.
data "infiniband_firmware_catalog" "lab" {
  file = "${path.root}/firmware.json"
  cards = { for id, card in data.infiniband_cards.all.cards : id => {
    psid        = card.flash_psid
    version     = card.flash_version
    part_number = card.part_number
  } if card.flash_psid != null }
}

# Which cards are behind. Nothing is changed by this.
output "behind" {
  value = { for id, u in data.infiniband_firmware_catalog.lab.updates : id =>
    "${u.from_psid} ${u.from_version} -> ${u.psid} ${u.version}"
  }
}

# Each card is to have what the catalogue says. The plan says which consents a burn needs.
module "lab" {
  source = "github.com/ibfabric/terraform-provider-infiniband//examples/modules/lab?ref=v0.1.0"

  cards = {
    node1 = { pci_address = "0000:81:00.0", image = data.infiniband_firmware_catalog.lab.targets["node1/0000:81:00.0"] }
    node2 = { pci_address = "0000:81:00.0", image = data.infiniband_firmware_catalog.lab.targets["node2/0000:81:00.0"] }
  }
}
