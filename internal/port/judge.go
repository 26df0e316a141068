package port

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// PlanFacts is what other resources of the same plan do before this one is applied.
type PlanFacts struct {
	// InfiniBand is true if a resource of this plan makes the port InfiniBand.
	InfiniBand bool
	// Ethernet is true if a resource of this plan makes the port Ethernet.
	Ethernet bool
	// Waits is true if the port becomes InfiniBand with a restart that is not planned.
	Waits bool
	// Restarts is true if the card will use the GUIDs in its flash.
	Restarts bool
}

// Check gives the findings against d on this host. o is what Observe gave, with Link
// where speeds or widths are asked for and could be read.
func Check(s *inventory.Snapshot, d Request, o Observation, p PlanFacts) []finding.Finding {
	plat, err := platform.Of(s)
	if err != nil {
		return []finding.Finding{finding.PortUnsupported.Find("%v.", err)}
	}
	if o.NoTool != "" && len(plat.PackagesFor(platform.FeatureDiagnostics, s.OS.Kernel)) == 0 {
		return []finding.Finding{finding.PortUnsupported.Find("%s runs %s: %s.", s.Host, plat.Name(), o.NoTool)}
	}
	found := platform.CheckFiles(s, UnitPath(d.Card, d.Number), scriptPath)
	absent, there := portThere(s, d, o, p)
	if !there {
		return append(found, absent...)
	}
	found = append(found, platform.CheckEdits(o.host, o.Edits)...)
	found = append(found, platform.CheckBoot(s, o.NotAtBoot)...)
	found = append(found, checkSupported(d, o)...)
	if o.Unread != "" {
		found = append(found, finding.PortLinkUnread.Find("%s is %s: %s", d.Name(), o.states(), o.Unread))
	}
	if on := o.Enabled(); !on.Known() {
		found = append(found, finding.PortEnabledUnread.Find("%s is %s: %s.", d.Name(), o.State, on.Why()))
	}
	// What follows is about an apply, and there is none.
	if len(o.Differences(d)) == 0 {
		return found
	}
	if len(o.Packages) > 0 {
		found = append(found, platform.CheckInstall(s, s.Host+" has no ibportstate")...)
	}
	if o.name == (cardName{}) && !p.Restarts {
		found = append(found, undecidedCard(s, d))
	}
	if interrupts(d, o) {
		found = append(found, users(s, d, o)...)
	}
	return found
}

// undecidedCard is the finding on a card of which a boot could not tell whether it is the one to set.
func undecidedCard(s *inventory.Snapshot, d Request) finding.Finding {
	why, guid := "", ib.GUID(0)
	if card, ok := s.Card(d.Card); ok {
		why, guid = cmp.Or(card.Serial.Why(), "it is "+card.Serial.Or("")), card.NodeGUID
	}
	return finding.CardUndecided.Find("A boot sets a port only if the card in the slot is the right one. %s of %s "+
		"shows no serial number that tells it from others (%s), and its node GUID %s is not that of one card alone.",
		d.Card, s.Host, why, guid).WithWayOut("Install pciutils, for the serial number. If the card has none, set its " +
		"GUIDs with infiniband_guids and restart the host.")
}

// portThere reports whether the port can be set, and says why not.
func portThere(s *inventory.Snapshot, d Request, o Observation, p PlanFacts) (found []finding.Finding, there bool) {
	var f finding.Finding
	switch {
	case (!o.Present || o.LinkLayer == "Ethernet") && p.InfiniBand:
		return nil, false // another resource of this plan makes the port; the apply checks it then
	case !o.Present:
		f = finding.PortUnknown.Find("Card %s of %s shows no port %d.%s", d.Card, s.Host, d.Number, portsOf(s, d))
	case o.LinkLayer == "Ethernet":
		f = finding.PortEthernet.Find("Port %d of card %s has link layer Ethernet.", d.Number, d.Card)
		if p.Waits {
			f = f.BeforeRestart()
		}
	case p.Ethernet:
		f = finding.PortEthernet.Find("This plan makes port %d of card %s Ethernet.", d.Number, d.Card)
	default:
		return nil, true
	}
	return []finding.Finding{f.At("port")}, false
}

func portsOf(s *inventory.Snapshot, d Request) string {
	card, ok := s.Card(d.Card)
	if !ok {
		return " The card is not there."
	}
	var ports []string
	for _, p := range card.Ports {
		if p.State != "" {
			ports = append(ports, fmt.Sprintf("%d (%s)", p.Number, p.LinkLayer))
		}
	}
	if len(ports) == 0 {
		return fmt.Sprintf(" It has no RDMA port at all; driver: %s.", cmp.Or(card.Driver, "none"))
	}
	return " Its ports are " + strings.Join(ports, ", ") + "."
}

