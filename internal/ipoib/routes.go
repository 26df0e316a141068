package ipoib

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// putBack puts back the routes that others have added, and returns those that it cannot
// put back.
func (c *change) putBack(ctx context.Context, h host.Host) (ended, error) {
	r, err := h.Run(ctx, c.guard().PutBack())
	if err != nil {
		return nil, fmt.Errorf("putting back the routes of others: %w", err)
	}
	return endedOf(string(r.Stdout)), nil
}

// ended is what others had added and a change has ended, by interface.
type ended map[string][]string

// endedOf reads what the host prints: the interface and the route, one a line.
func endedOf(text string) ended {
	all := ended{}
	for line := range strings.Lines(text) {
		name, route, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = append(all[name], route)
	}
	return all
}

// sentences says what ended, a sentence for each interface.
func (e ended) sentences() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		all = append(all, fmt.Sprintf("Routes that others had added to %s ended with the change, and could not be put back: "+
			"%s.", name, strings.Join(e[name], ", ")))
	}
	return all
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
