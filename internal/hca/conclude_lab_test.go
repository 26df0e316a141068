package hca

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
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
	other := safety.Flash{PSID: card.PSIDOther, FW: vpiVersion}
	out := journal.Outcome{ID: state.JobID, Ended: true, States: []inventory.JobState{{Name: "burning"}, {Name: "burned"}}}
	_, err = o.conclude(ctx, c, out, expectation{
		kind: journal.Burn, flash: other, before: safety.Flash{PSID: card.PSIDEN, FW: vpiVersion}, guids: state.GUIDs,
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