func checkSupported(d Request, o Observation) []finding.Finding {
	if o.Link == nil {
		return nil
	}
	var found []finding.Finding
	if more := d.Speeds &^ o.Link.SpeedsSupported; more != 0 {
		found = append(found, finding.PortSpeedUnsupported.Find("speeds: %s supports %s, and not %s.", d.Name(),
			o.Link.SpeedsSupported, more))
	}
	if more := d.Widths &^ o.Link.WidthsSupported; more != 0 {
		f := finding.PortSpeedUnsupported.Find("widths: %s supports %s, and not %s.", d.Name(), o.Link.WidthsSupported, more)
		f.Attribute = "widths"
		found = append(found, f)
	}
	return found
}

// interrupts reports whether d takes away a link that may be in use. Enabling a port that is
// enabled has its link train anew.
func interrupts(d Request, o Observation) bool {
	switch on, known := o.Enabled().Get(); {
	// What is not known may be a link in use.
	case !known || on && !d.Enabled:
		return true
	case !on:
		return false
	}
	return d.Speeds != 0 && (o.Link == nil || o.Link.SpeedsEnabled != d.Speeds) ||
		d.Widths != 0 && (o.Link == nil || o.Link.WidthsEnabled != d.Widths)
}

// users names what uses the port.
func users(s *inventory.Snapshot, d Request, o Observation) []finding.Finding {
	var found []finding.Finding
	used := uses(s, d)
	for _, use := range used {
		f := finding.PortCarriesHost.Find("%s.", use.what)
		f = f.WithConsent(f.Rule.ConsentLine(finding.Names(devices(used)...)))
		if slices.Contains(d.Consent, use.dev) {
			f.Severity, f.Summary, f.WayOut = finding.Note,
				"Port carries the SSH session, the default route or storage of the host, as allowed", ""
		}
		found = append(found, f)
	}
	switch {
	case fact.Yes(o.IsSM):
		found = append(found, finding.SubnetManagerOnCard.Find("%s.", d.Name()).At("port"))
	case !o.IsSM.Known():
		found = append(found, finding.SubnetManagerOnCard.Find("%s: whether a subnet manager is bound to it is not "+
			"known: %s.", d.Name(), o.IsSM.Why()).At("port"))
	}
	return found
}

