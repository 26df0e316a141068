package judge

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
)

// session checks that the change does not cut the SSH session, by whichever interface it touches.
func (c *checker) session() {
	// An interface that stays as it is cuts nothing off.
	if c.look.Name == "" || c.satisfied() {
		return
	}
	for _, way := range []struct {
		rule *finding.Rule
		uses func(string) []string
	}{{finding.SessionOverInterface, c.look.SessionOver}, {finding.StorageOverInterface, c.look.StorageOver}} {
		for _, name := range names(c.look) {
			if uses := way.uses(name); len(uses) > 0 {
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
	// A consent to the parent covers its children: they go down with it.
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

// names are the interfaces that a change touches: for a P_Key child also that of its port, which networkd
// reconfigures to make it, and for a bond its ports.
func names(l *found.Look) []string {
	all := []string{l.Name, l.Parent}
	for _, p := range l.Ports {
		all = append(all, p.Name())
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}
