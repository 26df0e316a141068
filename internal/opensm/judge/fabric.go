package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sminfo"
)

// CheckFabric gives the findings that the fabric shows. A subnet manager that somebody
// started by hand on a managed host is a rival like any other.
func CheckFabric(d opensm.Request, v found.View, lab found.Lab) []finding.Finding {
	if v.NotReady != "" {
		return nil // it is asked at apply
	}
	all := checkTwice(d, v)
	for _, f := range []fact.Bool{v.Ruled, v.Listed} {
		if !f.Known() {
			all = append(all, finding.CompetitionUnknown.Find("Port %s of %s: %s.", d.PortGUID, d.Host, f.Why()))
			// One of the two is enough: both have the same way out.
			break
		}
	}
	// A manager of ours has a resource that judges the rivalry, with a way out in its own configuration.
	for _, m := range v.Managers {
		all = append(all, checkNamedFabric(d, m, lab)...)
		if lab.Ours[m.GUID] && m.GUID != d.PortGUID {
			all = append(all, checkEqualMaster(d, v, m)...)
		}
		if m.GUID == d.PortGUID || lab.Ours[m.GUID] {
			continue
		}
		all = append(all, competitor(d, m, lab))
	}
	return all
}

// competitor is the finding on a manager that no resource of this configuration has.
func competitor(d opensm.Request, m saquery.Manager, lab found.Lab) finding.Finding {
	where := fmt.Sprintf("LID %d", m.LID)
	if port, ok := lab.Known[m.GUID]; ok {
		where = port + ", " + where
	}
	f := finding.SubnetManagerCompetes.Find("The subnet manager on port %s (%s) has priority %d and is %s; this one has "+
		"%d: %s", m.GUID, where, m.Priority, role(m.State),
		d.Priority, outcome(d, m))
	if m.State == int(sminfo.Master) && len(d.Partitions) > 0 {
		f.Evidence += " The partitions in force are those of the other one. Those of this resource wait until this one " +
			"rules."
	}
	if lab.Known[m.GUID] == "" && lab.Unseen != "" {
		f.Summary = "Another subnet manager competes with this one"
		f.Evidence += " Not seen now: " + lab.Unseen + ". If it runs there, Terraform may manage it."
	}
	f.Summary += fmt.Sprintf(" (%s, priority %d)", m.GUID, m.Priority)
	return f
}

// checkTwice is about GUIDs that two nodes of the fabric have. If a master answers, the
// fabric works in spite of them.
func checkTwice(d opensm.Request, v found.View) []finding.Finding {
	if !v.Duplicate.Known() {
		f := finding.FabricGUIDTwice.Find("Whether two nodes of the fabric of port %s have one GUID is not known: %s.",
			d.PortGUID, v.Duplicate.Why())
		f.Summary = "Refusing to start a subnet manager on a fabric that could not be walked"
		f.WayOut = "Run ibnetdiscover on " + d.Host + " as root, fix what it reports, and plan again."
		return []finding.Finding{f}
	}
	var words []string
	for _, g := range v.Duplicates() {
		words = append(words, g.String())
	}
	if len(words) == 0 {
		return nil
	}
	return []finding.Finding{finding.FabricGUIDTwice.Find("The fabric of port %s has twice: %s.", d.PortGUID,
		strings.Join(words, ", "))}
}

// role is the word for SMInfo.SMState (InfiniBand Architecture, SMInfo).
func role(state int) string {
	switch state {
	case 1:
		return "discovering"
	case 2:
		return "standby"
	case 3:
		return "master"
	}
	return "not active"
}

// outcome says which of the two rules once both run. A master of a lower priority hands the
// fabric over.
func outcome(d opensm.Request, other saquery.Manager) string {
	switch {
	case other.Priority > d.Priority:
		return "the other one rules."
	// Standbys wait for a master that dies; one of a higher priority makes it hand over (opensm 3.3.23).
	case other.Priority < d.Priority && other.State == int(sminfo.Master):
		return "this one takes over from it."
	case other.Priority < d.Priority:
		return "this one rules."
	case other.GUID < d.PortGUID:
		return "the priorities are equal, and the other one rules by its lower GUID."
	}
	return "the priorities are equal, and this one rules by its lower GUID."
}

