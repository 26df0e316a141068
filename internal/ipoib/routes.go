package ipoib

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// putBack puts back the routes that others have added, and returns those that it cannot
// put back.
func (c *change) putBack(ctx context.Context, h host.Host) ([]string, error) {
	if !c.before.Present {
		return nil, nil
	}
	r, err := h.Run(ctx, c.guard().PutBack())
	if err != nil {
		return nil, fmt.Errorf("putting back the routes of others: %w", err)
	}
	return strings.FieldsFunc(string(r.Stdout), func(c rune) bool { return c == '\n' }), nil
}

// oldRoutes are the live routes that our files, or those that are taken over, have set
// and want does not hold.
func (c *change) oldRoutes(want Config) []ipconf.Route {
	ours := c.before.Persisted.Config.Routes
	for _, f := range c.taken {
		ours = slices.Concat(ours, routesWithout(f.Config.Routes, ours))
	}
	return routesWithout(routesWithout(ours, routesWithout(ours, c.before.Live.Routes)), want.Routes)
}

func routesWithout(all, drop []ipconf.Route) []ipconf.Route {
	return slices.DeleteFunc(slices.Clone(all), func(r ipconf.Route) bool { return slices.Contains(drop, r) })
}
