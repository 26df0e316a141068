package activation

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
)

// Stranded is an error if a reset since the start of the host has left one of its cards without a driver: no flash
// of such a card can be read, so that nothing seems to wait in it.
func Stranded(ctx context.Context, h cards.Host, all []cards.Card) error {
	noted, err := readResets(ctx, h)
	if err != nil {
		return err
	}
	for _, c := range all {
		l, err := c.Look(ctx)
		if err != nil {
			return err
		}
		// All four: mstfwreset unbinds the driver before it takes the link down, and one that was killed there
		// leaves both so (4.21). A card that has its driver again needs nobody's help.
		if r := noted.of(c, l.Snap.BootID); r.begun && !r.runs && r.exit != "0" && l.Card.Driver == "" {
			return strandedError(c)
		}
	}
	return nil
}

// ResetAll has cards of one host run what waits in them by resets of their chips, without a restart of the host.
// Each was announced: where a card cannot be reset any more, nothing is done and the next plan says what is left.
func ResetAll(ctx context.Context, o *cards.Session, all []Wait, did *[]string) error {
	left, err := due(ctx, all)
	if err != nil || len(left) == 0 {
		return err
	}
	before := make([]*cards.Look, len(left))
	for i, w := range left {
		if before[i], err = mayReset(ctx, o, w); errors.Is(err, errReached) {
			return ResetAll(ctx, o, all, did) // somebody else has started it anew
		} else if err != nil {
			return err
		}
	}
	c := left[0].Card
	// One drain around all resets: who uses one card of the host mostly uses the others too.
	err = c.Rebooter.Drained(ctx, func(ctx context.Context) error {
		// One after the other. A reset takes the link of a slot down, and a failure must name its card.
		for i, w := range left {
			if failed := resetCard(ctx, o, w, before[i]); failed != nil && !errors.Is(failed, errReached) {
				return failed
			}
			*did = append(*did, "Reset card "+w.Card.ID()+" by mstfwreset.")
		}
		return nil
	})
	return resetFailed(c, left[0].Goal, err)
}

// mayReset asks again for all that forbids a reset.
func mayReset(ctx context.Context, o *cards.Session, w Wait) (*cards.Look, error) {
	l, err := mayRestart(ctx, o, w.Card, w.Goal)
	if err != nil {
		return l, err
	}
	why, err := AgainstReset(ctx, o, w.Card, &w.Goal)
	if err == nil && why != "" {
		err = RefuseReset(w, why)
	}
	return l, err
}

// resetCard resets one card, after a last look at its flash, and proves what it runs then.
func resetCard(ctx context.Context, o *cards.Session, w Wait, before *cards.Look) error {
	c := w.Card
	if err := stillMayRestart(ctx, o, c, before.Snap, w.Goal); err != nil {
		return err
	}
	if _, err := mayReset(ctx, o, w); err != nil {
		return err
	}
	o.Progress(ctx, "Resetting card "+c.ID()+" so that it runs "+w.Goal.Text)
	o.Tell(c, journal.Step{Name: "reset", Percent: journal.Unknown})
	// The id tells the unit of this request from one of an earlier run, whose files may still be there.
	id := strings.ToLower(rand.Text())
	if _, err := c.Host.Run(ctx, startReset(c, id, contentOf(c, before, w.Goal), before.Snap.BootID)); err != nil {
		// The script itself said no. Without a status nobody knows whether it arrived.
		if _, exit := cards.Exit(err); exit != nil {
			return notStarted(w, err)
		}
		// The answer is lost, and the unit may run: its note decides.
	}
	end, err := watchReset(ctx, o, c, id)
	if err != nil {
		return unseen(w, err)
	}
	c.Host.Invalidate()
	if err = failed(ctx, w, before, end); err != nil {
		o.Tell(c, journal.Step{Name: "error", Percent: journal.Unknown, Text: err.Error()})
		return err
	}
	if err = proveReset(ctx, o, w, end); err != nil {
		return err
	}
	o.Tell(c, journal.Step{Name: "was reset", Percent: journal.Unknown, Text: "the card runs " + w.Goal.Text})
	return nil
}

// failed is what went wrong with a reset that has ended, in the boot in which it began or by the end of that one.
func failed(ctx context.Context, w Wait, before *cards.Look, end *reset) error {
	failure := end.failure(w)
	if failure == nil {
		return nil
	}
	now, err := w.Card.Host.Snapshot(ctx)
	if err != nil {
		return unseen(w, err)
	}
	// Power loss is no failure of the reset, and has done what the reset was for.
	if now.BootID != before.Snap.BootID {
		return restarted(w)
	}
	return failure
}

// watchReset waits until a reset has ended, or is kept from coming: its request may be on its way, and systemd may be
// slow. An empty one never began. A host that does not answer for a while may be lost for another reason.
func watchReset(ctx context.Context, o *cards.Session, c cards.Card, id string) (*reset, error) {
	seen, idle := time.Now(), 0 // of the unit
	for {
		r, err := readReset(ctx, c, id)
		switch {
		case err != nil && !cards.MayPass(err):
			return nil, err
		// The network may go over this very card, whose link is down for some seconds.
		case err != nil:
			c.Host.Drop()
		case r.runs:
			seen, idle = time.Now(), 0
		default:
			idle++
		}
		if r.over(ctx, c, id, idle) {
			return r, nil
		}
		if time.Since(seen) > o.Lost {
			return nil, cmp.Or(err, errors.New("nothing was seen of it for "+o.Lost.String()))
		}
		if err := o.Pause(ctx); err != nil {
			return nil, err
		}
	}
}

// over reports whether a reset has ended, or does not come any more after so many looks without its unit.
func (r *reset) over(ctx context.Context, c cards.Card, id string, idle int) bool {
	// To give up without the host's word that the unit never begins would let it begin after the error.
	return r.exit != "" || idle > resetPatience && (r.begun || forgone(ctx, c, id))
}

// resetPatience is how many looks may find neither a unit nor its end.
const resetPatience = 5

// proveReset gives the driver time to show what the card runs now.
func proveReset(ctx context.Context, o *cards.Session, w Wait, end *reset) error {
	c := w.Card
	deadline := time.Now().Add(o.Settle)
	for {
		late := time.Now().After(deadline)
		l, err := c.Look(ctx)
		var gone *cards.NoCardError
		if err != nil && !errors.As(err, &gone) {
			return unseen(w, err)
		}
		if err == nil {
			if who := c.Compare(l); who.Other(late) {
				return otherCardError(c, w.Goal, who)
			}
			if yes, _ := w.Goal.Reached(l); yes && l.Card.Driver != "" {
				c.Host.Invalidate()
				return nil
			}
		}
		if late {
			return notLoaded(w, end)
		}
		c.Host.Invalidate()
		if err := o.Pause(ctx); err != nil {
			return err
		}
	}
}
