package hca

import (
	"context"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

const otherSlot = "0000:41:00.0"

// damage breaks the image in flash, so that the query answers and the verification fails.
func damage(t *testing.T, c *labsim.Card) {
	t.Helper()
	img, err := c.Flash.Active()
	if err != nil {
		t.Fatal(err)
	}
	if err = c.Flash.Program(img.Start+card.SectorSize+0x100, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
}

// restartingCard is the card of the bench with a drain command that does something.
func (b *bench) restartingCard(ctx context.Context) cards.Card {
	c := b.card(ctx)
	h := b.host()
	s, err := h.Snapshot(ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	p, err := platform.Of(s)
	if err != nil {
		b.t.Fatal(err)
	}
	on := cards.On(h, b.pci, p, true, platform.RebootPolicy{
		DrainCommands: []string{"touch /tmp/drained"}, ResumeCommands: []string{"rm /tmp/drained"},
	})
	on.Recorded = c.Recorded
	return on
}

// TestRestart_not_into_a_flash_that_was_lost_in_the_drain damages a flash while the drain
// commands run: that of the card which is to be restarted, or that of another one.
func TestRestart_not_into_a_flash_that_was_lost_in_the_drain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	b.restart(func() error {
		twin, err := labsim.NewSpare(labs.Twin(b.device().Config, 900))
		if err != nil {
			return err
		}
		return b.machine.PutIn(twin, otherSlot)
	})
	img := b.image(card.VPI())
	boots := b.machine.Boots()
	for _, x := range []struct {
		name, left string
		lost       *labsim.Card
	}{
		{"the other card", "The flash is written and verified; the host was not restarted", b.machine.Card(otherSlot)},
		{"the card", "The flash was written and verified, and is not known to be whole now; the host was not restarted",
			b.device()},
	} {
		o, c := b.ops("alice"), b.restartingCard(ctx)
		o.Progress = b.on("Rebooting", func() { damage(t, x.lost) })
		_, err := o.ApplyFirmware(ctx, crossFlash(c, img))
		refusedFor(t, x.name, err, finding.RestartIntoDamagedFlash.Code, x.left)
		if b.machine.Boots() != boots {
			t.Fatalf("%s: the host was restarted", x.name)
		}
		if b.machine.FS.Exists("/tmp/drained") {
			t.Errorf("%s: what was drained was not given back", x.name)
		}
		if x.lost != b.device() { // it is whole again for the next round
			b.swapOther()
		}
	}
	b.clean()
}

// swapOther gives the other card a whole flash again.
func (b *bench) swapOther() {
	b.t.Helper()
	other := b.machine.Card(otherSlot)
	whole, err := labsim.NewSpare(other.Config)
	if err != nil {
		b.t.Fatal(err)
	}
	other.Flash = whole.Card.Flash
}
