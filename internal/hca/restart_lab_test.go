package hca

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
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
	return b.cardWith(ctx, reboot.Policy{
		DrainCommands: []string{"touch /tmp/drained"}, ResumeCommands: []string{"rm /tmp/drained"},
	})
}

// TestRestart_not_into_a_flash_that_was_lost_in_the_drain damages a flash while the drain
// commands run: that of the card which is to be restarted, or that of another one.
func TestRestart_not_into_a_flash_that_was_lost_in_the_drain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	b.putOther()
	img := b.image(card.VPI())
	boots := b.machine.Boots()
	for _, x := range []struct {
		name, left string
		lost       *labsim.Card
	}{
		{"the other card", "The flash is written and verified; the host was not restarted, and the card runs what it ran " +
			"before. The resume commands have run.", b.machine.Card(otherSlot)},
		{"the card", "The flash was written and verified, and has changed since; the host was not restarted, and the card " +
			"runs what it ran before. The resume commands have run.", b.device()},
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

// TestRestart_that_is_refused_names_what_is_not_resumed has a resume command fail after the last
// look has refused the restart: the services stay down, and only this error says so.
func TestRestart_that_is_refused_names_what_is_not_resumed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	img := b.image(card.VPI())
	o, c := b.ops("alice"), b.cardWith(ctx, reboot.Policy{
		DrainCommands: []string{"true"}, ResumeCommands: []string{"true", "false", "touch /tmp/up"},
	})
	o.Progress = b.on("Rebooting", func() { damage(t, b.device()) })
	_, err := o.ApplyFirmware(ctx, crossFlash(c, img))
	refusedFor(t, "refused", err, finding.RestartIntoDamagedFlash.Code, "the host was not restarted")
	var e *cards.Error
	if !errors.As(err, &e) || e.Title() != "Unable to run the resume commands of host intel9" {
		t.Fatalf("no error on the resume commands: %v", err)
	}
	for _, want := range []string{"The host was not restarted after the drain commands", "only if it drains the host again:\n\n    " +
		"false\n    touch /tmp/up\n\nHost: intel9", "command ended with status 1"} {
		if !strings.Contains(e.Explain(), want) {
			t.Errorf("lacks %q:\n%s", want, e.Explain())
		}
	}
}

// TestRestart_not_into_what_somebody_burned_in_the_drain has somebody burn other firmware, which
// is whole, while the drain commands run: on the card that GUIDs were written to, or on
// another one. No plan announced what the restart would load.
func TestRestart_not_into_what_somebody_burned_in_the_drain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	b.putOther()
	boots := b.machine.Boots()
	for _, x := range []struct {
		name, left string
		burned     *labsim.Card
	}{
		{"the other card", "The flash is written and verified; the host was not restarted", b.machine.Card(otherSlot)},
		{"the card", "The flash was written and verified, and has changed since; the host was not restarted", b.device()},
	} {
		o, c, req := b.ops("alice"), b.restartingCard(ctx), someGUIDs(t)
		req.Activation = safety.ActivationReboot
		o.Progress = b.on("Rebooting", func() {
			if err := x.burned.Write(card.OldVPI(), func(int) error { return nil }); err != nil {
				t.Error(err)
			}
		})
		_, err := o.ApplyGUIDs(ctx, GUIDs{Card: c, Lab: aloneInFabric(), Request: req})
		refusedFor(t, x.name, err, finding.ChangedSincePlan.Code, x.left)
		if b.machine.Boots() != boots {
			t.Fatalf("%s: the host was restarted", x.name)
		}
	}
	b.clean()
}

// TestApplyGUIDs_not_into_what_somebody_staged has somebody burn other firmware after the plan.
// GUIDs would burn that once more, over the image that runs.
func TestApplyGUIDs_not_into_what_somebody_staged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	o, c, req := b.ops("alice"), b.card(ctx), someGUIDs(t)
	ask := GUIDs{Card: c, Lab: aloneInFabric(), Request: req}
	if a, err := o.AssessGUIDs(ctx, ask); err != nil || a.Verdict.Blocked() {
		t.Fatalf("plan: %v %+v", explain(err), a.Verdict.Blockers())
	}
	if err := b.device().Write(card.VPI(), func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	before := b.device().Flash.Operations()
	_, err := o.ApplyGUIDs(ctx, ask)
	refusedFor(t, "staged by hand", err, finding.FlashNotRunning.Code, "")
	if n := b.device().Flash.Operations() - before; n != 0 {
		t.Errorf("%d flash operations", n)
	}
	b.clean()
}

// putOther puts an equal card into another slot.
func (b *bench) putOther() {
	b.t.Helper()
	b.restart(func() error {
		twin, err := labsim.NewSpare(labs.Twin(b.device().Config, 900))
		if err != nil {
			return err
		}
		return b.machine.PutIn(twin, otherSlot)
	})
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
