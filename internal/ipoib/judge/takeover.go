package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// checkUnmanaged finds what others configured: what can be taken over asks consent, and names
// the file.
func (c *checker) checkUnmanaged() {
	var paths []string
	for _, f := range c.look.Unmanaged {
		if f.Adoptable() {
			paths = append(paths, f.Path)
		}
	}
	// Addresses that somebody gave by hand end as surely as those of a file.
	if len(c.look.Unmanaged) == 0 && !c.look.Persisted.Found {
		c.settingsThatEnd(found.Unmanaged{}) // nobody's file gives the interface what it has
	}
	for _, f := range c.look.Unmanaged {
		if f.Adoptable() {
			c.adoptable(f, finding.Names(paths...))
		} else {
			c.add(c.inTheWay(f))
		}
	}
}

// evidence says what a definition is, and if its file has our name but not our first line.
func (c *checker) evidence(f found.Unmanaged) string {
	text := fmt.Sprintf("%s of %s: %s.", c.nameNow(), c.look.Host, f.Line)
	if f.LostMark {
		text += " Terraform wrote a file of this name. The comment that says so is gone from it: netplan set and " +
			"other programs write a file anew without comments."
	}
	return text
}

// inTheWay is the finding on a definition that cannot be taken over.
func (c *checker) inTheWay(f found.Unmanaged) finding.Finding {
	found := finding.InterfaceConfiguredElsewhere.Find("%s", c.evidence(f))
	switch {
	case f.Awaited:
		found.Severity, found.Summary = finding.Warn, "A file of an earlier port may configure the interface"
		return found.WithWayOut("The apply looks again when the interface is there, before it changes anything, and " +
			"refuses if the file matches. If no resource has that interface any more, remove the file.")
	case f.LostMark:
		return finding.FileUnmanaged.Find("%s of %s: %s.", c.nameNow(), c.look.Host, f.Line).
			WithWayOut("Put what is wanted of it into this resource, and move " + f.Path + " away. Then plan again.")
	case f.Obstacle != "":
		return found.WithWayOut("It cannot be taken over as it is. " + f.Obstacle)
	}
	return found
}

// adoptable asks consent for a definition that can be taken over. all are the files that can.
func (c *checker) adoptable(f found.Unmanaged, all string) {
	found, given := finding.InterfaceDefinedByHand.Find("%s %s", c.evidence(f), c.outcome(f)), ""
	if names := c.d.Consent.AdoptFiles; slices.Contains(names, f.Path) {
		found.Summary = "A definition made by hand is taken over"
		// The line to write stays that of all files, so that one consent does not replace another.
		given = all
	} else if len(names) > 0 {
		given = finding.Names(names...)
	}
	c.addConsent(found, all, given)
	c.settingsThatEnd(f)
}

// checkStays names the definitions of others, by which the interface is configured after a
// removal.
func (c *checker) checkStays() {
	for _, f := range c.look.Staying() {
		c.add(finding.DefinitionStays.Find("%s of %s: %s.", c.nameNow(), c.look.Host, f.Line))
	}
}

// settingsThatEnd asks consent for what of a file and of the interface ours will not have. The
// consent names each thing: what somebody adds after the plan is not in it.
func (c *checker) settingsThatEnd(f found.Unmanaged) {
	file, live := c.endings(f)
	if len(file)+len(live) == 0 {
		return
	}
	var said []string
	if len(file) > 0 {
		said = append(said, f.Path+" also sets "+strings.Join(inLines(file, f.UnkeptLines), ", "))
	}
	switch {
	case len(live) > 0 && f.Path == "":
		said = append(said, "somebody has given it "+strings.Join(live, ", ")+", and no file does")
	case len(live) > 0:
		said = append(said, "the interface also has "+strings.Join(live, ", "))
	}
	found := finding.DefinitionLosesSettings.Find("%s of %s: %s.", c.nameNow(), c.look.Host,
		strings.Join(said, "; "))
	want, given := finding.Names(c.unkept()...), ""
	names := c.d.Consent.AdoptWithout
	switch unnamed := slices.ContainsFunc(slices.Concat(file, live), func(s string) bool {
		return !slices.Contains(names, s)
	}); {
	case !unnamed:
		found.Summary = "Settings of a definition made by hand end"
		given = want
	case len(names) > 0:
		given = finding.Names(names...)
	}
	c.addConsent(found, want, given)
}

// inLines adds to settings the lines in which they stand.
func inLines(names []string, lines map[string][]int) []string {
	all := slices.Clone(names)
	for i, name := range names {
		if n := len(lines[name]); n > 0 {
			word := "line "
			if n > 1 {
				word = "lines "
			}
			all[i] += " (" + word + strings.Trim(strings.ReplaceAll(fmt.Sprint(lines[name]), " ", ", "), "[]") + ")"
		}
	}
	return all
}

// endings are the settings, addresses and routes of a file, and the addresses of the interface
// besides, that ours will not have and that no plan shows to end.
func (c *checker) endings(f found.Unmanaged) (file, live []string) {
	file = slices.Clone(f.Unkept)
	for _, a := range f.Config.Addresses {
		if !slices.Contains(c.d.Config.Addresses, a) {
			file = append(file, a.String())
		}
	}
	for _, r := range ipconf.Without(f.Config.Routes, c.d.Config.Routes) {
		file = append(file, r.String())
	}
	for _, a := range c.look.Live.Addresses {
		kept := slices.Contains(c.d.Config.Addresses, a) || slices.Contains(f.Config.Addresses, a)
		if !kept && !c.look.IsLeased(a) {
			live = append(live, a.String())
		}
	}
	// What the plan shows to end, as an address that was in the state, needs no second word.
	shown := func(s string) bool { return slices.Contains(c.d.Consent.Shown, s) }
	return slices.DeleteFunc(file, shown), slices.DeleteFunc(live, shown)
}

// unkept is what ends with all files that can be taken over.
func (c *checker) unkept() []string {
	var all []string
	if len(c.look.Unmanaged) == 0 {
		_, all = c.endings(found.Unmanaged{})
	}
	for _, f := range c.look.Unmanaged {
		if f.Adoptable() {
			file, live := c.endings(f)
			all = slices.Concat(all, file, live)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// outcome says what becomes of a definition that is taken over.
func (c *checker) outcome(f found.Unmanaged) string {
	own := c.look.MainPath(c.d.Config)
	text := fmt.Sprintf("The apply keeps that file as %s and writes %s.", f.Saved, own)
	o := c.look
	if c.portUnknown || o.LiveDiffers(c.d.Config) {
		return text + " What the interface has and what is asked differ, so that it is configured anew."
	}
	text += " Mode, MTU, addresses and routes are as asked already: "
	if why := o.Reconfigures(f, c.d.Config); why != "" {
		return text + "but " + why + ", so that the interface is configured anew. It may be without its addresses for a " +
			"moment."
	}
	return text + "nothing changes on the interface."
}
