package ipoib

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// session checks that the change does not cut the SSH session. For a P_Key child it
// checks the interface of the port too: networkd reconfigures that one to make a child.
func (c *checker) session() {
	if c.observed.Name == "" || c.satisfied() {
		return
	}
	for _, look := range []struct {
		rule *finding.Rule
		uses func(*inventory.Snapshot, string) []string
	}{{finding.SessionOverInterface, sessionsOver}, {finding.StorageOverInterface, storageOver}} {
		for _, name := range []string{c.observed.Name, c.observed.Parent} {
			if uses := look.uses(c.s, name); name != "" && len(uses) > 0 {
				c.path(look.rule.Find("%s of %s carries %s.", name, c.s.Host, strings.Join(uses, " and ")), name)
				break
			}
		}
	}
	c.unknownPaths()
}

// unknownPaths asks for consent for every path that is not known: it may lead over this
// interface.
func (c *checker) unknownPaths() {
	name := c.observed.Name
	if devs := c.s.SSH.Devs; !devs.Known() {
		f := finding.SessionOverInterface.Find("%s of %s may carry the SSH session: its interfaces are not known: %s.", name,
			c.s.Host, devs.Why())
		f.Summary = "Refusing to change an interface that may lead to this host"
		c.path(f, name)
	}
	if hidden := c.s.HiddenRoutes(); len(hidden) > 0 {
		f := finding.SessionOverInterface.Find("%s of %s may carry the default route. What carries that is not known: %s.",
			name, c.s.Host, strings.Join(hidden, "; "))
		f.Summary = "Refusing to change an interface that may lead to this host"
		c.path(f, name)
	}
	var lost []string
	for _, st := range c.s.Storage {
		if !st.Dev.Known() {
			lost = append(lost, fmt.Sprintf("%s %s (%s)", st.Kind, st.What, st.Dev.Why()))
		}
	}
	if len(lost) > 0 {
		f := finding.StorageOverInterface.Find("%s of %s may carry storage of which the interface is not known: %s.", name,
			c.s.Host, strings.Join(lost, ", "))
		f.Summary = "Refusing to change an interface that may carry storage"
		c.path(f, name)
	}
}

// path adds a finding for the consent to the interface or, for a P_Key child, to that
// of its port.
func (c *checker) path(f finding.Finding, name string) {
	want, names := finding.Names(name), c.d.Consent.ManagementPath
	agreed := func(n string) bool { return n != "" && (n == name || n == c.observed.Name || n == c.observed.Parent) }
	switch {
	case len(names) == 0:
		c.addConsent(f, want, "")
	case slices.ContainsFunc(names, agreed):
		c.addConsent(f, want, want)
	default:
		c.addConsent(f, want, finding.Names(names...))
	}
}

// over says how a path by dev uses the interface; ok is false if it does not.
func over(s *inventory.Snapshot, dev, name string) (by string, ok bool) {
	switch {
	case dev == name:
		return "", true
	case slices.Contains(s.Below(dev), name):
		return ", by " + dev + " above it", true
	}
	return "", false
}

func sessionsOver(s *inventory.Snapshot, name string) []string {
	var uses []string
	for _, dev := range s.SSH.Devs.Or(nil) {
		if by, ok := over(s, dev, name); ok {
			uses = append(uses, "the SSH session from "+s.SSH.Client+by)
		}
	}
	for _, dev := range s.Routes.Devs() {
		if by, ok := over(s, dev, name); ok {
			uses = append(uses, "the default route"+by)
		}
	}
	return uses
}

func storageOver(s *inventory.Snapshot, name string) []string {
	var uses []string
	for _, st := range s.Storage {
		if by, ok := over(s, st.Dev.Or(""), name); ok {
			what := st.Kind + " " + st.What
			if st.Where != "" {
				what += " on " + st.Where
			}
			uses = append(uses, what+by)
		}
	}
	return uses
}

// addName is addConsent for the name of an interface.
func (c *checker) addName(f finding.Finding, want, given string) {
	if given != "" {
		given = strconv.Quote(given)
	}
	c.addConsent(f, strconv.Quote(want), given)
}

// addConsent adds a finding that the right value of the consent turns into a warning. A
// value for another interface is told. Values are as the configuration writes them; an
// empty one was not given.
func (c *checker) addConsent(f finding.Finding, want, given string) {
	attribute := f.Rule.ConsentAttribute
	switch given {
	case want:
		f.Severity, f.WayOut = finding.Warn, "Allowed by "+attribute+"."
	case "":
		f.Consent = f.Rule.ConsentLine(want)
		f.WayOut = strings.TrimSpace(f.WayOut + " If you accept that, add:")
	default:
		f.Evidence += fmt.Sprintf(" %s names %s instead.", attribute, given)
		f.Consent = f.Rule.ConsentLine(want)
		f.WayOut = strings.TrimSpace(f.WayOut + " If you accept that, change it to:")
	}
	c.add(f)
}
