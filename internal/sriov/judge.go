package sriov

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// Check gives the findings on an apply of q. A card may offer another number after a restart that comes before it.
func Check(l Look, q Request, restarts bool) []finding.Finding {
	plat, err := platform.Of(l.snap)
	switch {
	case err != nil:
		return []finding.Finding{finding.VirtualFunctionsUnsupported.Find("%v.", err)}
	case plat.About().Kind == platform.KindTrueNAS:
		return []finding.Finding{finding.VirtualFunctionsUnsupported.Find("%s runs TrueNAS, which keeps no files in /etc.",
			q.Host)}
	// mlx4 takes the number from a module parameter, when it is loaded.
	case l.Card && l.Driver != "mlx5_core":
		return []finding.Finding{finding.VirtualFunctionsUnsupported.Find("%s has the driver %s.", q.Name(),
			cmp.Or(l.Driver, "none"))}
	}
	all := append(platform.CheckFiles(l.snap, unitPath(q.Card)), platform.CheckEdits(l.snap.Host, l.edits)...)
	if l.Card && !restarts {
		all = append(all, l.offers(q)...)
	}
	return append(all, l.users(q)...)
}

// offers gives the findings on what the card has for functions.
func (l Look) offers(q Request) (all []finding.Finding) {
	if l.Most < q.Number {
		all = append(all, finding.VirtualFunctionsTooMany.Find("%s offers %d virtual functions, and %d are asked for.",
			q.Name(), l.Most, q.Number))
	}
	if why := l.noPorts(q); why != "" {
		all = append(all, finding.VirtualPortsUnsupported.Find("%s %s.", q.Name(), why))
	}
	return all
}

// noPorts says why the functions cannot get GUIDs and link states; empty if they can.
func (l Look) noPorts(q Request) string {
	switch {
	case q.LinkState == "":
		return ""
	case l.Ethernet:
		return "has an Ethernet port, whose functions have MACs and no GUIDs"
	case l.Interface == "":
		return "has no interface of ib_ipoib"
	case l.GUID.IsNone() && q.derives():
		return "shows no node GUID, from which those of functions follow"
	}
	return ""
}

// OtherGUIDs refuses default GUIDs that a plan has not shown.
func OtherGUIDs(l Look, q Request) []finding.Finding {
	return managed.Since("Card "+q.Name()+" has changed", "its node GUID is "+l.GUID.String()+
		", and the default GUIDs of its functions follow from it")
}

// Holders are what functions will have, for the comparison with others.
func Holders(q Request) (all []clash.Holder) {
	for number, p := range q.Ports {
		all = append(all, clash.Holder{Function: inventory.VirtualFunction(number), GUIDs: guidsOf(p)})
	}
	return all
}

// CheckOffer refuses settings of a card that offer fewer functions than are asked for. offers is nil if they leave that
// to others.
func CheckOffer(card string, offers *int64, number int) []finding.Finding {
	if offers == nil || *offers >= int64(number) {
		return nil
	}
	f := finding.VirtualFunctionsTooMany.Find("With these settings %s offers %d virtual functions after its next start, "+
		"and %d are asked for.", card, *offers, number)
	return []finding.Finding{f.WithWayOut("Write a higher NUM_OF_VFS into infiniband_nv_config, with SRIOV_EN = true, " +
		"or a lower number into infiniband_virtual_functions.")}
}

func guidsOf(p Port) ib.GUIDSet { return ib.GUIDSet{Node: p.Node, Port1: p.Port} }

// CheckGUIDs gives the findings on GUIDs that functions are to get: against each other, the card, all others of the
// configuration, and the fabric.
func CheckGUIDs(l Look, q Request, lab clash.Facts) (all []finding.Finding) {
	owner := map[ib.GUID]string{l.GUID: "the card"}
	for number, p := range q.Ports {
		name := inventory.VirtualFunction(number)
		want := guidsOf(p)
		if want.Node == want.Port1 {
			want.Node = 0 // it is told once
		}
		found := lab.Taken(q.Host, q.Card, want)
		for _, taken := range lab.TakenGUIDs(want) {
			found = append(found, finding.GUIDInFabric.Find("%s", taken))
		}
		for _, guid := range slices.Compact([]ib.GUID{p.Node, p.Port}) {
			// The lowest bit of the first byte is that of a group, and a maker's part of zero is nobody's (EUI-64).
			if first := uint64(guid) >> 56; guid.IsNone() || first&1 == 1 || uint64(guid)>>40 == 0 {
				found = append(found, finding.GUIDInvalid.Find("%s", guid))
			}
			if other := owner[guid]; other != "" && other != name {
				found = append(found, finding.GUIDsEqual.Find("%s is the GUID of %s, too", guid, other))
			}
			owner[guid] = name
		}
		for _, f := range found {
			f.Evidence = name + " of " + q.Name() + ": " + f.Evidence
			all = append(all, f.At("port_guids"))
		}
	}
	if len(q.Ports) > 0 {
		all = append(all, lab.UnseenFabric()...)
	}
	return all
}

// users are the findings on functions in use that a change removes, or gives other GUIDs or link states.
func (l Look) users(q Request) (all []finding.Finding) {
	lost, stale := slices.Clone(l.used), l.Stale(q)
	// Another number makes every function anew; the same one touches only those whose port changes.
	if len(l.Functions) == q.Number {
		lost = slices.DeleteFunc(lost, func(u use) bool { return !slices.Contains(stale, u.number) })
	}
	names := make([]string, len(lost))
	for i, u := range lost {
		names[i] = u.function
	}
	for _, u := range lost {
		f := finding.VirtualFunctionsInUse.Find("On %s %s.", q.Host, u.what)
		f = f.WithConsent(f.Rule.ConsentLine(finding.Names(names...)))
		if slices.Contains(q.Consent, u.function) {
			f = f.AsGranted("A virtual function in use is removed or changed, as allowed")
		}
		all = append(all, f)
	}
	return all
}

// CheckSeen refuses to undo what somebody has done since the card was seen. A restart makes the functions anew.
func CheckSeen(l Look, q Request, before Seen) []finding.Finding {
	now, number := l.Seen(), strconv.Itoa
	var all []managed.Setting
	// sysfs forgets the number at a restart, whoever had set it.
	if before.BootID == now.BootID {
		all = append(all, managed.Setting{Had: "it had virtual functions:", Has: "has", Was: number(before.Number),
			Is: number(now.Number), Want: number(q.Number)})
	}
	if l.Stored && before.Boot > 0 {
		all = append(all, managed.Setting{Had: "its unit made", Has: "makes", Was: number(before.Boot),
			Is: number(now.Boot), Want: number(q.Number)})
	}
	for _, number := range l.Stale(q) {
		if was, known := before.Ports[number]; known && before.BootID == now.BootID && before.Number == now.Number {
			all = append(all, managed.Setting{Had: "it gave", Has: "gives", Was: told(number, was),
				Is: told(number, now.Ports[number])})
		}
	}
	changed := append(managed.Changed(all...), platform.NewLines(now.Lines, before.Lines)...)
	return managed.Since("Card "+q.Name()+" has changed", changed...)
}
