package acctest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// With the real engine a consent is in force in plan and apply, in no plan and no
// state, and no difference when it comes or goes. What a destroy may need is stored.
func TestBinary_consents_are_write_only(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	o := newOperator(t, w, nil, buildProvider(t))
	use := func(extra map[string]any) {
		o.write("main.tf", Required+HCL(w.Provider(), w.burn(host, w.Image(ImageVPI), extra)))
	}
	without := Allow("psid_change", nil)

	use(without)
	if text := o.says(1, "plan"); !strings.Contains(text, "FW023") {
		t.Errorf("no consent is asked for:\n%s", text)
	}
	use(nil)
	o.says(0, "plan", "-out=saved")
	cmd, out := o.command("show", "-json", "saved")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	var plan struct {
		ResourceChanges []struct {
			Change struct{ After map[string]any }
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(out.Bytes(), &plan); err != nil || len(plan.ResourceChanges) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range plan.ResourceChanges {
		if got := c.Change.After["allow"]; got != nil {
			t.Errorf("the plan holds a consent: %v", got)
		}
	}
	o.says(0, "apply", "saved")
	if flash := w.Flash(host); flash.PSID != card.PSIDVPI {
		t.Fatalf("flash holds %s", flash.PSID)
	}
	o.says(0, "plan", "-detailed-exitcode")
	state, err := os.ReadFile(filepath.Join(o.dir, "terraform.tfstate"))
	if err != nil || !strings.Contains(string(state), `"allow": null`) {
		t.Errorf("the state holds a consent, or none of the resource: %v\n%s", err, state)
	}

	for _, extra := range []map[string]any{
		without, {"allow": map[string]any{"downgrade": map[string]any{"from": "2.42.5000", "to": "2.36.5000"}}},
		{"allow": map[string]any{"reinstall": "2.42.5000"}}, {"allow": map[string]any{"unproven_flash": "2.42.5000"}},
	} {
		use(extra)
		o.says(0, "plan", "-detailed-exitcode")
	}
	use(map[string]any{"allow": map[string]any{"psid_change": nil, "management_path": []any{"eno1"}}})
	o.says(2, "plan", "-detailed-exitcode")
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")

	use(without)
	o.says(0, "state", "rm", "infiniband_firmware.it")
	o.says(0, "import", "infiniband_firmware.it", host+"/"+w.PCI(host))
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
	use(nil)
	o.says(0, "plan", "-detailed-exitcode")
	o.says(0, "destroy", "-auto-approve")
}
