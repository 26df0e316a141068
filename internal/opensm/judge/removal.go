package judge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// CheckRemoval finds what speaks against taking away what is ours of a subnet manager.
func CheckRemoval(l *found.Look) []finding.Finding {
	if !l.Managed {
		return nil // nothing is removed
	}
	ours := func(key opensm.Key) bool { return l.FabricKeys.Version > 0 && l.FabricKeys.IsOne(key) }
	return append(checkKeysAdded(l, "A destroy would stop this subnet manager and remove the file, and the key with it.",
		ours), checkEditsRemoved(l)...)
}

// CheckLast asks before the master of a fabric is removed that has no other subnet manager, while hosts depend on
// the fabric. Where nobody lists the managers, none is known to take over. consent is the port that the state allows.
func CheckLast(l *found.Look, v found.View, uses []string, consent string) []finding.Finding {
	// Traffic goes on without a manager; new ports, paths and joins do not.
	if !l.Managed || !l.Master() || len(uses) == 0 || len(v.Managers) > 1 {
		return nil
	}
	who := "No other subnet manager is on the fabric"
	// No list is not "no other": it is said as what it is, and asks for the same consent.
	if !fact.Yes(v.Listed) {
		who = "Whether another subnet manager is on the fabric is not known"
	}
	f := finding.OpensmLastLeaves.Find("%s of port %s of %s. Over the fabric go %s.", who, l.Port, l.Host,
		strings.Join(uses, "; ")).WithConsent(finding.OpensmLastLeaves.ConsentLine(strconv.Quote(l.Port.String())))
	if consent == l.Port.String() {
		f = f.AsGranted("The only subnet manager of a fabric leaves, as allowed")
	}
	return []finding.Finding{f.At("")}
}

// checkEditsRemoved names what somebody has written into the files that a destroy removes.
func checkEditsRemoved(l *found.Look) []finding.Finding {
	var all []finding.Finding
	for _, e := range l.Edits {
		if len(e.Added) > 0 && (e.Path != l.ConfPath || !l.SetsKeys()) {
			all = append(all, finding.FileEdited.Find("%s", e.Evidence(l.Host)))
		}
	}
	return all
}

// FindStaying says what a removal leaves of what the instances of a host share, because others
// need it: one sentence each. Nothing else of the shared is left.
func FindStaying(l *found.Look) []string {
	// Where the template is ours each instance is enabled on its own, and no service has a list.
	switch needs := l.UnitsOf(found.Instance.NeedsTemplate); {
	case !l.Managed:
		return nil // nothing is removed
	case !l.OwnTemplate:
		return findServiceStaying(l)
	case !l.TemplateIsOurs:
		return nil
	case !l.UnitsKnown:
		return []string{fmt.Sprintf("%s stays, because it is not known which other subnet managers need it: %s.",
			tool.TemplatePath, l.UnitsWhy)}
	case len(needs) > 0:
		return []string{fmt.Sprintf("%s stays, because %s %s it.", tool.TemplatePath, strings.Join(needs, " and "),
			verb(needs, "need"))}
	}
	return nil
}

// findServiceStaying says why the service that has the list of ports is neither stopped nor disabled.
// All instances are parts of it: to stop it stops those that it did not start as well.
func findServiceStaying(l *found.Look) []string {
	var stays []string
	add := func(format string, args ...any) { stays = append(stays, fmt.Sprintf(format, args...)) }
	// To stop the service stops every instance, for they are PartOf it.
	var rest []string
	for _, i := range l.OthersListed() {
		rest = append(rest, i.Port.String())
	}
	switch {
	case l.List.Err(l.Host) != nil || !l.List.There: // the removal itself says it, or nothing is listed
	case l.List.All:
		add("PORTS=ALL in %s stays, and %s with it: it starts a subnet manager on every port at boot, on this one too.",
			tool.DefaultPath, tool.Service)
	case len(rest) > 0:
		add("%s stays, because %s lists %s as well.", tool.Service, tool.DefaultPath, strings.Join(rest, " and "))
	}
	switch running := l.UnitsOf(func(i found.Instance) bool { return i.Active }); {
	case !l.UnitsKnown:
		add("%s stays, because it is not known which other subnet managers run: %s.", tool.Service, l.UnitsWhy)
	case len(running) > 0:
		add("%s stays, because %s %s and would stop with it.", tool.Service, strings.Join(running, " and "),
			verb(running, "run"))
	}
	return stays
}

// FindStillMasked says that a removal leaves the mask of somebody else.
func FindStillMasked(l *found.Look) []string {
	var left []string
	for _, unit := range l.Masked {
		left = append(left, fmt.Sprintf("%s stays masked, as somebody has decided. To end it: systemctl unmask %s", unit,
			unit))
	}
	return left
}

// verb agrees with its subjects.
func verb(subjects []string, plural string) string {
	if len(subjects) == 1 {
		return plural + "s"
	}
	return plural
}

// DescribeLeftAlone says what becomes of the instance of a port that gets no resource, while other
// ports of its host do. It is empty where nothing is known to become of it.
func DescribeLeftAlone(l *found.Look) string {
	if !l.List.There || l.List.Problem != nil || l.Managed || l.OwnTemplate {
		return ""
	}
	const after = "After that it does not start again, and no subnet manager of this host serves the port until a " +
		"resource has it started. Write that one without an import block."
	replaced := fmt.Sprintf("The apply of a subnet manager on another port of this host replaces ALL in %s by a list "+
		"without this port.", tool.DefaultPath)
	switch {
	case l.List.All && fact.Yes(l.Active):
		return fmt.Sprintf("%s of %s says PORTS=ALL, so %s runs. %s %s goes on until %s or the host restarts: if the "+
			"link comes up before, it serves the port, with the options that all instances of the host share. %s",
			tool.DefaultPath, l.Host, l.Unit, replaced, l.Unit, tool.Service, after)
	case l.List.All:
		return fmt.Sprintf("%s of %s says PORTS=ALL, so %s starts with %s. %s %s", tool.DefaultPath, l.Host, l.Unit,
			tool.Service, replaced, after)
	case l.Listed && !fact.Yes(l.SharedEnabled):
		return fmt.Sprintf("%s of %s lists this port, and %s is not enabled. The apply of a subnet manager on another port "+
			"of this host enables it, so that %s starts at the next boot, with the options that all instances of the host "+
			"share. Take the port out of the list if that is not wanted.", tool.DefaultPath, l.Host, tool.Service, l.Unit)
	case l.Listed:
		return fmt.Sprintf("%s of %s lists this port. It stays in the list, and %s stays as it is: when the port has a "+
			"link, it serves it, with the options that all instances of the host share.", tool.DefaultPath, l.Host, l.Unit)
	}
	return ""
}
