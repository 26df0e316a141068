package activation

import (
	"errors"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// planAgain is the way on after a reset that did not do it: the card is not reset for the same a second time.
const planAgain = "Plan again. The next plan announces a restart of the host instead, or says why it may not " +
	"restart. It does not write the card again."

func resetError(w Wait, what, means, check string, err error) *cards.Error {
	c := w.Card
	return cards.WithExit(&cards.Error{
		Summary: "Unable to reset card " + c.ID(),
		Heading: w.Goal.Title + "; its reset failed",
		What:    what, Means: w.Goal.doneText() + ". " + means, Check: check,
		Facts: []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}},
		Err:   err,
	})
}

// RefuseReset refuses a reset that a plan has announced, in the moment before it.
func RefuseReset(w Wait, why string) error {
	return &cards.Error{
		Summary: "Refusing to reset card " + w.Card.ID(),
		Heading: w.Goal.Title + "; it cannot be reset any more",
		What:    "The plan has announced a reset of the chip, and that is not possible now: " + why + ".",
		Means: w.Goal.doneText() + ". The card was not reset, and the host was not restarted: the plan has not " +
			"announced that.",
		Check: "Plan again. The plan says which way is left.",
		Facts: []cards.Fact{{"Host", w.Card.Host.Name()}, {"Card", w.Card.PCI.String()}},
	}
}

func notStarted(w Wait, err error) error {
	return resetError(w, "The unit that resets the card was not started.", "The card was not reset, and the host was not "+
		"restarted.", "Mend what is named as the cause, and run the same command again.", err)
}

// unseen says that the end of a reset was not seen. The unit goes on by itself.
func unseen(w Wait, err error) error {
	return resetError(w, "The end of the reset was not seen. Its unit, "+resetUnit(w.Card)+", goes on by itself.",
		"What the card runs now is not known. It should run "+w.Goal.Text+".",
		"Run the same command again when the host answers. It does not write the card again.", err)
}

// restarted says that the host has another boot id than before the reset: nobody has asked it for that.
func restarted(w Wait) error {
	return resetError(w, "The host has started anew since the reset began: it lost power, or something else has "+
		"restarted it.", "The card loads its flash at such a start, and should run "+w.Goal.Text+".",
		"Plan again. The plan reads what the card runs.", nil)
}

// failure is what went wrong with a reset that has ended; nil if the tool says that it did it.
func (r *reset) failure(w Wait) error {
	const untouched = "The card was not reset, and the host was not restarted."
	said := lastLine(r.output)
	switch {
	// The status alone does not count: tools of this family have ended with 0 after an error.
	case r.exit == "0" && !strings.Contains(r.output, "-E- "):
		return nil
	// Before refused: something that has begun is never "untouched".
	case r.cutOff():
		return resetError(w, "mstfwreset was started, and something has killed it.", "The host was not restarted. The card "+
			"may have neither a PCI link nor a driver, and the new firmware may run already.",
			"Plan again. The next plan announces a restart of the host, or says why it may not restart or has to be restarted "+
				"by hand.", nil)
	case r.exit == "" && !r.begun:
		return resetError(w, "The connection broke while the reset was asked for, or its unit did not start.", untouched,
			"Run the same command again.", nil)
	case r.refused():
		e := resetError(w, "The card was not reset: "+said+".", untouched, "Run the same command again.", nil)
		e.Facts = append(e.Facts, cards.Fact{"Exit status", r.exit})
		return e
	}
	// The command to the firmware (MFRL) is the first step of the tool, and stays in force after a failure (4.21).
	e := resetError(w, "mstfwreset failed: "+strings.TrimPrefix(said, "-E- "), "The host was not restarted. If "+
		"mstfwreset has sent its command to the firmware, the card resets itself when its link goes down the next time.",
		planAgain, nil)
	e.Facts = append(e.Facts, cards.Fact{"Exit status", r.exit}, cards.Fact{"Output", strings.TrimSpace(r.output)})
	return e
}

// notLoaded says that the tool has reset the card, and the card does not run what it should.
func notLoaded(w Wait, end *reset) error {
	e := resetError(w, "mstfwreset says that the card was reset, and the card does not run "+w.Goal.Text+".",
		"The host was not restarted.", planAgain, nil)
	e.Heading = w.Goal.Title + "; it does not run after the reset"
	e.Facts = append(e.Facts, cards.Fact{"Output", strings.TrimSpace(end.output)})
	return e
}

// strandedError names a card whose reset was not finished, and its way out.
func strandedError(c cards.Card) error {
	return &cards.Error{
		Summary: "Unable to use card " + c.ID(),
		Heading: "A reset of card " + c.ID() + " was not finished",
		What:    "mstfwreset was started on the card, and was killed or has failed before the driver was back.",
		Means: "The card has no driver, and may have no PCI link. Its flash was not changed by that. The new firmware may " +
			"run already.",
		Check: "Restart host " + c.Host.Name() + " by hand. Then plan again: the plan reads what the card runs.",
		Facts: []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}, {"Note on the host", resetDir(c)}},
	}
}

// resetFailed adds to a failure what the drain commands and the resume commands leave.
func resetFailed(c cards.Card, g Goal, err error) error {
	var step *reboot.Error
	if !errors.As(err, &step) {
		return err
	}
	var (
		refused *safety.RefusedError
		own     *cards.Error
	)
	cause := step.Err
	switch {
	case errors.As(cause, &refused):
		refused.Resumed = step.Resumed
	case errors.As(cause, &own):
		if step.Resumed {
			own.Means += " The resume commands have run."
		}
	default:
		cause = &cards.Error{
			Summary: "Unable to reset card " + c.ID(), Heading: g.Title + "; it was not reset",
			What:  "This step failed: " + step.Step + ".",
			Means: g.doneText() + ".", Check: "Mend what is named as the cause, and run the same command again.",
			Facts: []cards.Fact{{"Host", c.Host.Name()}}, Err: step.Err,
		}
	}
	if left := step.NotResumed("A drain command or a resume command failed around the reset of a card."); left != nil {
		return errors.Join(cause, left)
	}
	return cause
}
