package hca

import (
	"context"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/linktype"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/nvconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// What waits in a card for a restart.
const (
	WaitsFirmware  = "firmware"
	WaitsGUIDs     = "GUIDs"
	WaitsLinkTypes = "link types"
	WaitsSettings  = "settings"
)

// Written says what jobs of this provider have written to a flash since the host started, and the
// card does not run with. What somebody else has written, nobody has announced.
func Written(l *cards.Look) (all []string) {
	if l.Card == nil || !l.Card.FlashKnown() {
		return nil
	}
	running, known := l.Facts.Running.Get()
	if l.Facts.StagedBy != "" && (!known || running != l.Card.Flash.Firmware) {
		all = append(all, WaitsFirmware)
	}
	flash, now := l.Card.Flash.GUIDs, effective(l)
	inUse := isShown(flash, now) && !differs(flash, now) && !newMACs(l)
	if l.Facts.GUIDsBy != "" && !inUse {
		all = append(all, WaitsGUIDs)
	}
	return all
}

// newMACs reports whether a job has changed the MACs since the host started. An InfiniBand port
// shows none, so only a restart says that they are in use.
func newMACs(l *cards.Look) bool {
	last := l.Jobs.Own().Last(journal.GUIDs)
	before, after := last.GUIDsBefore, last.GUIDsAfter
	return last.ID != "" && last.ID == l.Facts.GUIDsBy && effective(l).MAC1 != after.MAC1 &&
		(before.MAC1 != after.MAC1 || before.MAC2 != after.MAC2)
}

// Waiting says what waits in a card for a restart of its host: what Written says, and the types
// and settings that the card has stored.
func Waiting(ctx context.Context, c cards.Card) ([]string, error) {
	l, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	all := Written(l)
	types, err := linktype.Waiting(ctx, c, nil)
	if types != nil {
		all = append(all, WaitsLinkTypes)
	}
	if err != nil {
		return nil, err
	}
	settings, err := nvconfig.Waiting(ctx, c, nil)
	if settings != nil {
		all = append(all, WaitsSettings)
	}
	return all, err
}

// Activate restarts the host of some cards once, if anything waits in one of them, and proves that
// each runs it. It says what it has done. Errors are those of ApplyFirmware.
func (o *Ops) Activate(ctx context.Context, all []cards.Card, consent []string) (did []string, err error) {
	waits, err := waitsOf(ctx, all, consent)
	if err != nil {
		return nil, err
	}
	return did, activation.RunAll(ctx, o.Session, waits, &did)
}

// Restart is Activate also if nothing waits: each of the cards is proven to have started anew.
func (o *Ops) Restart(ctx context.Context, all []cards.Card) (did []string, err error) {
	waits := make([]activation.Wait, len(all))
	for i, c := range all {
		if waits[i], err = startOf(ctx, c); err != nil {
			return nil, err
		}
	}
	return did, activation.RunAll(ctx, o.Session, waits, &did)
}

// startOf is the next start of a card, with all that waits in it. A person asks for it: that an earlier restart has not
// brought what waits does not forbid it.
func startOf(ctx context.Context, c cards.Card) (w activation.Wait, err error) {
	l, err := c.Look(ctx)
	if err != nil {
		return w, err
	}
	goals, err := goalsOf(ctx, c, nil)
	boot, was := l.Snap.BootID, l.Card.Flash
	w = activation.Wait{Card: c, Goal: together(c, append(goals, activation.Goal{
		Text: "what its flash holds", Written: "Nothing was written to the card",
		Loads: func(now inventory.Flash) bool {
			return was == nil || was.Firmware == now.Firmware && was.GUIDs == now.GUIDs
		},
		Reached: func(l *cards.Look) (bool, bool) { return l.Snap.BootID != boot, true },
	}))}
	w.Goal.New = true
	return w, err
}

// Reset is Activate by resets of the chips, without a restart of the host.
func (o *Ops) Reset(ctx context.Context, all []cards.Card) (did []string, err error) {
	waits, err := waitsOf(ctx, all, nil)
	if err != nil {
		return nil, err
	}
	for _, w := range waits {
		what, err := Waiting(ctx, w.Card)
		if err != nil {
			return nil, err
		}
		why, err := o.AgainstReset(ctx, w.Card, ib.Firmware{}, nil, what)
		if err != nil {
			return nil, err
		}
		if why != "" {
			return nil, activation.RefuseReset(w, why)
		}
	}
	return did, activation.ResetAll(ctx, o.Session, waits, &did)
}

func waitsOf(ctx context.Context, all []cards.Card, consent []string) (waits []activation.Wait, err error) {
	for _, c := range all {
		goals, err := goalsOf(ctx, c, consent)
		if err != nil {
			return nil, err
		}
		if len(goals) > 0 {
			waits = append(waits, activation.Wait{Card: c, Goal: together(c, goals)})
		}
	}
	return waits, nil
}

// AgainstReset says why only a restart of its host makes a card run what waits in it, and what a plan writes before:
// firmware without a PSID and no GUIDs are none. what names what waits. It is empty if a reset of the chip does.
// Errors are those of the host.
func (o *Ops) AgainstReset(ctx context.Context, c cards.Card, to ib.Firmware, guids *ib.GUIDSet,
	what []string) (string, error) {
	l, err := c.Look(ctx)
	if err != nil {
		return "", err
	}
	running, flash := l.Facts.Running.Or(ib.Firmware{}), l.Card.InFlash()
	if to.PSID == "" {
		to = flash.Firmware
	}
	switch {
	// A chip reset below a running kernel would show functions whose BARs do not fit what was given out at boot.
	case slices.Contains(what, WaitsSettings):
		return "settings of a card may need other PCI resources, which only a start of the host gives out", nil
	case running.PSID != "" && to.PSID != "" && running.PSID != to.PSID:
		return "firmware of another PSID may need other PCI resources, which only a start of the host gives out", nil
	case newMACs(l), guids != nil && (guids.MAC1 != flash.GUIDs.MAC1 || guids.MAC2 != flash.GUIDs.MAC2):
		return "an InfiniBand port shows no MAC, so that only a restart proves the new ones", nil
	}
	waits, err := waitsOf(ctx, []cards.Card{c}, nil)
	if err != nil {
		return "", err
	}
	var goal *activation.Goal
	if len(waits) > 0 {
		goal = &waits[0].Goal
	}
	return activation.AgainstReset(ctx, o.Session, c, goal)
}

// goalsOf are those of all that waits in a card.
func goalsOf(ctx context.Context, c cards.Card, consent []string) (goals []activation.Goal, err error) {
	l, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	for _, what := range Written(l) {
		flash := l.Card.Flash
		if what == WaitsFirmware {
			goals = append(goals, firmwareGoal(c, flash.Firmware, consent))
			continue
		}
		g := guidGoal(c, flash.Firmware, flash.GUIDs, consent)
		shown := g.Reached
		g.Reached = func(l *cards.Look) (bool, bool) {
			yes, known := shown(l)
			return yes && !newMACs(l), known
		}
		goals = append(goals, g)
	}
	types, err := linktype.Waiting(ctx, c, consent)
	if types != nil {
		goals = append(goals, *types)
	}
	if err != nil {
		return nil, err
	}
	settings, err := nvconfig.Waiting(ctx, c, consent)
	if settings != nil {
		goals = append(goals, *settings)
	}
	return goals, err
}

// together is reached when all goals of a card are.
func together(c cards.Card, goals []activation.Goal) activation.Goal {
	all := goals[0]
	all.Title = "Card " + c.ID() + " waits for a restart"
	var contents, texts []string
	for _, g := range goals {
		contents, texts = append(contents, g.Content), append(texts, g.Text)
	}
	all.Content, all.Text = strings.Join(contents, " "), strings.Join(texts, ", ")
	all.Loads = func(flash inventory.Flash) bool {
		for _, g := range goals {
			if !g.Loads(flash) {
				return false
			}
		}
		return true
	}
	all.Reached = func(l *cards.Look) (bool, bool) {
		reached, known := true, true
		for _, g := range goals {
			yes, shown := g.Reached(l)
			reached, known = reached && yes, known && shown
		}
		return reached, known
	}
	return all
}
