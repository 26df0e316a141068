package judge

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// checkPackage is about a host without opensm. Of a port that is known the plan shows in change that it is installed.
func checkPackage(l *found.Look, p PlanFacts) []finding.Finding {
	if l.Installed != "" {
		return nil
	}
	if !l.Program {
		if impossible := platform.CheckInstall(l.Snapshot, "opensm is not installed"); len(impossible) > 0 {
			return impossible
		}
	}
	if !p.PortUnknown {
		return nil
	}
	f := finding.PackagesInstalled.Find("opensm is not installed on %s.", l.Host)
	f.Summary = "The package opensm will be installed"
	return []finding.Finding{f}
}

// checkService is about the list of ports and the units.
func checkService(l *found.Look, diff []string, p PlanFacts) []finding.Finding {
	all := checkPackage(l, p)
	settled := l.Silence() == "" && len(diff) == 0
	// The apply edits the list. One that it cannot read whole it would damage.
	switch {
	case l.List.Unread:
		all = append(all, findUnread(l, tool.DefaultPath))
	case l.List.Problem != nil:
		all = append(all, finding.OpensmFileNotUnderstood.Find("%s: %v.", l.Host, l.List.Problem))
	// PORTS=ALL is what the package brings and not anybody's wish as long as it is not installed.
	case l.List.SaysAll() && l.Installed != "" && !settled:
		all = append(all, finding.OpensmPortsReplaced.Find("%s of %s says PORTS=ALL.%s", tool.DefaultPath, l.Host,
			describeLosing(l)))
	}
	if fact.Yes(l.Active) && !l.Managed && !l.DropInIsDirectory { // a directory is refused
		all = append(all, findTakeover(l))
	}
	return append(append(all, CheckMasked(l, p)...), checkBeside(l, settled)...)
}

// CheckMasked is about units that systemd does not start. The plan of an instance of ours, which a destroy may
// follow, warns of what the apply refuses.
func CheckMasked(l *found.Look, p PlanFacts) []finding.Finding {
	var all []finding.Finding
	for _, unit := range l.Masked {
		f := finding.OpensmMasked.Find("%s of %s. To end it: systemctl unmask %s", unit, l.Host, unit)
		if p.MayLeave && l.Managed {
			f.Severity, f.Summary = finding.Warn, "The apply refuses to start a subnet manager that somebody has masked"
		}
		all = append(all, f)
	}
	return all
}

// checkOthersStart is about listed ports that start at boot because this one does. Those with files of
// ours have a resource that plans their start, and those that are masked do not start.
func checkOthersStart(l *found.Look) []finding.Finding {
	if l.OwnTemplate || fact.Yes(l.SharedEnabled) {
		return nil
	}
	// systemctl enable of the one service enables all that it starts.
	var units []string
	for _, i := range l.OthersListed() {
		if !i.Ours && !i.Masked {
			units = append(units, i.Unit)
		}
	}
	if len(units) == 0 {
		return nil
	}
	f := finding.OpensmOthersStart.Find("On %s %s %s at the next boot, too.", l.Host, strings.Join(units, " and "),
		verb(units, "start"))
	if l.Installed == "" {
		f = finding.OpensmOthersStart.Find("On %s %s %s when the package is installed, and at boot.", l.Host,
			strings.Join(units, " and "), verb(units, "start"))
		f.Summary = "Other subnet managers of the host will start, too"
	}
	return []finding.Finding{f}
}

// checkBeside is about what starts or runs beside an instance of ours and has no resource. A list of all ports
// that this apply replaces has a finding of its own, which names what runs by it.
func checkBeside(l *found.Look, settled bool) []finding.Finding {
	switch {
	case !l.Managed || l.List.SaysAll() && !settled:
		return nil
	case l.List.SaysAll() && !l.OwnTemplate && fact.Yes(l.SharedEnabled):
		return []finding.Finding{finding.OpensmBeside.Find("%s of %s says PORTS=ALL. At the next boot %s starts a subnet "+
			"manager on every port.", tool.DefaultPath, l.Host, tool.Service)}
	}
	if others := othersBeside(l); len(others) > 0 {
		return []finding.Finding{finding.OpensmBeside.Find("On %s %s.", l.Host, strings.Join(others, ", and "))}
	}
	return nil
}

// othersBeside says which instances of others run, and which start at the next boot.
func othersBeside(l *found.Look) (texts []string) {
	if units := l.UnitsOf(func(i found.Instance) bool { return !i.IsOurs() && i.Active }); len(units) > 0 {
		texts = append(texts, fmt.Sprintf("%s %s", strings.Join(units, " and "), verb(units, "run")))
	}
	starts := func(i found.Instance) bool { return !i.IsOurs() && !i.Active && i.Listed && !i.Masked }
	if l.OwnTemplate || !fact.Yes(l.SharedEnabled) {
		return texts
	}
	if units := l.UnitsOf(starts); len(units) > 0 {
		texts = append(texts, fmt.Sprintf("%s %s at the next boot", strings.Join(units, " and "), verb(units, "start")))
	}
	return texts
}

// describeLosing names the other ports on which opensm runs because of PORTS=ALL.
func describeLosing(l *found.Look) string {
	var ports []string
	for _, i := range l.Others {
		if (i.Listed || i.Active) && !i.Ours && i.Port != 0 && i.Port != l.Port {
			ports = append(ports, i.Port.String())
		}
	}
	if len(ports) == 0 {
		return ""
	}
	return fmt.Sprintf(" opensm also runs on %s: without a resource it goes on until %s or the host restarts, and then "+
		"does not start again.", strings.Join(ports, " and "), tool.Service)
}
