package hca

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
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
	b.machine.FS.Drop(journal.Dir(state.JobID) + "/settled")
	other := ib.Firmware{PSID: card.PSIDOther, FW: vpiVersion}
	out := journal.Outcome{ID: state.JobID, Ended: true, States: []inventory.JobState{{Name: "burning"}, {Name: "burned"}}}
	_, err = o.conclude(ctx, c, out, expectation{
		kind: journal.Burn, flash: other, before: ib.Firmware{PSID: card.PSIDEN, FW: vpiVersion}, guids: state.GUIDs,
	})
	var e *cards.Error
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
	if !b.machine.FS.Exists(journal.Dir(state.JobID) + "/settled") {
		t.Error("the job is not settled")
	}
	b.clean()
}

// TestWithBackup_names_the_file holds that the command of the runbook has no placeholder.
func TestWithBackup_names_the_file(t *testing.T) {
	t.Parallel()
	c := namedCard()
	text := explain(withBackup(New(cards.Config{}).failed(c, journal.Outcome{ID: "j1"}, "It failed."), "/backups/7"))
	if !strings.Contains(text, "-i /backups/7/firmware.bin b") || strings.Contains(text, "<") {
		t.Error(text)
	}
}

// TestRefusedByJob_names_its_rule holds that what a job refuses on the host is a finding
// of the catalogue, with the reason that the job left.
func TestRefusedByJob_names_its_rule(t *testing.T) {
	t.Parallel()
	held := map[string]string{"job": "j7", "pci": "0000:02:00.0", "operator": "bob", "since": "2026-01-02T03:04:05Z"}
	for name, tt := range map[string]struct {
		out  journal.Outcome
		rule *finding.Rule
		says string
	}{
		"another card":    {journal.Outcome{Exit: exitOther, Reason: "serial number MT2"}, finding.CardExchanged, "than the one it was for: serial number MT2."},
		"another program": {journal.Outcome{Exit: exitInUse}, finding.CardInUse, "it left no reason"},
		"another job":     {journal.Outcome{Exit: exitLocked, Held: held}, finding.FlashJobRunning, "j7 of card 0000:02:00.0, started by bob, since 2026-01-02T03:04:05Z"},
		"no name":         {journal.Outcome{Exit: exitLocked}, nil, ""},
		"the second gate": {journal.Outcome{Exit: exitGate, Reason: "another PSID"}, nil, ""},
	} {
		tt.out.ID, tt.out.Ended = "j9", true
		err := refusedByJob(namedCard(), tt.out)
		var refused *safety.RefusedError
		switch {
		case tt.rule == nil:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.As(err, &refused) || refused.What != "write the flash of card "+namedCard().ID() || refused.Findings[0].Rule != tt.rule ||
			!strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), journal.Dir("j9")):
			t.Errorf("%s: %v", name, err)
		}
	}
}
