package acctest

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/realflint"
)

// keepRecording is how the recording of a machine with a stock kernel was made that is among those of
// twintest.TestRecordings.
var keepRecording = flag.String("recordings.keep", "", "the file in which TestRealTwin keeps what it records of real programs")

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
	if *keepRecording != "" {
		data, err := os.ReadFile(w.Record(t))
		if err == nil {
			err = os.WriteFile(*keepRecording, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
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

// The real program burns the flash of a backup on the twin, the power fails in the middle, and the next apply mends it.
func TestRealTwin_rehearses(t *testing.T) {
	t.Parallel()
	if !OnTestbed() || OnKernels() {
		t.Skip("only the testbed has images that the real mstflint reads in seconds")
	}
	host := labs.Intel9
	w := Start(t, Options{Hosts: labs.TwoHosts()[:1]})
	mustApply(t, w.Workspace(), w.backupOnly(host))
	tool, err := realflint.Find(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	options := labsim.Options{Speed: 1, Setup: []func(*labsim.Machine){tool.SetUp}}
	twin, _ := startTwin(t, w.Record(t, "-backup-dir", w.Backups), false, options)
	m, cfg, ws := twin.Machine(host), twin.CrossFlash(host)[:4], twin.Workspace()
	before := twin.Card(host).Flash.Dump()
	m.Faults.Update(func(s *labsim.FaultSpec) { s.PowerCutAtFlash = 20 })
	said, err := ws.Apply(t.Context(), cleanPlan(t, ws, cfg))
	if err != nil || !said.HasError() || m.Boots() < 2 {
		t.Fatalf("the power was cut, and the apply says: %v %s", err, said)
	}
	m.Faults.Clear()
	if err = m.AwaitBoot(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(before, twin.Card(host).Flash.Dump()) {
		t.Error("nothing was burned before the cut")
	}
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	if flash := twin.Flash(host); flash.PSID != card.PSIDVPI || flash.GUIDs[0] != NodeGUID(host) {
		t.Errorf("in flash: %+v", flash)
	}
}

var ofInterfaces = regexp.MustCompile(`(?m)^\S+\.(?:netdev|physical_state) = .*\n`)

// foldersOf are those of one operator, which another one does not have.
var foldersOf = regexp.MustCompile(`/\S*/Test\w+/\d+/`)
