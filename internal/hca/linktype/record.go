package linktype

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// noted makes a change and notes it on the host.
func noted(ctx context.Context, o *cards.Session, l Ask, before State,
	do func(context.Context) (State, error)) (State, error) {
	c := changes.Change{ID: rand.Text(), Operator: o.Operator, What: changes.LinkType, Object: l.Card.PCI.String(),
		From: before.words(l.Request.Ports), To: before.wanted(l.Request.Ports)}
	inside, note := changes.Begin(ctx, c)
	now, err := do(inside)
	var warning string
	// Stored and not yet on the wire: a note that says "verified" alone would promise more than was seen.
	if err == nil && (now.Pending || len(now.Unshown()) > 0) {
		warning = note.End(ctx, l.Card.Host, changes.Verified, "from the next restart")
	} else {
		warning = note.Close(ctx, l.Card.Host, err)
	}
	if warning != "" {
		now.Warnings = append(now.Warnings, warning)
	}
	return now, err
}

// words say what the ports are now and after the next boot.
func (s State) words(ports map[int]ib.LinkType) string {
	return words(ports, func(port int) string {
		p := s.Ports[port]
		switch {
		case p.Shown == "" && p.Persistent == "":
			return "unknown"
		case p.Persistent == "" && s.Unanswered == "":
			return p.Shown + " (not stored)"
		case p.Persistent != "" && p.Persistent != p.Configured:
			return cmp.Or(p.Shown, "unknown") + " (" + p.Persistent.String() + " from the next restart)"
		}
		return p.Shown
	})
}

// linkText is "port 1 ib, port 2 eth".
func linkText(types map[int]ib.LinkType) string {
	return words(types, func(port int) string { return types[port].String() })
}

// wanted says what the ports become, and where it is stored if it is not yet.
func (s State) wanted(ports map[int]ib.LinkType) string {
	text := linkText(ports)
	for port, t := range ports {
		if s.Unanswered == "" && s.StoredIn != "" && s.Ports[port].Persistent != t {
			return text + ", stored in " + s.StoredIn
		}
	}
	return text
}

func words(ports map[int]ib.LinkType, of func(port int) string) string {
	all := make([]string, 0, len(ports))
	for _, port := range sortedPorts(ports) {
		all = append(all, fmt.Sprintf("port %d %s", port, of(port)))
	}
	return strings.Join(all, ", ")
}
