package activation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Run restarts the host if the card does not run what it should and the activation
// allows it. It restarts a host once for the same content of the same flash: if that
// did not help, a second restart will not. Other cards of the host may wait for the same restart.
func Run(ctx context.Context, o *cards.Session, c cards.Card, how safety.Activation, g Goal, did *[]string,
	with ...Wait) error {
	l, err := c.Look(ctx)
	if err != nil {
		return err
	}
	// Not known, as of a card without a driver, is not yes. What forbids the restart says why.
	if yes, _ := g.Reached(l); yes {
		forget(ctx, c, l, g)
		return nil
	}
	// Before what forbids a restart: a card that waits for nobody's restart has nothing to refuse.
	if how != safety.ActivationReboot {
		return nil
	}
	// The verdict has said so already. It is asked once more, because a restart cannot be taken back.
	if !c.RebootAllowed || c.Rebooter == nil || c.Host.Observe() {
		return &cards.Error{
			Summary: "Refusing to reboot host " + c.Host.Name(),
			Heading: g.Title + "; the host may not be restarted",
			What: "Card " + c.ID() + " has to be started anew to run " + g.Text +
				", and the host's entry in the provider does not allow a reboot.",
			Means: g.doneText() + "; the card still runs what it started with.",
			Check: "Restart the host by hand, or write reboot = { allowed = true } into its entry.",
		}
	}
	err = restart(ctx, o, append([]Wait{{c, g}}, with...), did)
	if errors.Is(err, errReached) {
		forget(ctx, c, l, g)
		return nil
	}
	if err != nil {
		o.Tell(c, journal.Step{Name: "error", Percent: journal.Unknown, Text: err.Error()})
	}
	return err
}

