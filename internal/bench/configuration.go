package main

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// resourcesPerHost are the kinds of resources; each host has one of each.
const resourcesPerHost = 7

// floorConfiguration has the shape of fleetConfiguration: as many blocks, with
// for_each, each referring to the one before. The references matter: for each
// of them the engine builds the value of all instances of the other block.
func floorConfiguration(hosts, perHost int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `terraform {
  required_providers {
    floor = { source = "ibfabric/floor" }
  }
}
locals {
  hosts = toset([for i in range(%d) : "host${i}"])
}
`, hosts)
	for i := range resourcesPerHost {
		host := "each.key"
		if i > 0 {
			host = fmt.Sprintf("floor_thing.r%d[each.key].host", i-1)
		}
		fmt.Fprintf(&b, "resource \"floor_thing\" \"r%d\" {\n  for_each = local.hosts\n  host     = %s\n}\n", i, host)
	}
	fmt.Fprintf(&b, "locals {\n  again = toset(flatten([for h in local.hosts : [for i in range(%d) : "+
		"\"${h}:${i}\"]]))\n}\n", perHost-resourcesPerHost)
	b.WriteString("resource \"floor_thing\" \"again\" {\n  for_each = local.again\n  host     = split(\":\", " +
		"each.key)[0]\n}\n")
	return b.String()
}

// fleetConfiguration gives every host the seven kinds of resources, and adopts
// its card again until it has perHost resources.
func fleetConfiguration(lab *labs.Lab, perHost int) string {
	var hosts, cards strings.Builder
	for i, m := range lab.Machines() {
		s := lab.Servers[m.Name]
		fmt.Fprintf(&hosts, "    %q = { address = %q, port = %d, user = %q }\n", m.Name, s.Addr.IP, s.Addr.Port,
			lab.User(m.Name))
		mac := labs.MAC(i)
		fmt.Fprintf(&cards, "    %q = { pci = %q, mac = %q, address = \"172.16.%d.%d/24\" }\n", m.Name, m.Config.Cards[0].BDF,
			mac, i/250, i%250+1)
	}
	image := lab.Images["fw-ConnectX3Pro-vpi.bin"]
	return fmt.Sprintf(fleetTemplate, lab.KeyFile(), lab.KnownHostsFile(), hosts.String(), cards.String(),
		perHost-resourcesPerHost, image.Path, image.SHA256)
}

const fleetTemplate = `terraform {
  required_providers {
    infiniband = { source = "ibfabric/infiniband" }
  }
}
provider "infiniband" {
  backup_dir  = "${path.root}/backups"
  unreachable = "keep"
  ssh = {
    private_key_file  = %q
    known_hosts_files = [%q]
    config_file       = "none"
    use_agent         = false
  }
  hosts = {
%s  }
}
locals {
  cards = {
%s  }
  again = toset(flatten([for h in keys(local.cards) : [for i in range(%d) : "${h}:${i}"]]))
}
resource "infiniband_card" "again" {
  for_each    = local.again
  host        = split(":", each.key)[0]
  pci_address = local.cards[split(":", each.key)[0]].pci
}
resource "infiniband_card" "card" {
  for_each    = local.cards
  host        = each.key
  pci_address = each.value.pci
}
resource "infiniband_firmware_image" "vpi" {
  for_each = local.cards
  host     = each.key
  source   = %q
  sha256   = %q
}
resource "infiniband_firmware" "card" {
  for_each = local.cards
  card_id  = infiniband_card.card[each.key].id
  image_id = infiniband_firmware_image.vpi[each.key].id
}
resource "infiniband_guids" "card" {
  for_each   = local.cards
  card_id    = infiniband_card.card[each.key].id
  base_mac   = each.value.mac
  depends_on = [infiniband_firmware.card]
}
resource "infiniband_link_type" "card" {
  for_each   = local.cards
  card_id    = infiniband_card.card[each.key].id
  ports      = { "1" = "ib", "2" = "ib" }
  depends_on = [infiniband_guids.card]
}
resource "infiniband_opensm" "sm" {
  for_each   = local.cards
  host       = each.key
  port_guid  = infiniband_guids.card[each.key].port_guids["1"]
  priority   = 1
  depends_on = [infiniband_link_type.card]
}
resource "infiniband_ipoib_interface" "ib" {
  for_each   = local.cards
  host       = each.key
  port_guid  = infiniband_guids.card[each.key].port_guids["1"]
  mode       = "connected"
  mtu        = 9000
  addresses  = [each.value.address]
  depends_on = [infiniband_opensm.sm]
}
`
