package sriov

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
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
	case l.Card && l.Driver != "mlx5_core":
		return []finding.Finding{finding.VirtualFunctionsUnsupported.Find("%s has the driver %s.", q.Name(),
			cmp.Or(l.Driver, "none"))}
	}
	path := unitPath(q.Card)
	all := platform.CheckPlaces(l.snap, path)
	if f := l.snap.Files[path]; !ours(f.Content) || l.snap.Denied[path] {
		all = append(all, finding.FileUnmanaged.Find("%s of %s.", path, l.snap.Host))
	}
	for _, e := range l.edits {
		all = append(all, finding.FileEdited.Find("%s", e.Evidence(l.snap.Host)))
	}
	if l.Card && l.Most < q.Number && !restarts {
		all = append(all, finding.VirtualFunctionsTooMany.Find("%s offers %d virtual functions, and %d are asked for.",
			q.Name(), l.Most, q.Number))
	}
	if len(l.Functions) != q.Number {
		all = append(all, l.users(q)...)
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

// users are the findings on functions in use that a change removes.
func (l Look) users(q Request) (all []finding.Finding) {
	names := make([]string, len(l.used))
	for i, u := range l.used {
		names[i] = u.function
	}
	for _, u := range l.used {
		f := finding.VirtualFunctionsInUse.Find("On %s %s.", q.Host, u.what)
		f = f.WithConsent(f.Rule.ConsentLine(finding.Names(names...)))
		if slices.Contains(q.Consent, u.function) {
			f = f.AsGranted("A virtual function in use is removed, as allowed")
		}
		all = append(all, f)
	}
	return all
}

// CheckSeen refuses to undo what somebody has done since the card was seen. A restart makes the functions anew.
func CheckSeen(l Look, q Request, before Seen) []finding.Finding {
	now, number := l.Seen(), strconv.Itoa
	var all []managed.Setting
	if before.BootID == now.BootID {
		all = append(all, managed.Setting{Had: "it had virtual functions:", Has: "has", Was: number(before.Number),
			Is: number(now.Number), Want: number(q.Number)})
	}
	if l.Stored && before.Boot > 0 {
		all = append(all, managed.Setting{Had: "its unit made", Has: "makes", Was: number(before.Boot),
			Is: number(now.Boot), Want: number(q.Number)})
	}
	changed := append(managed.Changed(all...), platform.NewLines(now.Lines, before.Lines)...)
	return managed.Since("Card "+q.Name()+" has changed", changed...)
}
