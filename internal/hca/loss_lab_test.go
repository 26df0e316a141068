package hca

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// lostBench is a bench with an abandoned burn that left its card without MACs. It gives what
// they were.
func lostBench(t *testing.T) (*bench, safety.ImageFacts, string) {
	t.Helper()
	b, img := abandonedBench(t)
	before := b.macs()
	b.lose([2]uint64{0x0002c9000001, 0x0002c9000002})
	return b, img, before
}

// lose leaves a card without GUIDs and with these MACs.
func (b *bench) lose(macs [2]uint64) {
	b.t.Helper()
	ones := ^uint64(0)
	b.program([4]uint64{ones, ones, ones, ones}, macs)
}

// announced reports whether a plan says that the MACs are written back.
func (b *bench) announced(ctx context.Context, c cards.Card, img safety.ImageFacts, macs string) bool {
	b.t.Helper()
	c.Host.Invalidate()
	plan, err := b.ops("plan").AssessFirmware(ctx, crossFlash(c, img))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, j := range plan.Jobs {
		if strings.Contains(j.String(), "Planned write: MACs "+macs) {
			return true
		}
	}
	return false
}

// TestAdopt_writes_back_once_more has the write-back of a lost identity fail. The loss is
// announced again, and the next apply writes back before it restarts anything.
func TestAdopt_writes_back_once_more(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b, img, before := lostBench(t)
	c := b.card(ctx)
	b.device().Flash.SetHook(func(card.Op) error { return errors.New("the flash does not answer") })
	if _, err := b.ops("bob").ApplyFirmware(ctx, crossFlash(c, img)); err == nil {
		t.Fatal("a write-back that failed says nothing")
	}
	b.device().Flash.SetHook(nil)
	if b.macs() == before || !b.announced(ctx, c, img, before) {
		t.Fatalf("the card has MACs %s; the loss is not announced; settled %q", b.macs(), b.settlements())
	}
	if state, err := b.ops("carol").ApplyFirmware(ctx, crossFlash(c, img)); err != nil || b.macs() != before {
		t.Errorf("the card has MACs %s instead of %s: %s, did %q", b.macs(), before, explain(err), state.Did)
	}
	b.clean()
}

// TestConclude_keeps_a_loss_open has a burn lose the identity and fail at its end. The apply
// that watched it leaves the loss to the next one.
func TestConclude_keeps_a_loss_open(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b, img, before := lostBench(t)
	b.run("for d in " + inventory.StateDir + "/jobs/*-*; do echo 1 >$d/exit; done")
	c := b.card(ctx)
	l, err := c.Look(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = job.New(b.ops("alice").Session, c, l.Jobs[0].Entry).Finish(ctx)
	if err == nil || !strings.Contains(explain(err), "Planned write: MACs "+before) {
		t.Errorf("the run says %s", explain(err))
	}
	if !b.announced(ctx, c, img, before) {
		t.Errorf("the loss is not announced; settled %q", b.settlements())
	}
	b.clean()
}
