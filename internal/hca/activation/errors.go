package activation

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// restartFailed is a refusal of the last look, with what the resume commands left beside it,
// or the failure of the restart. It is errReached if no restart was needed any more.
// The refusal goes first: it is the reason, and a resume command that failed is what is left of it.
func restartFailed(c cards.Card, oldBoot string, g Goal, err error) error {
	var (
		refused *safety.RefusedError
		step    *reboot.Error
	)
	reached := errors.Is(err, errReached)
	if !reached && !errors.As(err, &refused) {
		return restartError(c, oldBoot, g, err)
	}
	if !errors.As(err, &step) {
		return err
	}
	if !reached {
		refused.Resumed = step.Resumed
	}
	left := step.NotResumed("The host was not restarted after the drain commands. A resume command failed after that.")
	if left == nil {
		return err
	}
	if reached {
		return left
	}
	return errors.Join(err, left)
}

// restartError begins with what went wrong with the restart. The flash is written
// already, so that is the news.
func restartError(c cards.Card, oldBoot string, g Goal, err error) *cards.Error {
	e := &cards.Error{
		Summary: "Unable to restart host " + c.Host.Name() + " for card " + c.ID(),
		Heading: g.Title + "; the restart failed",
		What:    "The restart of host " + c.Host.Name() + " failed.",
		Means:   g.doneText() + ". What the card runs now is not known. It should run " + g.Text + ".",
		Check:   "Run the same command again when the host answers. It does not write the card again.",
		Facts:   []cards.Fact{{"Host", c.Host.Name()}, {"Boot id before", oldBoot}},
		Err:     err,
	}
	var step *reboot.Error
	if !errors.As(err, &step) {
		return e
	}
	e.What = fmt.Sprintf("The restart of host %s failed after %s in this step: %s. %s",
		c.Host.Name(), step.Elapsed.Round(time.Second), step.Step, step.Meaning())
	switch {
	// In this order: what is certain first. Of the others nobody knows what the card runs.
	case step.Untouched():
		e.Means = g.doneText() + ". The card still runs what it started with. It should run " + g.Text + "."
		e.Check = "Fix what the error below names, and run the same command again. It does not write the card again."
	case step.NeverDown():
		e.Means = g.doneText() + ". The card still runs what it started with, until the host restarts. Then it should run " +
			g.Text + "."
		e.Check = "Look at what keeps the host from restarting, such as `systemctl list-jobs` and `systemd-inhibit --list`. " +
			"Then run the same command again. It does not write the card again."
	case step.Step == reboot.StepResume:
		e.Summary = "Unable to run the resume commands of host " + c.Host.Name()
		e.Heading = "Host " + c.Host.Name() + " is restarted; a resume command failed after that"
		e.What = "The host was restarted and has finished starting. A resume command failed then."
		e.Means = g.doneText() + ". The host has started again, so the card should run " + g.Text +
			". The next plan reads it."
		e.Check = "Then plan again. The card is not written again."
	}
	if by := step.ByHand(); by != "" {
		e.Check = by + "\n\n" + e.Check
	}
	return e
}

// readError tells of a card that cannot be read after the restart. l is nil if
// the host could not be read.
func readError(c cards.Card, l *cards.Look, g Goal, err error) error {
	var gone *cards.NoCardError
	if !errors.As(err, &gone) {
		return &cards.Error{
			Summary: "Unable to read host " + c.Host.Name() + " after its restart",
			Heading: g.Title + "; the host was not read after the restart",
			What:    "The host was restarted and has started. Reading it failed then.",
			Means:   g.doneText() + ". What the card runs now is not known. It should run " + g.Text + ".",
			Check:   "Run the same command again. It does not write the card again.",
			Facts:   []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}},
			Err:     err,
		}
	}
	// A card that has moved to another slot is not a card that is gone.
	if who := c.Compare(l); who.Elsewhere != "" {
		return otherCardError(c, g, who)
	}
	return &cards.Error{
		Summary: "Unable to find card " + c.ID() + " after the restart",
		Heading: g.Title + "; after the restart the card is not on the bus",
		What:    g.doneText() + ". After the restart the card is not on the bus: " + gone.Error() + ".",
		Means:   "The card does not answer. A restart alone may keep power on it, and then it does not start anew.",
		Check: "Switch the machine off, wait half a minute, and switch it on. Then run the same command again. " +
			"If the card is still missing, look whether it sits well in its slot.",
		Facts: []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}, {"Boot id", l.Snap.BootID}},
	}
}

// otherCardError says that the card in the slot is another one, or may be, whatever it
// runs.
func otherCardError(c cards.Card, g Goal, who safety.IdentityFacts) error {
	e := &cards.Error{
		Summary: "Unable to find card " + c.ID() + " after the restart",
		Heading: g.Title + "; after the restart another card is in the slot",
		What:    g.doneText() + ". The host was restarted.",
		Means:   "Nothing was written to the card that is there now. What the right one runs is not known.",
		Facts:   []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}},
	}
	for _, f := range safety.Identity(c.PCI.String()+" of "+c.Host.Name(), who) {
		switch f.Rule {
		case finding.CardUndecided:
			e.Heading = g.Title + "; after the restart the card cannot be told from another one"
		case finding.CardMoved:
			e.Heading = g.Title + "; after the restart the card has another address"
		}
		e.What += " " + f.Evidence
		e.Check = f.WayOut
		e.Facts = append(e.Facts, cards.Fact{"Finding", f.Rule.Code})
	}
	return e
}

// goalError says that a card does not run what it should. mayBeBlind: the card had no driver
// before the restart. If it has none now either, nothing is known of what runs.
func goalError(c cards.Card, l *cards.Look, g Goal, known, mayBeBlind bool, did *[]string) error {
	card := l.Card
	if mayBeBlind && !known && card.Driver == "" {
		*did = append(*did, "Card "+c.ID()+" has no driver, as before the restart, so that nothing shows whether it runs "+
			g.Text+".")
		return nil
	}
	e := &cards.Error{
		Summary: "Unable to activate the flash of card " + c.ID(),
		Heading: g.Title + "; it does not run after the restart",
		What:    "The host was restarted, and the card does not run " + g.Text + ".",
		Means:   g.doneText() + ".",
		Check: "Switch the machine off and on again: some keep power on the card while they restart. The provider does " +
			"not restart the host a second time for the same firmware.",
		Facts: []cards.Fact{
			{"Host", c.Host.Name()}, {"Boot id", l.Snap.BootID}, {"Driver",
				cmp.Or(strings.TrimSpace(card.Driver), "it left no reason")},
			{"Running", strings.TrimSpace(card.RunningPSID.String() + " " + card.RunningFW)},
		},
	}
	// A power cycle, which is the usual advice here, would load what somebody else has written.
	if f := card.Flash; f != nil && !g.Loads(*f) {
		e.What += " Its flash does not hold what was written any more: it holds " + flashText(*f) + "."
		e.Means = g.doneText() + ", and somebody has written the flash since: another apply, or a person."
		e.Check = "Find out who else writes the card, and stop that. Then plan again."
	}
	if !known {
		e.Heading = g.Title + "; whether it runs after the restart is not known"
		e.What = "The host was restarted, and its driver does not show what the card runs."
		e.Check = "Read the messages of the driver in the host's kernel log."
	}
	return e
}
