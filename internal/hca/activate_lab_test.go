package hca

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// TestApplyFirmware_card_that_is_not_there_after_the_restart has the slot empty, or
// another card in it that runs just what was burned.
func TestApplyFirmware_card_that_is_not_there_after_the_restart(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, title string
		says        []string
		restart     func(*bench)
	}{
		{"gone", "is burned; after the restart the card is not on the bus",
			[]string{"The flash is written and verified. After the restart the card is not on the bus", "Switch the machine off",
				"Backup: "},
			func(b *bench) {
				b.machine.Faults.Set(labsim.FaultSpec{CardGone: true})
				b.restart(func() error { return nil })
			}},
		{"another card that runs the goal", "is burned; after the restart another card is in the slot",
			[]string{"The flash is written and verified", "the serial number is",
				"Nothing was written to the card that is there now", "Finding: FW080", "Backup: "},
			func(b *bench) { b.restart(b.putTwin) }},
		{"in another slot", "is burned; after the restart the card has another address",
			[]string{"The recorded card is now at 0000:41:00.0", "Finding: FW082", "Backup: "},
			func(b *bench) {
				b.restart(func() error {
					old, err := b.machine.TakeOut(b.pci.String())
					return errors.Join(err, b.machine.PutIn(old, "0000:41:00.0"))
				})
			}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			b := newBench(t, labs.Intel9, 0)
			c := b.card(ctx)
			c.Rebooter = rebootFunc(func() string {
				x.restart(b)
				c.Host.Drop()
				return b.machine.BootID()
			})
			o := b.ops("alice")
			o.Settle = 200 * time.Millisecond
			state, err := o.ApplyFirmware(ctx, crossFlash(c, b.image(card.VPI())))
			var e *cards.Error
			if !errors.As(err, &e) {
				t.Fatalf("no error of ours: %v, did %q", err, state.Did)
			}
			if !strings.HasSuffix(e.Title(), x.title) {
				t.Errorf("title %q, want %q at its end", e.Title(), x.title)
			}
			for _, want := range append(slices.Clone(x.says), state.BackupPath) {
				if !strings.Contains(e.Explain(), want) {
					t.Errorf("lacks %q:\n%s", want, e.Explain())
				}
			}
		})
	}
}

// restart starts the machine anew; change is done while it is off.
func (b *bench) restart(change func() error) {
	b.t.Helper()
	if err := b.machine.Rebuild(change); err != nil {
		b.t.Error(err)
	}
}

// putTwin puts an equal card into the slot of the machine that is off, with what was
// burned on the first one.
func (b *bench) putTwin() error {
	config := labs.Twin(b.device().Config, 900)
	config.Image = card.VPI()
	twin, err := labsim.NewSpare(config)
	if err != nil {
		return err
	}
	if _, err = b.machine.TakeOut(b.pci.String()); err != nil {
		return err
	}
	return b.machine.PutIn(twin, b.pci.String())
}