// checkEqualMaster asks for a consent to the priority of a master that rules this very fabric: there no
// configuration decides any more which of the two rules. One that runs with this priority already, such as
// one that is taken over, changes nothing.
func checkEqualMaster(d opensm.Request, v found.View, m saquery.Manager) []finding.Finding {
	runs := slices.ContainsFunc(v.Managers, func(own saquery.Manager) bool {
		return own.GUID == d.PortGUID && own.Priority == d.Priority
	})
	if d.EqualPriority || runs || m.Priority != d.Priority || m.State != int(sminfo.Master) {
		return nil
	}
	rules := "the other one"
	if d.PortGUID < m.GUID {
		rules = "this one"
	}
	f := finding.OpensmPriorityEqual.Find("The subnet manager on port %s rules the fabric of port %s and has priority "+
		"%d, too. When both run, %s rules by its lower GUID.", m.GUID, d.PortGUID, m.Priority, rules).
		WithConsent(finding.OpensmPriorityEqual.ConsentLine(strconv.Itoa(d.Priority))).
		WithWayOut("Give each of the two its own priority. If the hardware may decide, write into the resource:")
	return []finding.Finding{f}
}

// checkRivals gives one finding for all rivals: a plan shows each at length, and pairs
// grow with the square of the hosts.
func checkRivals(d opensm.Request, p PlanFacts) []finding.Finding {
	if len(p.Rivals) == 0 {
		return nil
	}
	names, others := []string{fmt.Sprintf("%s on %s", d.PortGUID, d.Host)}, p.Rivals[0].Host
	for _, r := range p.Rivals {
		names = append(names, fmt.Sprintf("%s on %s", r.PortGUID, r.Host))
	}
	if p.MoreRivals > 0 {
		names = append(names, fmt.Sprintf("%d more", p.MoreRivals))
	}
	if n := len(p.Rivals) + p.MoreRivals; n > 1 {
		others = fmt.Sprintf("%d others", n)
	}
	last := len(names) - 1
	f := finding.OpensmPriorityEqual.Find("%s and %s have priority %d.", strings.Join(names[:last], ", "), names[last],
		d.Priority)
	pair := fmt.Sprintf("%s and %s", d.Host, others)
	// Two ports of one host are told apart by their GUIDs.
	if others == d.Host {
		pair = fmt.Sprintf("ports %s and %s of %s", d.PortGUID, p.Rivals[0].PortGUID, d.Host)
	}
	f.Summary += " (" + pair + ")"
	f.Severity = finding.Warn
	return []finding.Finding{f}
}

// checkGUIDs looks for duplicate GUIDs among the managed hosts, which stop opensm. Two
// cards with one GUID may be on two fabrics, so only the GUID of this port is a reason
// to refuse.
func checkGUIDs(d opensm.Request, lab found.Lab) []finding.Finding {
	g, where, ok := firstDuplicate(lab)
	if own, twice := lab.Duplicate[d.PortGUID]; twice {
		g, where, ok = d.PortGUID, own, true
	}
	if !ok {
		return nil
	}
	f := finding.FabricGUIDTwice.Find("%s is on %s.", g, strings.Join(where, " and on "))
	switch {
	case lab.Apart[g]:
		f.Severity, f.Summary = finding.Warn, "Cards on two fabrics have one GUID, which stops a fabric that gets both"
	case g != d.PortGUID:
		f.Severity, f.Summary = finding.Warn, "Two cards have one GUID, which stops a fabric that has both"
	}
	return []finding.Finding{f}
}

// firstDuplicate is the lowest GUID that two cards have, and where.
func firstDuplicate(lab found.Lab) (guid ib.GUID, where []string, ok bool) {
	for g, w := range lab.Duplicate {
		if !ok || g < guid {
			guid, where, ok = g, w, true
		}
	}
	return guid, where, ok
}

// checkNamedFabric is about a subnet manager that is seen here, and that the configuration puts on another fabric.
func checkNamedFabric(d opensm.Request, m saquery.Manager, lab found.Lab) []finding.Finding {
	here, there := lab.Fabric[d.PortGUID], lab.Fabric[m.GUID]
	if here == "" || there == "" || here == there {
		return nil
	}
	return []finding.Finding{finding.FabricsAreOne.Find("The fabric of port %s (fabric %s) has the subnet manager on "+
		"port %s, which the configuration puts on fabric %s.", d.PortGUID, here, m.GUID, there)}
}
