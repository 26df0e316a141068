package hca

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
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

// failingReboot ends in this step, before the host is asked or with a request that it refuses.
type failingReboot string

func (failingReboot) Drained(ctx context.Context, do func(context.Context) error) error {
	return do(ctx)
}

func (f failingReboot) Reboot(ctx context.Context, _ string, ready func(context.Context) error) (string, error) {
	if string(f) == reboot.StepRequest {
		if err := ready(ctx); err != nil {
			return "", err
		}
	}
	return "", &reboot.Error{Host: "intel9", Step: string(f), Err: errors.New("it fails")}
}

// ran is a goal of the card that the test reaches by hand.
func ran(b *bench, yes func() bool) activation.Goal {
	return activation.Goal{
		Content: "wish", Text: "the wish", Title: "Wish of card " + b.name + "/" + b.pci.String() + " is stored",
		Reached: func(*cards.Look) (bool, bool) { return yes(), true },
		Loads:   func(inventory.Flash) bool { return true },
	}
}

// TestRun_restarts_once_for_a_goal_that_is_not_reached holds that the note on a restart that did
// not help stands in the way of no other restart: after the goal was reached, or of another card.
func TestRun_restarts_once_for_a_goal_that_is_not_reached(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	c, o := b.card(ctx), b.ops("alice")
	o.Settle = 200 * time.Millisecond
	var reached, helps bool
	restarts := 0
	c.Rebooter = rebootFunc(func() string {
		b.restart(func() error { reached = helps; return nil })
		restarts++
		c.Host.Drop()
		return b.machine.BootID()
	})
	isNew := false
	run := func(step string, c cards.Card, more int, title string) {
		t.Helper()
		before := restarts
		var did []string
		c.Host.Invalidate()
		goal := ran(b, func() bool { return reached })
		goal.New = isNew
		err := activation.Run(ctx, o.Session, c, safety.ActivationReboot, goal, &did)
		got, e := "", (*cards.Error)(nil)
		if errors.As(err, &e) {
			got = e.Title()
		}
		if restarts-before != more || got != title || (err != nil) != (title != "") {
			t.Fatalf("%s: %d restarts, want %d; title %q, want %q: %v", step, restarts-before, more, got, title, explain(err))
		}
	}
	byHand := func() { b.restart(func() error { reached = false; return nil }); c.Host.Drop() }
	const stored = "Wish of card intel9/0000:01:00.0 is stored; "

	helps = true
	run("first", c, 1, "")
	byHand()
	run("after somebody has undone it by hand", c, 1, "")
	helps = false
	byHand()
	run("one that does not help", c, 1, stored+"it does not run after the restart")
	run("the same again", c, 0, stored+"the host is not restarted again")
	isNew = true
	run("stored again", c, 1, stored+"it does not run after the restart")
	isNew = false
	run("the same after that", c, 0, stored+"the host is not restarted again")
	other := c
	other.Recorded = ib.Identity{Serial: "MT0000X00001"}
	run("another card in the slot", other, 1, stored+"after the restart another card is in the slot")
	run("its own note is another one", c, 1, stored+"it does not run after the restart")
	reached = true // by a power cycle
	run("it runs now", c, 0, "")
	byHand()
	helps = true
	run("undone after that", c, 1, "")

	byHand()
	for _, step := range []string{reboot.StepDrain, reboot.StepRequest} {
		fails := c
		fails.Rebooter = failingReboot(step)
		run("fails while "+step, fails, 0, stored+"the restart failed")
	}
	byHand()
	run("after a restart that was not asked for", c, 1, "")
	b.clean()
}

// TestRun_leaves_a_host_alone_that_another_apply_has_restarted has the card run the goal when the
// host is read directly before the restart, or after the drain commands.
func TestRun_leaves_a_host_alone_that_another_apply_has_restarted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	boots := b.machine.Boots()
	for _, looks := range []int{1, 2} {
		o, c, n := b.ops("alice"), b.restartingCard(ctx), 0
		var did []string
		err := activation.Run(ctx, o.Session, c, safety.ActivationReboot,
			ran(b, func() bool { n++; return n > looks }), &did)
		if err != nil || b.machine.Boots() != boots {
			t.Errorf("reached at look %d: %d restarts, %v", looks+1, b.machine.Boots()-boots, explain(err))
		}
		if b.machine.FS.Exists("/tmp/drained") {
			t.Error("what was drained was not given back")
		}
	}
	b.clean()
}
