package ipoib

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// checkHidden names what of the host differs where the state has what is asked for: the plan is
// an update then that shows no changed value. Settings that somebody has added to our files, and
// modules, have findings of their own.
func (c *checker) checkHidden() {
	o := c.observed
	if !c.held || !o.Persisted.Found {
		return
	}
	var lines []string
	for _, path := range o.Missing {
		if !strings.Contains(o.Persisted.Fault, path) && !c.s.Directories[path] {
			lines = append(lines, path+" is not there")
		}
	}
	o.Added, o.NotAtBoot = nil, ""
	if lines = append(lines, o.Differences(c.d.Config)...); len(lines) == 0 {
		return
	}
	c.add(finding.InterfaceDrifts.Find("%s of %s: %s. It is stored in %s.", c.nameNow(), c.s.Host,
		strings.Join(lines, "; "), strings.Join(o.Persisted.Sources, ", ")))
}
