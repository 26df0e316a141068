package judge

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Check gives the findings against d on the host of a look. While the port is not known, it judges the host
// and the settings.
func Check(l *found.Look, d opensm.Request, p PlanFacts) []finding.Finding {
	all := CheckConfig(d, p)
	plat, unsupported := checkSystem(l)
	if len(unsupported) > 0 {
		return append(all, unsupported...)
	}
	// What differs is derived once: several checks are about a change only.
	diff := Differences(l, d)
	all = append(all, platform.CheckPort(l.Snapshot, plat, l.Port, "ib_umad")...)
	all = append(all, checkPort(l, p)...)
	if len(diff) > 0 {
		all = append(all, CheckLink(l)...)
	}
	all = append(all, checkService(l, diff, p)...)
	// A signal enables nothing, so that nothing else starts at boot by it.
	if len(diff) > 0 && !Rereads(l, d) {
		all = append(all, checkOthersStart(l)...)
	}
	all = append(all, checkOwnFiles(l, d, diff)...)
	all = append(all, checkKeys(l, d, p, diff)...)
	paths := []string{tool.DropInPath(l.Port), l.ConfPath}
	if len(d.Partitions) > 0 {
		paths = append(paths, tool.PartitionsPath(l.Port))
	}
	all = append(all, platform.CheckPlaces(l.Snapshot, paths...)...)
	all = append(all, platform.CheckBoot(l.Snapshot, l.NotAtBoot)...)
	// Our instances do not read the shared file; a change there may have been meant for
	// them.
	if ours := l.Managed || p.PortUnknown && l.BesideOurs; !ours {
		all = append(all, checkSharedOptions(l, d)...)
	}
	if len(d.Partitions) == 0 && !p.PartitionsUnknown {
		all = append(all, checkSharedPartitions(l)...)
	}
	return all
}

// checkSystem is about hosts that cannot run opensm at all.
func checkSystem(l *found.Look) (platform.Platform, []finding.Finding) {
	plat, err := platform.Of(l.Snapshot)
	switch {
	case err != nil:
		f := finding.OpensmUnsupported.Find("%v.", err)
		f.Summary, f.WayOut = "Refusing to run a subnet manager on an unsupported system",
			"Run it on a supported host of the fabric."
		return plat, []finding.Finding{f}
	case plat.About().Kind == platform.KindTrueNAS:
		return plat, []finding.Finding{finding.OpensmUnsupported.Find("%s runs %s. TrueNAS has no opensm and accepts no "+
			"packages. Software that is added by force is lost at the next update.", l.Host, plat.Name())}
	// A program on the PATH is enough: some build opensm themselves.
	case len(plat.PackagesFor(platform.FeatureOpenSM, l.Kernel)) == 0 && !l.Program:
		return plat, []finding.Finding{noPackage(l, plat)}
	}
	return plat, nil
}

// noPackage is about distributions without a package of opensm: a program that the
// operator built is used, and none is built here.
func noPackage(l *found.Look, plat platform.Platform) finding.Finding {
	f := finding.OpensmUnsupported.Find("%s runs %s, whose repositories have no package opensm.", l.Host, plat.Name())
	f.WayOut = "Run the subnet manager on another host of the fabric, or install opensm on this one by hand"
	if from := plat.About().ByHand; from != "" {
		f.WayOut += " (" + from + ")"
	}
	f.WayOut += " and plan again."
	return f
}

// CheckConfig gives the findings against a configuration on any host.
func CheckConfig(d opensm.Request, p PlanFacts) []finding.Finding {
	var all []finding.Finding
	all = append(all, checkRivals(d, p)...)
	all = append(all, CheckPartitions(d.Partitions, p.Lab.Ports, d.PortGUID)...)
	if other := p.OtherPartitions; other != nil {
		f := finding.PartitionsDiffer.Find("The partitions of %s on %s differ from those of %s on %s.", d.PortGUID, d.Host,
			other.PortGUID, other.Host)
		f.Summary += fmt.Sprintf(" (%s and %s)", d.Host, other.Host)
		all = append(all, f)
	}
	if len(p.Short) > 0 {
		all = append(all, findShort(d, p.Short))
	}
	return append(all, checkGUIDs(d, p.Lab)...)
}
