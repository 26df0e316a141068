package hca

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
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
	_, err = job.New(o.Session, c, journal.Entry{
		ID: state.JobID, Kind: journal.Burn, After: other, Before: ib.Firmware{PSID: card.PSIDEN,
			FW: vpiVersion}, GUIDsAfter: state.GUIDs,
	}).Finish(ctx)
	var e *cards.Error
	if !errors.As(err, &e) {
		t.Fatalf("no error of ours: %v", err)
	}
	text := e.Explain()
	for _, want := range []string{"The tool said", "holds one whole image, " + card.PSIDVPI,
		"neither the old one nor the new one", "Somebody else writes this card"} {
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
