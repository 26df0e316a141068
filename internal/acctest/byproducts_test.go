package acctest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// announcedLab is a card that was cross-flashed by a resource whose destroy
// restores it, with the engine and the program that users have.
type announcedLab struct {
	*Lab
	*operator
	t    *testing.T
	host string
	hcl  string // of the resource named it
}

func restorable(t *testing.T) *announcedLab {
	t.Helper()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	cfg := w.burn(host, w.Image(ImageVPI), map[string]any{"on_destroy": "restore"})
	o := newOperator(t, w, cfg, buildProvider(t))
	a := &announcedLab{Lab: w, operator: o, t: t, host: host, hcl: Required + HCL(w.Provider(), cfg)}
	o.says(0, "apply", "-auto-approve")
	return a
}

// use writes the configuration with other words in it, in pairs.
func (a *announcedLab) use(oldnew ...string) {
	a.operator.write("main.tf", strings.NewReplacer(oldnew...).Replace(a.hcl))
}

// keeps fails if something within do writes the flash or restarts the host.
func (a *announcedLab) keeps(what string, do func()) {
	a.t.Helper()
	operations, boots := a.Card(a.host).Flash.Operations(), a.Boots(a.host)
	do()
	if n, b := a.Card(a.host).Flash.Operations()-operations, a.Boots(a.host)-boots; n != 0 || b != 0 {
		a.t.Errorf("%s: %d operations on the flash, %d restarts", what, n, b)
	}
	if psid := a.Flash(a.host).PSID; psid != card.PSIDVPI {
		a.t.Errorf("%s: flash holds %s", what, psid)
	}
}

// checkRestored fails unless the card has the firmware that it was bought with; the
// resource is made again afterwards.
func (a *announcedLab) checkRestored(what string) {
	a.t.Helper()
	if flash, running := a.Flash(a.host), a.Card(a.host).Running(); flash.PSID != card.PSIDEN ||
		running.PSID != card.PSIDEN {
		a.t.Errorf("%s: in flash %s, running %s", what, flash.PSID, running.PSID)
	}
	a.use()
	a.says(0, "apply", "-auto-approve")
}

func (a *announcedLab) tells(text string, parts ...string) {
	a.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			a.t.Errorf("nothing says %q:\n%s", part, text)
		}
	}
}

const theFirmware = "infiniband_firmware.it"

// What replaces the resource restores nothing: a taint, -replace, a block that is
// made before the old one goes.
func TestByproducts_a_replace_restores_nothing(t *testing.T) {
	t.Parallel()
	a := restorable(t)
	unannounced := []string{"Not restored: firmware of card " + a.host, "no plan announced a restore"}
	for _, cbd := range []string{"", "  lifecycle {\n    create_before_destroy = true\n  }\n"} {
		a.use("  on_destroy", cbd+"  on_destroy")
		if cbd != "" {
			a.says(0, "apply", "-auto-approve")
		}
		a.keeps("taint"+cbd, func() {
			a.says(0, "taint", theFirmware)
			a.tells(a.says(2, "plan", "-detailed-exitcode", "-out=taint.plan"), "must be replaced",
				"Replacing firmware of card "+a.host, "nothing is restored")
			a.tells(a.says(0, "apply", "taint.plan"), unannounced...)
			a.says(0, "plan", "-detailed-exitcode")
		})
		a.keeps("-replace"+cbd, func() {
			a.tells(a.says(0, "apply", "-auto-approve", "-replace="+theFirmware), unannounced...)
			a.says(0, "plan", "-detailed-exitcode")
		})
	}
}

// A renamed block destroys the card's resource under its old name and makes it
// under the new one. The plan is refused and names moved; with it nothing is done.
func TestByproducts_a_rename_is_refused_without_moved(t *testing.T) {
	t.Parallel()
	a := restorable(t)
	head := `resource "infiniband_firmware" "it" {`
	for _, c := range []struct{ what, block, moved string }{
		{"renamed", `resource "infiniband_firmware" "new" {`, "infiniband_firmware.new"},
		{"key", `resource "infiniband_firmware" "it" {` + "\n  for_each = toset([\"a\"])", `infiniband_firmware.it["a"]`},
	} {
		a.keeps(c.what, func() {
			a.use(head, c.block)
			for _, args := range [][]string{{"plan"}, {"apply", "-auto-approve"}} {
				said := a.says(1, args...)
				a.tells(said, "Refusing to restore firmware of card "+a.host, "BK007", "moved")
				if strings.Contains(said, "The destroy restores") && strings.Contains(said, "nothing is restored") {
					t.Errorf("%s: the plan says both:\n%s", c.what, said)
				}
			}
			a.operator.write("moved.tf", "moved {\n  from = infiniband_firmware.it\n  to = "+c.moved+"\n}\n")
			a.says(0, "apply", "-auto-approve")
			a.says(0, "plan", "-detailed-exitcode")
			// Back to the name of before.
			a.use()
			a.operator.write("moved.tf", "moved {\n  from = "+c.moved+"\n  to = infiniband_firmware.it\n}\n")
			a.says(0, "apply", "-auto-approve")
			if err := os.Remove(filepath.Join(a.dir, "moved.tf")); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Each way to destroy the resource and nothing else restores, and says so before.
func TestByproducts_a_destroy_that_was_announced_restores(t *testing.T) {
	t.Parallel()
	a := restorable(t)
	head := `resource "infiniband_firmware" "it" {`
	announced := "The destroy restores firmware of card " + a.host
	a.use(head, head+"\n  count = 0")
	a.tells(a.says(2, "plan", "-detailed-exitcode", "-out=gone.plan"), announced)
	a.tells(a.says(0, "apply", "gone.plan"), "Restored: firmware of card "+a.host)
	a.checkRestored("removed from the configuration")

	a.tells(a.says(0, "destroy", "-auto-approve", "-target="+theFirmware), announced)
	a.checkRestored("destroy of one target")

	a.tells(a.says(0, "plan", "-destroy", "-out=all.plan"), announced)
	// The plan of the destroy is not the one that is applied: it has grown old.
	a.says(0, "apply", "all.plan")
	a.checkRestored("destroy of everything")
}
