package acctest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const psidDell = "DEL9180110032" // the same board, with the firmware of another vendor

// threeBought are the servers of the lab of GPUs on the evening when their cards came: two with older
// firmware, and one that was Dell's. Each writes its own flash.
func threeBought() []labs.Host {
	hosts := labs.GPU()
	for i, has := range []struct {
		psid    string
		version [3]uint16
	}{{card.PSIDCX4, [3]uint16{12, 18, 1000}}, {card.PSIDCX4, [3]uint16{12, 28, 2006}}, {psidDell, [3]uint16{12, 20, 1030}}} {
		s := card.CX4Spec(has.psid, has.version)
		s.Signed, s.Flags = true, card.FlagControlled
		hosts[i].Cards[0].Image = card.BuildTOC(s)
	}
	hosts[2].Cards[0].PartNumber = "0NV4T9"
	return hosts
}

// threeBoughtConfig wants in each card what the catalogue says, and a fabric of all.
const threeBoughtConfig = `
provider "infiniband" {
  backup_dir = %q
  ssh        = { private_key_file = var.private_key_file, known_hosts_files = var.known_hosts_files }
  hosts      = { for name, host in var.hosts : name => merge(host, { reboot = { allowed = true } }) }
}

variable "hosts" { type = any }
variable "private_key_file" {}
variable "known_hosts_files" {}
variable "consent" {
  type    = object({ from = string, to = string })
  default = null
}

data "infiniband_cards" "all" {}

data "infiniband_firmware_catalog" "lab" {
  file = "${path.root}/firmware.json"
  cards = { for id, card in data.infiniband_cards.all.cards : id => {
    psid = card.flash_psid, version = card.flash_version, part_number = card.part_number
  } }
}

output "behind" {
  value = { for id, u in data.infiniband_firmware_catalog.lab.updates : id =>
    "${u.from_psid} ${u.from_version} -> ${u.psid} ${u.version}"
  }
}

module "lab" {
  source = "./modules/lab"

  cards = { for name, i in { r720 = 1, r730a = 2, r730b = 3 } : name => {
    pci_address = "0000:81:00.0"
    address     = "10.20.0.1${i}/24"
    image       = data.infiniband_firmware_catalog.lab.targets["${name}/0000:81:00.0"]
    allow       = { psid_change = name == "r730b" ? var.consent : null }
  } }
  on_destroy      = "restore"
  subnet_managers = { r730a = { "1" = 14 } }
}
`

// Three ConnectX-4 came: two are behind, one is Dell's. One file of the repository says what they are to
// have. One plan names the consent, one apply brings all there with one restart a host, and a destroy
// brings back what each had.
func TestEvening_three_cards_by_catalogue(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: threeBought()})
	before := map[string]card.Firmware{}
	for _, host := range w.Names() {
		before[host] = w.Flash(host)
	}
	o := newFolder(t, buildProvider(t))
	o.mirror()
	newest := controlledCX4(card.PSIDCX4, [3]uint16{12, 28, 4706})
	sum := sha256.Sum256(newest)
	list, err := json.Marshal(map[string]any{"images": []any{map[string]any{"psid": card.PSIDCX4, "version": "12.28.4706",
		"sha256": hex.EncodeToString(sum[:]), "source": w.file("fw.bin", newest), "boards": []string{"MCX455A-ECAT", "0NV4T9"}}}})
	if err != nil {
		t.Fatal(err)
	}
	o.example("gpu", w)
	for _, name := range []string{"outputs.tf", "variables.tf", "terraform.tfvars"} {
		o.write(name, "")
	}
	o.write("firmware.json", string(list))
	o.write("main.tf", fmt.Sprintf(threeBoughtConfig, w.Backups))
	o.says(0, "init")
	said := o.says(1, "plan")
	for _, want := range []string{"FW023", `psid_change = { from = "` + psidDell + `", to = "` + card.PSIDCX4 + `" }`} {
		if !strings.Contains(said, want) {
			t.Errorf("without a consent, %q is not said:\n%s", want, said)
		}
	}
	consent := fmt.Sprintf(`-var=consent={from=%q,to=%q}`, psidDell, card.PSIDCX4)
	said = o.says(0, "apply", "-auto-approve", consent)
	for _, want := range []string{`"r720/0000:81:00.0" = "` + card.PSIDCX4 + ` 12.18.1000 -> ` + card.PSIDCX4 + ` 12.28.4706"`,
		psidDell + " 12.20.1030 -> " + card.PSIDCX4 + " 12.28.4706"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said:\n%s", want, said)
		}
	}
	for _, host := range w.Names() {
		flash, running := w.Flash(host), w.Card(host).Running()
		if flash.PSID != card.PSIDCX4 || running.Version != [3]uint16{12, 28, 4706} || flash.GUIDs != before[host].GUIDs ||
			w.Boots(host) != 2 {
			t.Errorf("%s: in flash %+v, running %+v, %d boots", host, flash, running, w.Boots(host))
		}
	}
	o.says(0, "apply", "-auto-approve", "-refresh-only")
	if said = o.says(0, "plan", "-detailed-exitcode"); !strings.Contains(said, "No changes") ||
		strings.Contains(said, "Warning") {
		t.Errorf("the second plan:\n%s", said)
	}
	if said = o.says(0, "output"); !strings.Contains(said, "behind = {}") {
		t.Errorf("still behind:\n%s", said)
	}
	o.says(0, "destroy", "-auto-approve", consent)
	for _, host := range w.Names() {
		if flash, running := w.Flash(host), w.Card(host).Running(); flash != before[host] || running.PSID != flash.PSID ||
			running.Version != flash.Version {
			t.Errorf("%s: before %+v\nin flash %+v\nrunning %+v", host, before[host], flash, running)
		}
	}
}
