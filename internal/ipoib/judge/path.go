package judge

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// session checks that the change does not cut the SSH session. For a P_Key child it
// checks the interface of the port too: networkd reconfigures that one to make a child.
func (c *checker) session() {
	if c.look.Name == "" || c.satisfied() {
		return
	}
	for _, way := range []struct {
		rule *finding.Rule
		uses func(string) []string
	}{{finding.SessionOverInterface, c.look.SessionOver}, {finding.StorageOverInterface, c.look.StorageOver}} {
		for _, name := range []string{c.look.Name, c.look.Parent} {
			if uses := way.uses(name); name != "" && len(uses) > 0 {
				c.path(way.rule.Find("%s of %s carries %s.", name, c.look.Host, strings.Join(uses, " and ")), name)
				break
			}
		}
	}
	c.unknownPaths()
}

// unknownPaths asks for consent for every path that is not known: it may lead over this
// interface.
func (c *checker) unknownPaths() {
	name := c.look.Name
	if why := c.look.WhySessionUnknown(); why != "" {
		f := finding.SessionOverInterface.Find("%s of %s may carry the SSH session: its interfaces are not known: %s.", name,
			c.look.Host, why)
		f.Summary = "Refusing to change an interface that may lead to this host"
		c.path(f, name)
	}
	if hidden := c.look.HiddenRoutes(); len(hidden) > 0 {
		f := finding.SessionOverInterface.Find("%s of %s may carry the default route. What carries that is not known: %s.",
			name, c.look.Host, strings.Join(hidden, "; "))
		f.Summary = "Refusing to change an interface that may lead to this host"
		c.path(f, name)
	}
	if lost := c.look.StorageOfUnknownWay(); len(lost) > 0 {
		f := finding.StorageOverInterface.Find("%s of %s may carry storage of which the interface is not known: %s.", name,
			c.look.Host, strings.Join(lost, ", "))
		f.Summary = "Refusing to change an interface that may carry storage"
		c.path(f, name)
	}
}

// path adds a finding for the consent to the interface or, for a P_Key child, to that
// of its port.
func (c *checker) path(f finding.Finding, name string) {
	want, names := finding.Names(name), c.d.Consent.ManagementPath
	agreed := func(n string) bool { return n != "" && (n == name || n == c.look.Name || n == c.look.Parent) }
	switch {
	case len(names) == 0:
		c.addConsent(f, want, "")
	case slices.ContainsFunc(names, agreed):
		c.addConsent(f, want, want)
	default:
		c.addConsent(f, want, finding.Names(names...))
	}
}