// devices names the interfaces of all uses, each once, so that the consent to add stays
// the same between plans.
func devices(all []use) []string {
	names := make([]string, len(all))
	for i, u := range all {
		names[i] = u.dev
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CheckRemove names what somebody has written into the files that a destroy removes.
func CheckRemove(o Observation) []finding.Finding {
	return platform.CheckEdits(o.host, slices.DeleteFunc(slices.Clone(o.Edits),
		func(e platform.Edit) bool { return len(e.Added) == 0 }))
}

// Differences says in what the host differs from d, one line each; empty if
// nothing has to be done.
func (o Observation) Differences(d Request) []string {
	diff := o.live(d)
	switch {
	case !o.Stored:
		diff = append(diff, "nothing sets it at boot")
	case !o.AtBoot:
		diff = append(diff, cmp.Or(o.Broken, UnitName(d.Card, d.Number)+" is not enabled"))
	case o.Setting.Enabled != d.Enabled || o.Setting.Speeds != d.Speeds || o.Setting.Widths != d.Widths:
		diff = append(diff, "another setting is stored for the next boot")
	}
	if o.Foreign != "" {
		diff = append(diff, o.Foreign)
	}
	for _, e := range o.Edits {
		diff = append(diff, e.Path+" was changed by hand")
	}
	if o.NotAtBoot != "" {
		diff = append(diff, o.NotAtBoot)
	}
	return diff
}

// live gives the differences of the port itself.
func (o Observation) live(d Request) []string {
	var diff []string
	if on := o.Enabled(); o.Present && !on.Known() {
		diff = append(diff, "whether it is enabled is not known: "+on.Why())
	}
	if o.unasked(d) {
		diff = append(diff, "its speeds and widths cannot be read: "+o.NoTool)
	}
	return append(diff, managed.Differences(o.settings(d, Seen{})...)...)
}

// settings tells each setting of the port itself that d asks for and that was read. before is what was
// seen last.
func (o Observation) settings(d Request, before Seen) (all []managed.Setting) {
	if on, known := o.Enabled().Get(); o.Present && known {
		all = append(all, managed.Setting{Tells: "it is", Had: "it was", Has: "is", Was: word(on || before.On), Is: word(on),
			Want: word(d.Enabled)})
	}
	negotiates := func(was, is, want, supported fmt.Stringer) {
		all = append(all, managed.Setting{Tells: "it may negotiate", Had: "it could negotiate", Has: "can negotiate",
			Was: was.String(), Is: is.String(), Want: want.String(), Fine: []string{supported.String()}})
	}
	if l := o.Link; l != nil && d.Speeds != 0 {
		negotiates(cmp.Or(Speeds(before.Speeds), l.SpeedsEnabled), l.SpeedsEnabled, d.Speeds, l.SpeedsSupported)
	}
	if l := o.Link; l != nil && d.Widths != 0 {
		negotiates(cmp.Or(Widths(before.Widths), l.WidthsEnabled), l.WidthsEnabled, d.Widths, l.WidthsSupported)
	}
	return all
}

// Seen is what a port was at one look: what an apply sets or overwrites, and nothing that
// changes by itself.
type Seen struct {
	Boot           string // the boot of the host in which it was seen
	On             bool   // it is known to try to bring up its link
	Speeds, Widths int    // 0: not read
	Stored         string // the setting that our unit makes at boot, in words; empty without a unit
	AtBoot         bool   // that unit is enabled
	Lines          []string
	// Nothing compares these: what was missing on the host.
	Packages []string
	Unstored string
}

// Seen is what is kept of a look.
func (o Observation) Seen() Seen {
	seen := Seen{Boot: o.boot, On: o.Present && fact.Yes(o.Enabled()), AtBoot: o.AtBoot,
		Lines: platform.AddedLines(o.Edits), Packages: o.Packages, Unstored: o.Unstored}
	if o.Link != nil {
		seen.Speeds, seen.Widths = int(o.Link.SpeedsEnabled), int(o.Link.WidthsEnabled)
	}
	if o.Stored {
		seen.Stored = o.Setting.words()
	}
	return seen
}

// Announce says what an apply does to packages, files and services of a host that was seen so.
func (d Request) Announce(before Seen) string {
	text := "writes " + scriptPath + ", " + UnitPath(d.Card, d.Number)
	if before.Unstored != "" {
		text += ", " + before.Unstored
	}
	text += "; enables " + UnitName(d.Card, d.Number)
	if len(before.Packages) > 0 {
		text = "installs " + strings.Join(before.Packages, ", ") + "; " + text
	}
	return text
}

// Keeps reports whether a change to d leaves the link of a port alone that was seen so, with these states. It sets
// the port if that is not as asked, or could not be read, and waits for a link that is not up.
func (before Seen) Keeps(d Request, state, physical string) bool {
	settled := physical == "Disabled"
	if d.Enabled {
		settled = physical == "LinkUp" && state == "Active"
	}
	return settled && (d.Speeds == 0 || Speeds(before.Speeds) == d.Speeds) &&
		(d.Widths == 0 || Widths(before.Widths) == d.Widths)
}

// CheckSeen refuses to undo what somebody has done to a port, or has written into our files,
// since it was seen, unless it is what d asks for. A restart of the host sets a port anew, and
// so does its driver, which allows all that the port supports.
func CheckSeen(o Observation, before Seen, d Request) []finding.Finding {
	var changed []string
	if before.Boot != "" && before.Boot == o.boot {
		changed = managed.Changed(o.settings(d, before)...)
	}
	if before.AtBoot && o.Stored && !o.AtBoot {
		changed = append(changed, cmp.Or(o.Broken, UnitName(d.Card, d.Number)+" was enabled and is not"))
	}
	return before.since(o, d, changed, d.words())
}

// CheckSeenRemoved refuses to remove what somebody has written into our unit since it was seen.
func CheckSeenRemoved(o Observation, before Seen, d Request) []finding.Finding {
	return before.since(o, d, nil, before.Stored)
}

// since adds what the files of the port have since then to what has changed; atBoot is what its
// unit is to make.
func (before Seen) since(o Observation, d Request, changed []string, atBoot string) []finding.Finding {
	now := o.Seen()
	if before.Stored != "" && now.Stored != "" {
		changed = append(changed, managed.Changed(managed.Setting{Had: "its unit made it", Has: "makes it",
			Was: before.Stored, Is: now.Stored, Want: atBoot})...)
	}
	return managed.Since(fmt.Sprintf("Port %d of card %s of %s has changed", d.Number, d.Card, o.host),
		append(changed, platform.NewLines(now.Lines, before.Lines)...)...)
}