// RunAll is Run for the cards of one host: one restart is that of all. A card that somebody else
// starts anew meanwhile stops the restart, and the others are looked at again.
func RunAll(ctx context.Context, o *cards.Session, all []Wait, did *[]string) error {
	before := len(*did)
	// A round ends without a restart only if somebody else has started a card anew. Its goal is reached then
	// and it is not in the next round, so that the rounds come to an end.
	for len(*did) == before {
		left, err := due(ctx, all)
		if err != nil || len(left) == 0 {
			return err
		}
		if err = Run(ctx, o, left[0].Card, safety.ActivationReboot, left[0].Goal, did, left[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// due gives the cards that do not run what they should, and forgets the restarts of the others.
func due(ctx context.Context, all []Wait) (left []Wait, err error) {
	for _, w := range all {
		l, err := w.Card.Look(ctx)
		if err != nil {
			return nil, err
		}
		if yes, _ := w.Goal.Reached(l); yes {
			forget(ctx, w.Card, l, w.Goal)
			continue
		}
		left = append(left, w)
	}
	return left, nil
}

// restart restarts the host of all cards and waits until each runs what it should. Its error is
// errReached if one does so without a restart.
func restart(ctx context.Context, o *cards.Session, all []Wait, did *[]string) error {
	c, g := all[0].Card, all[0].Goal
	before := make([]*cards.Look, len(all))
	for i, w := range all {
		// All cards first: the first one that may not be restarted saves the others the drain of the host.
		l, err := mayRestart(ctx, o, w.Card, w.Goal)
		if err == nil {
			err = breakLoop(ctx, w.Card, l, w.Goal)
		}
		if err != nil {
			return err
		}
		// What the flash held now is what stillMayRestart compares with.
		before[i] = l
		o.Progress(ctx, "Rebooting "+c.Host.Name()+" so that card "+w.Card.PCI.String()+" runs "+w.Goal.Text)
		o.Tell(w.Card, journal.Step{Name: "restart", Percent: journal.Unknown})
	}
	after, err := c.Rebooter.Reboot(ctx, "terraform: card "+c.PCI.String()+" is to run "+g.Text,
		func(ctx context.Context) error { return ready(ctx, o, all, before) })
	if err != nil {
		var failed *reboot.Error
		// Only if the request itself was refused is it certain that no restart comes. A note that is left
		// beside one that comes later would let the host be restarted a second time for nothing.
		if errors.As(err, &failed) && failed.Step == reboot.StepRequest && failed.Untouched() {
			forgetAll(ctx, all, before)
		}
		return restartFailed(c, before[0].Snap.BootID, g, err)
	}
	c.Host.Invalidate()
	*did = append(*did, fmt.Sprintf("Rebooted %s (boot id %s, before %s).", c.Host.Name(), after, before[0].Snap.BootID))
	for i, w := range all {
		if err := waitForGoal(ctx, o, w.Card, before[i], w.Goal, did); err != nil {
			return err
		}
		o.Tell(w.Card, journal.Step{Name: "restarted", Percent: journal.Unknown, Text: "the card runs " + w.Goal.Text})
	}
	return nil
}

// ready notes the restart for each card, and asks then whether the host may still restart: nothing comes
// between the last look at a flash and the request, so that no burn by hand is loaded unseen.
// The note comes before the request: a run that is killed between the two finds it, and does not restart
// the host again and again.
func ready(ctx context.Context, o *cards.Session, all []Wait, before []*cards.Look) error {
	for i, w := range all {
		if err := noteRestart(ctx, w.Card, before[i], w.Goal); err != nil {
			return err
		}
	}
	for i, w := range all {
		if err := stillMayRestart(ctx, o, w.Card, before[i].Snap, w.Goal); err != nil {
			forgetAll(ctx, all, before)
			return err
		}
	}
	return nil
}

// forgetAll takes back the notes of a restart that does not come.
func forgetAll(ctx context.Context, all []Wait, before []*cards.Look) {
	for i, w := range all {
		// Also if the run was interrupted: the note would forbid the restart of the next one.
		forget(context.WithoutCancel(ctx), w.Card, before[i], w.Goal)
	}
}

// mayRestart asks again, just before the restart, for what forbids it: the verdict is
// some minutes old. It gives what was found. Its error is errReached if no restart is needed
// any more, as after that of another apply.
func mayRestart(ctx context.Context, o *cards.Session, c cards.Card, g Goal) (*cards.Look, error) {
	c.Host.Invalidate()
	l, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	if yes, _ := g.Reached(l); yes {
		return l, errReached
	}
	// A restart loads whatever is in flash: what somebody has burned since was not judged by anybody.
	if f := l.Card.Flash; f != nil && !g.Loads(*f) {
		return l, refusal(c, g, g.lostText(), []finding.Finding{changedFlash(l.Card, "")})
	}
	now := o.Assess(c, l)
	return l, refusal(c, g, g.doneText(), safety.RestartNow(now.Card, now.Host, g.Consent))
}

// stillMayRestart asks directly before the restart, when the drain commands are through,
// which may have taken minutes. Now each card of the host that loads its flash then is
// compared with what it had before them, and verified: what was written and verified may
// be gone.
func stillMayRestart(ctx context.Context, o *cards.Session, c cards.Card, before *inventory.Snapshot, g Goal) error {
	l, err := mayRestart(ctx, o, c, g)
	if err != nil {
		return err
	}
	if err = refusal(c, g, g.doneText(), changedFlashes(before, l.Snap)); err != nil {
		return err
	}
	// Of every card of the host that the restart starts anew, not only of those that wait for it.
	loaded, err := o.Loaded(ctx, c.Host, l.Snap)
	if err != nil {
		return err
	}
	found := safety.Loads(loaded)
	done := g.doneText()
	if slices.ContainsFunc(loaded, func(f safety.CardFacts) bool {
		// The flash of this very card is bad: to say that it was verified would be wrong now.
		return f.PCI.Slot() == c.PCI.Slot() && len(safety.Loads([]safety.CardFacts{f})) > 0
	}) {
		done = g.lostText()
	}
	return refusal(c, g, done, found)
}

// waitForGoal gives the driver time to take the card. A card that had no driver
// before is not expected to have one: what it runs then stays unknown.
func waitForGoal(ctx context.Context, o *cards.Session, c cards.Card, before *cards.Look, g Goal,
	did *[]string) error {
	deadline := time.Now().Add(o.Settle)
	for {
		l, err := c.Look(ctx)
		if err != nil {
			return readError(c, l, g, err)
		}
		who := c.Compare(l)
		// Asked before the look: one that begins in time and ends late is still a fair look.
		late := time.Now().After(deadline)
		if who.Other(late) {
			return otherCardError(c, g, who)
		}
		yes, known := g.Reached(l)
		started := l.Snap.BootID != before.Snap.BootID
		// Another boot id, because a host that answers may not have gone down yet; a driver, because without it
		// nothing shows what runs.
		if yes && started && l.Card.Driver != "" && who.Same() {
			forget(ctx, c, before, g)
			c.Host.Invalidate() // udev may not have named yet what the driver has made
			return nil
		}
		if late {
			return goalError(c, l, g, known, started && before.Card.Driver == "", did)
		}
		c.Host.Invalidate() // asked anew after the pause
		if err := o.Pause(ctx); err != nil {
			return err
		}
	}
}
