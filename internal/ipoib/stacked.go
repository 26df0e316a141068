package ipoib

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ifupdown"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netplan"
)

// checkStack finds the bond or bridge that has the interface as a part, now or at boot.
func (c *checker) checkStack(n *inventory.Netdev) {
	if n.Master != "" {
		what := ""
		if upper, ok := c.s.Netdev(n.Master); ok && upper.Kind != "" {
			what = " (" + upper.Kind + ")"
			if upper.Kind == "bond" {
				what = " (bond, mode " + upper.Mode + ")"
			}
		}
		c.add(finding.InterfaceInBond.Find("%s of %s is part of %s%s.", n.Name, c.s.Host, n.Master, what))
		return
	}
	for _, line := range stackedBy(c.s, n.Name) {
		c.add(finding.InterfaceInBond.Find("%s of %s: %s.", n.Name, c.s.Host, line))
	}
}

// stackedBy are the lines of unmanaged files that make the interface part of another
// one.
func stackedBy(s *inventory.Snapshot, name string) []string {
	var lines []string
	for _, path := range netplanFiles(s) {
		devices, err := netplan.Parse(s.Files[path].Content)
		if err != nil || isOwnFile(s, path) {
			continue
		}
		for _, d := range devices {
			if slices.Contains(d.Interfaces, name) {
				lines = append(lines, fmt.Sprintf("%s has it in %s of %s", path, d.ID, d.Section))
			}
		}
	}
	for _, path := range append([]string{ifupdown.MainFile}, s.FilesUnder(ifupdown.Dir)...) {
		// unmanagedStanzas names the lines that are not understood.
		f, _ := ifupdown.Parse(s.Files[path].Content)
		for _, z := range f.Stanzas {
			for _, o := range z.Options {
				if slices.Contains(memberOptions, strings.ReplaceAll(o[0], "_", "-")) &&
					slices.Contains(strings.Fields(o[1]), name) {
					lines = append(lines, fmt.Sprintf("%s has it in %s (%s)", path, z.Name, o[0]))
				}
			}
		}
	}
	return lines
}

// memberOptions are how stanzas name the parts of a bond or bridge.
var memberOptions = []string{"bridge-ports", "bond-slaves", "slaves"}

// checkLostAtBoot finds an interface that is as asked now and that nothing configures
// at boot.
func (c *checker) checkLostAtBoot() {
	o, want := c.observed, c.d.Config
	if o.Persisted.Found || len(o.Unmanaged) > 0 || !o.Present || !o.Up || o.Live.Mode != want.Mode ||
		o.Live.MTU != want.MTU || !sameAddresses(o.Live.Addresses, want.Addresses) {
		return
	}
	c.add(finding.InterfaceWouldBeLost.Find("%s of %s has mode %s, MTU %d and %s, and no file brings them back.", o.Name,
		c.s.Host, o.Live.Mode, o.Live.MTU, joinPrefixes(o.Live.Addresses)))
}

// ifupdown2 refuses the releases that cannot read an InfiniBand address.
func (c *checker) ifupdown2() {
	version := c.s.Packages["ifupdown2"]
	switch {
	case c.stack != StackIfupdown2:
		return
	case version == "":
		f := finding.Ifupdown2TooOld.Find("The version of ifupdown2 on %s is not known: it is not among the packages.",
			c.s.Host)
		f.WayOut = "Install ifupdown2 3.0.0 or later as a package of the distribution."
		c.add(f)
		return
	}
	if major, _, _ := strings.Cut(version[strings.Index(version, ":")+1:], "."); major == "1" || major == "2" {
		c.add(finding.Ifupdown2TooOld.Find("%s has ifupdown2 %s.", c.s.Host, version))
	}
}
