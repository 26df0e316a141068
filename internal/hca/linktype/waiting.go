package linktype

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Waiting is the goal of types that a card has stored and takes only with a restart, of ports that
// show another one; nil if there are none, or if nobody knows.
func Waiting(ctx context.Context, c cards.Card, consent []string) (*activation.Goal, error) {
	found, err := c.Look(ctx)
	// An mlx4 takes its types at once, so that none waits.
	if err != nil || !decidesItself(found.Card) {
		return nil, err
	}
	l, err := Read(ctx, c)
	if err != nil {
		return nil, err
	}
	types := map[int]ib.LinkType{}
	for number, p := range l.Ports {
		if p.Shown != "" && p.Persistent != "" && p.Persistent != p.Configured {
			types[number] = p.Persistent
		}
	}
	if len(types) == 0 {
		return nil, nil //nolint:nilnil // none waits, and that is no error
	}
	g := linkGoal(c, found.Card.InFlash(), safety.LinkTypeRequest{Ports: types, ManagementPath: consent})
	return &g, nil
}
