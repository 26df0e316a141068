package hca

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// TestConclude_burn_by_hand_in_between has a tool that said done and a card that holds
// a whole image of somebody else: nothing is said against a restart then.
func TestConclude_burn_by_hand_in_between(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	o, c := b.ops("alice"), b.card(ctx)
	f := crossFlash(c, b.image(card.VPI()))
	f.Request.Activation = safety.ActivationNone
	state, err := o.ApplyFirmware(ctx, f)
	if err != nil {
		t.Fatal(explain(err))
	}
	b.machine.FS.Drop(jobDir(state.JobID) + "/settled")
	other := safety.Flash{PSID: card.PSIDOther, FW: vpiVersion}
	out := outcome{id: state.JobID, ended: true, states: []inventory.JobState{{Name: "burning"}, {Name: "burned"}}}
	_, err = o.conclude(ctx, c, out, expectation{
		kind: KindBurn, flash: other, before: safety.Flash{PSID: card.PSIDEN, FW: vpiVersion}, guids: state.GUIDs,
	})
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("no error of ours: %v", err)
	}
	text := e.Explain()
	for _, want := range []string{"The tool said", "holds one whole image, " + card.PSIDVPI, "neither the old one nor the new one", "Somebody else writes this card"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "Do not restart") {
		t.Errorf("contradicts FW045:\n%s", text)
	}
	if !b.machine.FS.Exists(jobDir(state.JobID) + "/settled") {
		t.Error("the job is not settled")
	}
	b.clean()
}

// TestEnding_full_disk holds that a full disk is named where it can be seen, and is
// among the causes where it cannot.
func TestEnding_full_disk(t *testing.T) {
	t.Parallel()
	const full, head = "free 0 /var\n", "unit inactive\nlock free\nfree Available Mounted on\n"
	for _, x := range []struct {
		name, look string
		says       []string
		not        string
	}{
		{"full", head + full + "state 4 burning T\n", []string{"interrupted while it wrote", "is full: /var (0 KiB free)", "Make room"}, "power cut"},
		{"full behind the end", head + "cut\n" + full + "state 4 burning T\nstate 5 burned T\n", []string{"had ended", "is full: /var (0 KiB free)"}, "interrupted"},
		{"room", head + "free 90000 /var\nstate 4 burning T\n", []string{"interrupted while it wrote", "a power cut", "a full disk"}, "is full"},
	} {
		out, err := parseLook("j1", x.look)
		if err != nil {
			t.Fatal(err)
		}
		text := ending(out)
		for _, want := range x.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: lacks %q: %s", x.name, want, text)
			}
		}
		if strings.Contains(text, x.not) {
			t.Errorf("%s: holds %q: %s", x.name, x.not, text)
		}
	}
}

// TestJobReport_full_disk holds the same of a plan.
func TestJobReport_full_disk(t *testing.T) {
	t.Parallel()
	j := JobReport{ID: "j1", Kind: KindBurn, PCI: ib.MustParsePCIAddress("0000:01:00.0"), Last: "settled", Interrupted: true}
	if text := j.String(); strings.Contains(text, "interrupted in state settled") || !strings.Contains(text, "a full disk") {
		t.Error(text)
	}
	j.Full, j.Last = StateDir+" on intel9 (0 KiB free)", "burning"
	if text := j.String(); !strings.Contains(text, "is full: "+j.Full) || strings.Contains(text, "power cut") {
		t.Error(text)
	}
}

// TestWithBackup_names_the_file holds that the command of the runbook has no placeholder.
func TestWithBackup_names_the_file(t *testing.T) {
	t.Parallel()
	c := namedCard()
	text := explain(withBackup((&Ops{}).failed(c, outcome{id: "j1"}, "It failed."), "/backups/7"))
	if !strings.Contains(text, "-i /backups/7/firmware.bin b") || strings.Contains(text, "<") {
		t.Error(text)
	}
}
