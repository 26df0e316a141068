package ipoib

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Unmanaged is a definition for the interface that this provider did not write.
type Unmanaged struct {
	Line string // what it is, as messages say it
	// Path is the file that could be taken over, if Obstacle is empty.
	Path string
	// Obstacle says why it cannot be taken over, and how to change that; empty if it can.
	Obstacle string
	// Config is what the file says of the interface.
	Config Config
	// Unkept are the settings that our definition will not have.
	Unkept []string
	// Saved is where the file is kept once it is taken over.
	Saved string

	// earlier is the interface of a file of ours whose port the host does not have any more.
	earlier Place
	// Awaited is such a file that may match the interface once that has a name. Until then
	// nothing is refused for it: a resource of this plan may keep it right, or remove it.
	Awaited bool

	id string // of a definition of netplan; the UUID of a profile of NetworkManager
}

// Adoptable reports whether the definition can be taken over.
func (f Unmanaged) Adoptable() bool { return f.Path != "" && f.Obstacle == "" }

func lines(all []Unmanaged) []string {
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = f.Line
	}
	return texts
}

// definition is a file of the host's own network stack that defines an interface.
func definition(t target, at, line string, i ipconf.Interface) Unmanaged {
	return Unmanaged{Line: line, Path: at, Saved: savedPath(t, at), Config: readBack(i)}
}

// ofOtherStack is a definition that the host's network stack does not read. It is to be
// removed, not to be taken over.
func (f Unmanaged) ofOtherStack() Unmanaged { return Unmanaged{Line: f.Line, earlier: f.earlier} }

// savedPath is where a file that was taken over is kept: beside it, under a name that
// no network stack reads. All stacks skip hidden files, and netplan, networkd and
// NetworkManager skip the ending.
func savedPath(t target, at string) string {
	dir, base := path.Split(at)
	return dir + "." + base + savedEnd(t)
}

func savedEnd(t target) string { return ".before-infiniband-" + t.id() }

// The obstacles that files of several network stacks share. Each says what to do.
func writtenBy(program, at string) string {
	return fmt.Sprintf("%s is not a file of an administrator: %s writes it, and would write it again. Take the interface "+
		"out of what that program writes.", at, program)
}

func sharedWith(at, others, apart string) string {
	return fmt.Sprintf("%s also has %s. Move the definition of this interface to a file of its own, such as %s, "+
		"then plan again.", at, others, apart)
}

func nameTaken(saved string) string {
	return fmt.Sprintf("%s is there already, from an earlier takeover, and may be the only copy. Move that file away, "+
		"then plan again.", saved)
}

func matchesMore(at, how, instead string) string {
	return fmt.Sprintf("%s is for every interface that fits %s. Write a definition of this interface alone, %s, in a "+
		"file of its own, and keep the other from fitting it. Then plan again.", at, how, instead)
}

const (
	byDHCP = "It gets its addresses by DHCP, and this resource sets fixed ones. Give it fixed addresses in that file " +
		"first, and take them into use."
	notUnderstood = "A part of the file is not understood. Mend it, or remove the interface from it."
)

// adoptedDefinitions are the definitions that d allows to take over.
func adoptedDefinitions(o Observation, d Request) []Unmanaged {
	var all []Unmanaged
	for _, f := range o.Unmanaged {
		if f.Adoptable() && slices.Contains(d.Consent.AdoptFiles, f.Path) {
			all = append(all, f)
		}
	}
	return all
}

// ToDo reports whether an apply of d would change something on the host, or has to see whether
// what it has holds.
func ToDo(s *inventory.Snapshot, d Request) bool {
	o := Observe(s, d.PortGUID, d.PKey)
	return !o.Satisfies(d.Config) || len(adoptedDefinitions(o, d)) > 0 || o.leftovers() || rollbackDue(s)
}

// checkUnmanaged finds what others configured: what can be taken over asks consent, and names
// the file.
func (c *checker) checkUnmanaged() {
	var paths []string
	for _, f := range c.observed.Unmanaged {
		if f.Adoptable() {
			paths = append(paths, f.Path)
		}
	}
	if len(c.observed.Unmanaged) == 0 && !c.observed.Persisted.Found {
		c.settingsThatEnd(Unmanaged{}) // nobody's file gives the interface what it has
	}
	for _, f := range c.observed.Unmanaged {
		if f.Adoptable() {
			c.adoptable(f, finding.Names(paths...))
		} else {
			c.add(c.inTheWay(f))
		}
	}
}

// evidence says what a definition is, and if its file has our name but not our first line.
func (c *checker) evidence(f Unmanaged) string {
	text := fmt.Sprintf("%s of %s: %s.", c.nameNow(), c.s.Host, f.Line)
	if isOwnPath(c.target(), f.Path) && !isOwnFile(c.s, f.Path) {
		text += " Terraform wrote a file of this name. The comment that says so is gone from it: netplan set and " +
			"other programs write a file anew without comments."
	}
	return text
}

