package opensm

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sminfo"
)

// CheckFabric gives the findings that the fabric shows. A subnet manager that somebody
// started by hand on a managed host is a rival like any other.
func CheckFabric(d Request, v View, lab Lab) []finding.Finding {
	if v.NotReady != "" {
		return []finding.Finding{finding.OpensmPostponed.Find("The fabric of port %s is asked at apply: %s.", d.PortGUID,
			v.NotReady)}
	}
	found := checkTwice(d, v)
	for _, f := range []fact.Bool{v.Ruled, v.Listed} {
		if !f.Known() {
			found = append(found, finding.CompetitionUnknown.Find("Port %s of %s: %s.", d.PortGUID, d.Host, f.Why()))
			break
		}
	}
	for _, m := range v.Managers {
		if m.GUID == d.PortGUID || lab.Ours[m.GUID] {
			continue
		}
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
		f.Summary += fmt.Sprintf(" (%s, priority %d)", m.GUID, m.Priority)
		found = append(found, f)
	}
	return found
}

// checkTwice is about GUIDs that two nodes of the fabric have. If a master answers, the
// fabric works in spite of them.
func checkTwice(d Request, v View) []finding.Finding {
	if !v.Duplicate.Known() {
		f := finding.FabricGUIDTwice.Find("Whether two nodes of the fabric of port %s have one GUID is not known: %s.",
			d.PortGUID, v.Duplicate.Why())
		f.Summary = "Refusing to start a subnet manager on a fabric that could not be walked"
		f.WayOut = "Run ibnetdiscover on " + d.Host + " as root, fix what it reports, and plan again."
		return []finding.Finding{f}
	}
	var words []string
	for _, g := range v.duplicates() {
		words = append(words, g.String())
	}
	if len(words) == 0 {
		return nil
	}
	return []finding.Finding{finding.FabricGUIDTwice.Find("The fabric of port %s has twice: %s.", d.PortGUID,
		strings.Join(words, ", "))}
}

// duplicates are those that are known.
func (v View) duplicates() []ib.GUID { return v.Duplicate.Or(nil) }

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
func outcome(d Request, other saquery.Manager) string {
	switch {
	case other.Priority > d.Priority:
		return "the other one rules."
	case other.Priority < d.Priority && other.State == int(sminfo.Master):
		return "this one takes over from it."
	case other.Priority < d.Priority:
		return "this one rules."
	case other.GUID < d.PortGUID:
		return "the priorities are equal, and the other one rules by its lower GUID."
	}
	return "the priorities are equal, and this one rules by its lower GUID."
}
