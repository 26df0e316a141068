package judge

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
)

// checker collects the findings on one request.
type checker struct {
	look        *found.Look
	d           ipoib.Request
	portUnknown bool   // which port it will be is not known yet
	held        bool   // the state has what is asked for
	former      string // the bond of this resource that goes before, see PlanFacts
	found       []finding.Finding
}

func (c *checker) add(f finding.Finding) { c.found = append(c.found, f) }

// nameNow is what messages call the interface.
func (c *checker) nameNow() string { return cmp.Or(c.look.Name, "The interface") }

// satisfied reports whether there is nothing to change.
// Most findings about the way of a change are none where nothing changes.
func (c *checker) satisfied() bool {
	if c.portUnknown {
		return c.look.InPlace(c.d)
	}
	return c.look.Satisfies(c.d.Config)
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
	f = f.WithConsent(f.Rule.ConsentLine(want))
	switch given {
	case want:
		f.Severity, f.WayOut = finding.Warn, "Allowed by "+f.Rule.ConsentName()+"."
	case "":
		f.WayOut = strings.TrimSpace(f.WayOut + " If you accept that, write into the resource:")
	default:
		f.Evidence += fmt.Sprintf(" %s names %s instead.", f.Rule.ConsentName(), given)
		f.WayOut = strings.TrimSpace(f.WayOut + " If you accept that, change it to:")
	}
	c.add(f)
}
