package change

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
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
