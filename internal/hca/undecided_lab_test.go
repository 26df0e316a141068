package hca

import (
	"context"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// firstSettled is how the first job of the host was settled; empty if it is open.
func (b *bench) firstSettled() string {
	return b.run("cd " + inventory.StateDir + "/jobs && cat $(ls | head -n 1)/settled 2>/dev/null || true")
}

// checkNamed fails unless the plan names the one open job, says that it is not known
// whether it was for the card in the slot, and what to do.
func (b *bench) checkNamed(a cards.Assessment) {
	b.t.Helper()
	if len(a.Jobs) != 1 {
		b.t.Fatalf("the plan has the jobs %v", a.Jobs)
	}
	text := a.Jobs[0].Title("intel9/"+b.pci.String()) + "\n" + a.Jobs[0].String()
	for _, part := range []string{"may have been for another card", "It stays open", "echo by hand >" +
		inventory.StateDir + "/jobs/" + a.Jobs[0].ID + "/settled"} {
		if !strings.Contains(text, part) {
			b.t.Errorf("the plan does not say %q:\n%s", part, text)
		}
	}
	if strings.Contains(text, "The next apply reads the card") || a.Jobs[0].Closes() {
		b.t.Errorf("the plan promises to close the job:\n%s", text)
	}
}

// The job of a card says nothing about the one in its slot if it is not proven that they are
// one. It stays open, and its card gets back what it lost when it returns.
func TestAdopt_leaves_the_job_of_a_card_that_was_exchanged(t *testing.T) {
	t.Parallel()
	withoutSerial := func(c *labsim.CardConfig) { c.PartNumber = "" }
	for name, tt := range map[string]struct{ card, other func(*labsim.CardConfig) }{
		"the other one without serial number": {nil, withoutSerial},
		"the other one without serial number, burned already": {nil, func(c *labsim.CardConfig) {
			withoutSerial(c)
			c.Image = card.VPI()
		}},
		"without serial number": {withoutSerial, func(c *labsim.CardConfig) {
			*c = labs.Twin(*c, 901)
			c.PartNumber = "MCX314A-BCCT"
		}},
		"without serial number, the other one without MACs": {withoutSerial, func(c *labsim.CardConfig) {
			c.PartNumber, c.MACs = "MCX314A-BCCT", card.PlaceholderMACs
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var changes []func(*labsim.CardConfig)
			if tt.card != nil {
				changes = append(changes, tt.card)
			}
			b, img := abandonedBench(t, changes...)
			before, kept := b.macs(), b.device().Config.MACs[1]
			b.lose([2]uint64{0x0002c9000001, kept})
			checkReturn(t, b, img, before, tt.other)
		})
	}
}

// checkReturn has another card come into the slot and be burned, and the first one return.
func checkReturn(t *testing.T, b *bench, img safety.ImageFacts, before string, other func(*labsim.CardConfig)) {
	t.Helper()
	ctx := context.Background()
	lost := b.exchange(other)
	c := b.card(ctx)
	plan, err := b.ops("bob").AssessFirmware(ctx, crossFlash(c, img))
	if err != nil {
		t.Fatal(explain(err))
	}
	b.checkNamed(plan)
	if _, err = b.ops("bob").ApplyFirmware(ctx, crossFlash(c, img)); err != nil {
		t.Fatal(explain(err))
	}
	if how := b.firstSettled(); how != "" {
		t.Errorf("the job of the card that is away is settled: %q", how)
	}
	b.putIn(lost)
	c = b.card(ctx)
	if !b.announced(ctx, c, img, before) {
		t.Fatalf("the loss is not announced; settled %q", b.settlements())
	}
	if state, err := b.ops("carol").ApplyFirmware(ctx, crossFlash(c, img)); err != nil || b.macs() != before {
		t.Errorf("the card has MACs %s instead of %s: %s, did %q", b.macs(), before, explain(err), state.Did)
	}
	if b.firstSettled() == "" {
		t.Error("the job is still open")
	}
	b.clean()
}