// inTheWay is the finding on a definition that cannot be taken over.
func (c *checker) inTheWay(f Unmanaged) finding.Finding {
	found := finding.InterfaceConfiguredElsewhere.Find("%s", c.evidence(f))
	switch {
	case f.Awaited:
		found.Severity, found.Summary = finding.Warn, "A file of an earlier port may configure the interface"
		return found.WithWayOut("The apply looks again when the interface is there, before it changes anything, and " +
			"refuses if the file matches. If no resource has that interface any more, remove the file.")
	case isOwnPath(c.target(), f.Path) && !isOwnFile(c.s, f.Path):
		return finding.InterfaceFileReplaced.Find("%s of %s: %s.", c.nameNow(), c.s.Host, f.Line).
			WithWayOut("Put what is wanted of it into this resource, and move " + f.Path + " away. Then apply: the apply " +
				"writes the file anew.")
	case f.Obstacle != "":
		return found.WithWayOut("It cannot be taken over as it is. " + f.Obstacle)
	}
	return found
}

// adoptable asks consent for a definition that can be taken over. all are the files that can.
func (c *checker) adoptable(f Unmanaged, all string) {
	found, given := finding.InterfaceDefinedByHand.Find("%s %s", c.evidence(f), c.outcome(f)), ""
	if names := c.d.Consent.AdoptFiles; slices.Contains(names, f.Path) {
		found.Summary = "A definition made by hand is taken over"
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
	for _, f := range c.observed.stay() {
		c.add(finding.DefinitionStays.Find("%s of %s: %s.", c.nameNow(), c.s.Host, f.Line))
	}
}

// DefinedElsewhere reports whether others define the interface for the host's network stack.
func (o Observation) DefinedElsewhere() bool { return len(o.stay()) > 0 }

// stay are the files of the host's own network stack that others have written.
func (o Observation) stay() []Unmanaged {
	return slices.DeleteFunc(slices.Clone(o.Unmanaged), func(f Unmanaged) bool { return f.Path == "" })
}

// settingsThatEnd asks consent for what of a file and of the interface ours will not have. The
// consent names each thing: what somebody adds after the plan is not in it.
func (c *checker) settingsThatEnd(f Unmanaged) {
	file, live := c.endings(f)
	if len(file)+len(live) == 0 {
		return
	}
	var said []string
	if len(file) > 0 {
		said = append(said, f.Path+" also sets "+strings.Join(file, ", "))
	}
	switch {
	case len(live) > 0 && f.Path == "":
		said = append(said, "somebody has given it "+strings.Join(live, ", ")+", and no file does")
	case len(live) > 0:
		said = append(said, "the interface also has "+strings.Join(live, ", "))
	}
	found := finding.DefinitionLosesSettings.Find("%s of %s: %s.", c.nameNow(), c.s.Host,
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

// endings are the settings, addresses and routes of a file, and the addresses of the interface
// besides, that ours will not have and that no plan shows to end.
func (c *checker) endings(f Unmanaged) (file, live []string) {
	file = slices.Clone(f.Unkept)
	for _, a := range f.Config.Addresses {
		if !slices.Contains(c.d.Config.Addresses, a) {
			file = append(file, a.String())
		}
	}
	for _, r := range routesWithout(f.Config.Routes, c.d.Config.Routes) {
		file = append(file, r.String())
	}
	n, _ := c.s.Netdev(c.observed.Name)
	for _, a := range c.observed.Live.Addresses {
		kept := slices.Contains(c.d.Config.Addresses, a) || slices.Contains(f.Config.Addresses, a)
		if leased := n != nil && n.Dynamic[a]; !kept && !leased {
			live = append(live, a.String())
		}
	}
	shown := func(s string) bool { return slices.Contains(c.d.Consent.Shown, s) }
	return slices.DeleteFunc(file, shown), slices.DeleteFunc(live, shown)
}

// unkept is what ends with all files that can be taken over.
func (c *checker) unkept() []string {
	var all []string
	if len(c.observed.Unmanaged) == 0 {
		_, all = c.endings(Unmanaged{})
	}
	for _, f := range c.observed.Unmanaged {
		if f.Adoptable() {
			file, live := c.endings(f)
			all = slices.Concat(all, file, live)
		}
	}
	return unique(all)
}

// outcome says what becomes of a definition that is taken over.
func (c *checker) outcome(f Unmanaged) string {
	own := backendOf(c.stack, c.target()).files(c.target(), c.d.Config)[0].path
	text := fmt.Sprintf("The apply keeps that file as %s and writes %s.", f.Saved, own)
	o := c.observed
	if c.portUnknown || o.liveDiffers(c.d.Config) {
		return text + " What the interface has and what is asked differ, so that it is configured anew."
	}
	text += " Mode, MTU, addresses and routes are as asked already: "
	if why := anew(c.s, o, f, c.d.Config); why != "" {
		return text + "but " + why + ", so that the interface is configured anew. It may be without its addresses for a " +
			"moment."
	}
	return text + "nothing changes on the interface."
}

// liveDiffers reports whether the interface is not as want says now.
func (o Observation) liveDiffers(want Config) bool {
	return !o.Present || !o.OtherGUID.IsZero() || live{Config: o.Live, Up: o.Up}.difference(want) != ""
}
