package acctest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// Another card with older firmware is in the slot, which nothing else forbids to burn. A
// card that is adopted anew, because its resource is tainted, replaced, renamed or taken out
// of the state, is not taken for the recorded one by what writes to it, in whatever order the
// engine plans.
func TestIdentity_card_made_anew(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	const burned, adopted = "infiniband_firmware.it", "infiniband_card.it"
	config := func(name string, expect map[string]any) Config {
		now, _ := writers(w, host, To("infiniband_card."+name, "id"))
		now = oneByOne(now)
		first := Resource{Type: "infiniband_card", Name: name, Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}}
		if expect != nil {
			first = first.With(map[string]any{"expect": expect})
		}
		return append(Config{first}, now...)
	}
	o := newOperator(t, w, config("it", nil), buildProvider(t))
	configure := func(cfg Config) { o.write("main.tf", Required+HCL(w.Provider(), cfg)) }
	o.says(0, "apply", "-auto-approve")
	o.says(0, "apply", "-refresh-only", "-auto-approve")
	state := filepath.Join(o.dir, "terraform.tfstate")
	kept, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	bought := twin(t, w, host, func(c *labsim.CardConfig) { c.Image = card.OldVPI() })
	if _, err = w.Machine(host).Exchange(w.PCI(host), bought); err != nil {
		t.Fatal(err)
	}
	operations := w.Card(host).Flash.Operations()
	renamed := config("renamed", nil)
	for i := range renamed {
		if slices.Contains(writing, renamed[i].Address()) {
			renamed[i].Name = "renamed"
			if len(renamed[i].After) > 0 {
				renamed[i].After = []string{strings.Replace(renamed[i].After[0], ".it", ".renamed", 1)}
			}
		}
	}
	for name, c := range map[string]struct {
		before [][]string
		cfg    Config
		plan   []string
		more   string // of the configuration
	}{
		"tainted":                {before: [][]string{{"taint", adopted}}},
		"tainted, not refreshed": {before: [][]string{{"taint", adopted}}, plan: []string{"-refresh=false"}},
		"both tainted":           {before: [][]string{{"taint", adopted}, {"taint", burned}}},
		"replaced":               {plan: []string{"-replace=" + adopted}},
		"both replaced":          {plan: []string{"-replace=" + adopted, "-replace=" + burned}},
		"taken out":              {before: [][]string{{"state", "rm", adopted}}},
		"taken out, tainted":     {before: [][]string{{"state", "rm", adopted}, {"taint", burned}}},
		"imported by its place": {before: [][]string{{"state", "rm", adopted}},
			more: fmt.Sprintf("import {\n  to = %s\n  id = %q\n}\n", adopted, host+"/"+w.PCI(host))},
		"renamed":     {cfg: config("renamed", nil)},
		"all renamed": {cfg: renamed},
	} {
		configure(config("it", nil))
		if err := os.WriteFile(state, kept, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range c.before {
			o.says(0, args...)
		}
		if c.cfg != nil {
			configure(c.cfg)
		}
		o.write("more.tf", c.more)
		said := o.says(1, append([]string{"apply", "-auto-approve"}, c.plan...)...)
		if !strings.Contains(said, "FW080 Another card is in the slot") || !strings.Contains(said, twinSerial) {
			t.Errorf("%s:\n%s", name, said)
		}
		if w.Card(host).Flash.Operations() != operations {
			t.Fatalf("%s: the new card was written to", name)
		}
	}
	// The way out that the finding names leads on, also for the tainted one.
	if err := os.WriteFile(state, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	o.write("more.tf", "")
	o.says(0, "taint", adopted)
	configure(config("it", map[string]any{"serial_number": twinSerial}))
	o.says(2, "plan", "-detailed-exitcode")
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
}

// Another card is in the slot, and the configuration goes. A restore of the old firmware is refused; once the firmware has
// left the state, as the finding says, the destroy removes what the host has and leaves the new card alone.
func TestIdentity_exchanged_and_destroyed(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	w.needSimulated("cards that change slots")
	burned := "infiniband_firmware." + host
	o := newOperator(t, w, w.CrossFlash(host).With(burned, map[string]any{"on_destroy": "restore"}), buildProvider(t))
	o.says(0, "apply", "-auto-approve")
	exchange(t, w, host)
	operations := w.Card(host).Flash.Operations()
	said := o.says(1, "destroy", "-refresh=false", "-auto-approve")
	if !strings.Contains(said, "FW080") || !strings.Contains(said, "take that out first") {
		t.Errorf("the destroy says:\n%s", said)
	}
	o.says(0, "state", "rm", burned)
	o.says(0, "destroy", "-refresh=false", "-auto-approve")
	if left := o.says(0, "state", "list"); strings.Contains(left, "infiniband_") || w.Card(host).Flash.Operations() != operations {
		t.Errorf("the new card was written to, or the state has:\n%s", left)
	}
}
