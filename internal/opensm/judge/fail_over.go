package judge

import (
	"cmp"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sminfo"
)

// AgainstFailOver says why the master of a fabric is not stopped for its standby; empty if nothing speaks against it.
// What is not known of the fabric or of the unit does.
func AgainstFailOver(l *found.Look, v found.View) string {
	const apply = " Apply its infiniband_opensm first."
	switch _, waits := Standby(v, l.Port); {
	case !l.Active.Known():
		return fmt.Sprintf("It is not known whether %s of %s runs: %s.", l.Unit, l.Host, l.Active.Why())
	case l.Stopped():
		return fmt.Sprintf("%s of %s does not run.", l.Unit, l.Host) + apply
	case l.Managed && !l.Sound():
		return fmt.Sprintf("%s of %s may run with other options than its files have, and would start again with "+
			"those.", l.Unit, l.Host) + apply
	case v.NotReady != "":
		return fmt.Sprintf("The fabric of port %s cannot be asked: %s.", l.Port, v.NotReady)
	case !fact.Yes(v.Ruled):
		return fmt.Sprintf("Port %s is on a fabric of which no master is known%s.", l.Port, why(v.Ruled))
	case v.Master.GUID != l.Port:
		return fmt.Sprintf("The subnet manager on port %s is not the master of its fabric: that is the one on port %s. "+
			"Name that one.", l.Port, v.Master.GUID)
	case !fact.Yes(v.Listed):
		return fmt.Sprintf("It is not known whether the fabric of port %s has a standby%s.", l.Port, why(v.Listed))
	case !waits:
		return fmt.Sprintf("The fabric of port %s has no standby: nobody would take over. Run a second subnet manager on "+
			"it, with another priority.", l.Port)
	}
	return ""
}

// Standby is the subnet manager that takes over if the master on a port is stopped; false if none stands by.
func Standby(v found.View, master ib.GUID) (next saquery.Manager, waits bool) {
	for _, m := range v.Managers {
		if m.State == int(sminfo.Standby) && m.GUID != master && (!waits || Beats(m, next)) {
			next, waits = m, true
		}
	}
	return next, waits
}

// Beats reports whether a subnet manager rules over another one: by its priority, of equals by the lower port GUID.
func Beats(a, b saquery.Manager) bool {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.GUID, b.GUID)) < 0
}

// why is the reason of what is not known, in parentheses.
func why(of fact.Bool) string {
	if of.Known() {
		return ""
	}
	return " (" + of.Why() + ")"
}
