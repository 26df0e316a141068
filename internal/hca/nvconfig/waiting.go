package nvconfig

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
)

// Waiting is the goal of settings that this provider has stored in a card and that its next restart loads; nil if
// there are none, or if nobody knows. What only a power cycle loads waits for no restart.
func Waiting(ctx context.Context, c cards.Card, consent []string) (*activation.Goal, error) {
	found, err := c.Look(ctx)
	if err != nil {
		return nil, err
	}
	all, err := readSaved(ctx, c.Host, found.Who)
	if err != nil || len(all) == 0 {
		return nil, err // a card whose settings nobody manages is not asked, which may take long
	}
	l, err := Read(ctx, c)
	if err != nil {
		return nil, err
	}
	q := Request{Host: c.Host.Name(), Card: c.PCI, Settings: map[string]string{}, Consent: consent}
	// A restart was tried for what was set in an earlier boot. Only if all is of this one is none wasted.
	fresh := true
	for _, s := range all {
		if l.awaits(s) {
			q.Settings[s.name], fresh = s.set, fresh && s.waits(l.Boot)
		}
	}
	if len(q.Settings) == 0 {
		return nil, nil //nolint:nilnil // none waits, and that is no error
	}
	g := goal(ctx, c, q, l, true)
	g.New = fresh
	return &g, nil
}

// awaits reports whether the card still has what a note says, and takes it only with a restart.
func (l Look) awaits(s saved) bool {
	row, ok := l.row(s.name)
	switch {
	case !ok || s.since == powerCycle || !row.Next.Is(s.set):
		return false
	case row.Current.Raw != "":
		return !row.Current.Is(s.set)
	}
	return s.waits(l.Boot)
}
