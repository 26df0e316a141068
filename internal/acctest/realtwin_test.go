package acctest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// What real programs say of a card is in its twin: the plans on both are the same, text for text. Hosts are those of
// the testbed, with the real tools, or machines with kernels of their own; in the simulated lab both sides are.
func TestRealTwin(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	hosts := labs.TwoHosts()[:1]
	if OnKernels() { // which have no Ubuntu
		hosts[0].OS = labsim.Debian12
	}
	w := Start(t, Options{Hosts: hosts})
	cfg := w.CrossFlash(host)[:5] // up to the link types: what is in a card
	ws := w.Workspace()
	mustApply(t, ws, w.backupOnly(host))
	said := func(lab *Lab) string {
		var out strings.Builder
		at := lab.Workspace()
		value, diags, err := at.Data(t.Context(), "infiniband_cards", map[string]any{})
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(Lines("cards", value) + fmt.Sprint(diags) + "\n")
		plan := mustPlan(t, at, cfg)
		for _, c := range plan.Changes {
			out.WriteString(string(c.Action) + " " + c.Resource.Address() + "\n" + Lines("  ", Decode(c.Planned)))
		}
		for _, d := range plan.Diags {
			fmt.Fprintf(&out, "%t %s %s\n%s\n", d.Error, d.Address, d.Summary, d.Detail)
		}
		return foldersOf.ReplaceAllString(out.String(), "FOLDER/")
	}
	want := said(w)
	twin, made := StartTwin(t, w.Record(t, "-backup-dir", w.Backups), false)
	t.Log(strings.Join(made.Missing, "\n"))
	got := said(twin)
	if OnTestbed() && !OnKernels() { // where a card makes no interface, which somebody could bring up
		want, got = ofInterfaces.ReplaceAllString(want, ""), ofInterfaces.ReplaceAllString(got, "")
	}
	if got != want {
		t.Error(Difference(want, got))
	}
	if !strings.Contains(want, "create infiniband_firmware."+host) {
		t.Errorf("no burn is planned:\n%s", want)
	}
}

var ofInterfaces = regexp.MustCompile(`(?m)^\S+\.(?:netdev|physical_state) = .*\n`)

// foldersOf are those of one operator, which another one does not have.
var foldersOf = regexp.MustCompile(`/\S*/Test\w+/\d+/`)
