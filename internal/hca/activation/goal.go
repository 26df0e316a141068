package activation

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Goal is what a card should run.
type Goal struct {
	Content string // names the content of the flash, for the loop breaker
	// Reached reports whether the card runs it. known is false if the driver does not
	// show what runs.
	Reached func(l *cards.Look) (yes, known bool)
	Text    string
	// Loads reports whether a flash holds what the restart is to load.
	Loads func(flash inventory.Flash) bool
	// Written says what was done before the restart. Empty means that the flash was
	// written.
	Written string
	// New says that this apply has stored in the card what a restart is to load, in a place that
	// Content does not name: no restart was tried for it.
	New bool
	// Consent names the interfaces of the card that may go down during the restart.
	// An interface that the operator's session goes over is not among them unless the configuration names it.
	Consent []string
	// Title begins the titles of what goes wrong from the restart on: "Firmware of
	// card intel9/0000:01:00.0 is burned".
	Title string
}

func (g Goal) doneText() string {
	if g.Written != "" {
		return g.Written
	}
	return "The flash is written and verified"
}

// lostText is doneText where the flash has changed since.
func (g Goal) lostText() string {
	if g.Written != "" {
		return g.Written + ", and its flash has changed since"
	}
	return "The flash was written and verified, and has changed since"
}

// Wait is a card that is to run something.
type Wait struct {
	Card cards.Card
	Goal Goal
}

// errReached says that the card runs its goal: somebody else has started it anew.
var errReached = errors.New("the card runs what it should")

// changedFlash is the finding on a flash that somebody has written since it was read.
func changedFlash(card *inventory.Card, before string) finding.Finding {
	return finding.ChangedSincePlan.Find("Somebody has written the flash of card %s since it was read.%s Now it holds "+
		"%s. A restart would load that.", card.PCI, before, flashText(card.InFlash()))
}

func flashText(f inventory.Flash) string {
	return fmt.Sprintf("%s %s, %s", cmp.Or(f.PSID, "no PSID"), f.FW, f.GUIDs.Text())
}

// changedFlashes compares what the cards of a host have in flash with what they had before
// the drain commands. A restart loads the flash of each of them.
// A drain command is a program of the operator's, and may well burn a card.
func changedFlashes(before, now *inventory.Snapshot) []finding.Finding {
	var found []finding.Finding
	for i := range now.Cards {
		card := &now.Cards[i]
		was, ok := before.Card(card.PCI)
		if !ok || was.Flash == nil || card.Flash == nil || !safety.LoadsAtRestart(card) ||
			was.Flash.Firmware == card.Flash.Firmware && was.Flash.GUIDs == card.Flash.GUIDs {
			continue
		}
		found = append(found, changedFlash(card, " It held "+flashText(*was.Flash)+"."))
	}
	return found
}

func refusal(c cards.Card, g Goal, done string, found []finding.Finding) error {
	if len(found) == 0 {
		return nil
	}
	return &safety.RefusedError{
		What:     "reboot " + c.Host.Name() + " so that card " + c.ID() + " runs " + g.Text,
		Findings: found, Done: done,
	}
}
