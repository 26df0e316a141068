package judge

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
)

// checkAdded tells what of our files ends with the next change: settings that somebody has
// added, which this resource cannot hold.
func (c *checker) checkAdded() {
	for _, a := range c.look.Added {
		c.add(finding.FileEdited.Find("%s of %s: %s. The file is kept as %s.", c.nameNow(), c.look.Host,
			a, path.Base(a.Saved)))
	}
}

// checkHidden names what of the host differs where the state has what is asked for: the plan is
// an update then that shows no changed value. Settings that somebody has added to our files, and
// modules, have findings of their own.
func (c *checker) checkHidden() {
	o := *c.look // what has findings of its own is left out below
	if !c.held || !o.Persisted.Found {
		return
	}
	var lines []string
	for _, path := range o.Missing {
		if !strings.Contains(o.Persisted.Fault, path) && !c.look.IsDirectory(path) {
			lines = append(lines, path+" is not there")
		}
	}
	o.Added, o.NotAtBoot = nil, ""
	if lines = append(lines, o.Differences(c.d.Config)...); len(lines) == 0 {
		return
	}
	c.add(finding.InterfaceDrifts.Find("%s of %s: %s. It is stored in %s.", c.nameNow(), c.look.Host,
		strings.Join(lines, "; "), strings.Join(o.Persisted.Sources, ", ")))
}

// CheckSeen refuses to replace what somebody has given to the interface, or written into a
// definition of it, since it was seen, unless d asks for it.
func CheckSeen(l *found.Look, before found.Seen, d ipoib.Request) []finding.Finding {
	// Three sources, because an address that only moved between interface and file is nobody's new one.
	known := []ipoib.Config{before.Live, before.Stored, d.Config}
	for _, c := range before.Files {
		known = append(known, c)
	}
	var changed []string
	note := func(where string, now ipoib.Config) {
		for _, what := range newIn(now, known) {
			changed = append(changed, where+" "+what)
		}
	}
	note("the interface has", setByHand(l, before))
	if l.Persisted.Found {
		note("its definition in "+strings.Join(l.Persisted.Sources, " and ")+" has", l.Persisted.Config)
	}
	for _, f := range l.Adopted(d) {
		note(f.Path+" has", f.Config)
	}
	changed = append(changed, newSettings(l, before)...)
	return managed.Since(fmt.Sprintf("The plan has not seen this of IPoIB interface %s of %s",
		cmp.Or(l.Name, "port "+d.PortGUID.String()), l.Host), changed...)
}

// setByHand is what only somebody's hand gives to an interface. A lease may be another one at any time. Mode and MTU
// change by themselves where the link goes: NetworkManager puts back what it found, and a restart gives those of the
// driver where nothing is stored. In datagram mode the MTU follows the broadcast group, which has room for
// SafeDatagramMTU.
func setByHand(l *found.Look, before found.Seen) ipoib.Config {
	now := ipoib.Config{Addresses: ipconf.Without(l.Live.Addresses, l.Live.Leased)}
	if !before.Carrier || !l.Live.Carrier {
		return now
	}
	if l.Persisted.Config.Mode != "" {
		now.Mode = l.Live.Mode
	}
	if l.Persisted.Config.MTU != 0 && (l.Live.Mode != ib.ModeDatagram || l.Live.MTU < ipoib.SafeDatagramMTU) {
		now.MTU = l.Live.MTU
	}
	return now
}

// newIn names what of a configuration none of the others has.
func newIn(now ipoib.Config, others []ipoib.Config) []string {
	none := func(has func(ipoib.Config) bool) bool { return !slices.ContainsFunc(others, has) }
	var all []string
	if now.Mode != "" && none(func(c ipoib.Config) bool { return c.Mode == now.Mode }) {
		all = append(all, "mode "+now.Mode.String())
	}
	if now.MTU != 0 && none(func(c ipoib.Config) bool { return c.MTU == now.MTU }) {
		all = append(all, fmt.Sprintf("MTU %d", now.MTU))
	}
	for _, a := range now.Addresses {
		if none(func(c ipoib.Config) bool { return slices.Contains(c.Addresses, a) }) {
			all = append(all, "address "+a.String())
		}
	}
	for _, r := range now.Routes {
		if none(func(c ipoib.Config) bool { return len(ipconf.Without([]ipoib.Route{r}, c.Routes)) == 0 }) {
			all = append(all, "route "+r.String())
		}
	}
	return all
}

// newSettings are those of our files that were not there before.
func newSettings(l *found.Look, before found.Seen) (all []string) {
	for _, a := range l.Added {
		keys := a.Keys()
		var added []tool.Setting
		for i, s := range a.Settings {
			if !slices.Contains(before.Added, keys[i]) {
				added = append(added, s)
			}
		}
		if len(added) > 0 {
			all = append(all, found.Added{Path: a.Path, Settings: added}.String())
		}
	}
	return all
}

// checkUndone tells what became of an earlier change that is not put away.
func (c *checker) checkUndone() {
	switch c.look.Undone {
	case "":
	case found.UndoWaits:
		c.add(finding.NetworkChangeUnconfirmed.Find("%s: it is not undone yet. The host does that by itself, within two "+
			"minutes of that change or at its next start. The apply does that first, and then makes what is configured.",
			c.look.Host).WithWayOut("If another apply is at work on this interface, wait for its end. Find out what cut the " +
			"connection before you apply the same change again."))
	case found.UndoRuns:
		c.add(finding.NetworkChangeUnconfirmed.Find("%s: the host undoes it now.", c.look.Host).WithWayOut(
			"Wait two minutes and plan again: this plan may show what the host takes back. Then find out what cut the " +
				"connection, before you apply the same change again."))
	case found.UndoFails:
		g := netundo.Guard{ID: c.look.ID()}
		c.add(finding.NetworkChangeUnconfirmed.Find("%s: the host began to undo it and could not put back every file. What "+
			"they held is kept in %s/files.", c.look.Host, g.Dir()).WithWayOut(fmt.Sprintf("Find the reason in the journal of "+
			"the host (journalctl -u %s), such as a full disk, and remove it. Then apply: an apply that changes this "+
			"interface finishes the undo first. The host tries again at its next start, too.", g.Unit())))
	case found.UndoNever:
		c.add(finding.ConfirmedChangeLeft.Find("%s: %s is still there.", c.look.Host,
			netundo.Guard{ID: c.look.ID()}.Dir()))
	default:
		c.add(finding.NetworkChangeUnconfirmed.Find("%s: it was undone %s. The next change puts away what is left of it.",
			c.look.Host, c.look.Undone).WithWayOut("Find out what cut the connection before you apply the same change again."))
	}
}
