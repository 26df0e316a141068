package opensm

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// CheckFabric finds what speaks against d in what the fabric says. A subnet
// manager that somebody started by hand on a managed host is a rival like any
// other.
func CheckFabric(d Desired, v View, lab Lab) []safety.Finding {
	var found []safety.Finding
	if len(v.Duplicate) > 0 {
		words := make([]string, len(v.Duplicate))
		for i, g := range v.Duplicate {
			words[i] = g.String()
		}
		found = append(found, ruleGUIDs.Find("The fabric of port %s has twice: %s.", d.PortGUID, strings.Join(words, ", ")))
	}
	for _, m := range v.Managers {
		if m.GUID == d.PortGUID || lab.Ours[m.GUID] {
			continue
		}
		where := fmt.Sprintf("LID %d", m.LID)
		if port, ok := lab.Known[m.GUID]; ok {
			where = port + ", " + where
		}
		f := ruleRival.Find("The subnet manager on port %s (%s) has priority %d and is %s; this one has %d: %s", m.GUID, where, m.Priority, role(m.State),
			d.Priority, outcome(d, m.GUID, m.Priority))
		f.Summary += fmt.Sprintf(" (%s, priority %d)", m.GUID, m.Priority)
		found = append(found, f)
	}
	return found
}

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

func outcome(d Desired, other ib.GUID, priority int) string {
	switch {
	case priority > d.Priority:
		return "the other one rules."
	case priority < d.Priority:
		return "this one takes over."
	case other < d.PortGUID:
		return "the priorities are equal, and the other one rules by its lower GUID."
	}
	return "the priorities are equal, and this one rules by its lower GUID."
}
