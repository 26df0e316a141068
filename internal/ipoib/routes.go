package ipoib

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// putBack puts back what others have added to the network, and returns what it cannot put
// back.
func (c *change) putBack(ctx context.Context, h host.Host) (ended, error) {
	r, err := h.Run(ctx, c.guard().PutBack())
	if err != nil {
		return nil, fmt.Errorf("putting back what others have added: %w", err)
	}
	return endedOf(string(r.Stdout)), nil
}

// kept is a kind of what others add to an interface; policy rules are of none.
type kept struct{ kind, name string }

func (k kept) String() string {
	switch k.kind {
	case "rules":
		return "Policy rules that others had added"
	case "nexthops":
		return "Nexthop objects that others had added to " + k.name
	case "neighbours":
		return "Permanent neighbours that others had added to " + k.name
	}
	return "Routes that others had added to " + k.name
}

// ended is what others had added and a change has ended.
type ended map[kept][]string

// endedOf reads what the host prints: the kind, the interface and the text, one a line.
func endedOf(text string) ended {
	all := ended{}
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, what, _ := strings.Cut(rest, " ")
		all[kept{kind, name}] = append(all[kept{kind, name}], what)
	}
	return all
}

// sentences says what ended.
func (e ended) sentences() []string {
	var all []string
	for k, what := range e {
		all = append(all, fmt.Sprintf("%s ended with the change, and could not be put back: %s.", k,
			strings.Join(what, ", ")))
	}
	slices.Sort(all)
	return all
}

// isRules reports whether a setting of a definition is policy rules, as netplan and networkd
// name them.
func isRules(setting string) bool {
	return strings.Contains(setting, "routing-policy") || strings.Contains(setting, "RoutingPolicyRule")
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
