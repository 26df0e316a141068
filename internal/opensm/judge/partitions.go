package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
)

// CheckPartitions gives the findings on partitions. ports are the known ports, by GUID as the file
// writes it; own is that of the subnet manager.
func CheckPartitions(partitions []opensm.Partition, ports map[string]found.MemberPort, own ib.GUID) []finding.Finding {
	if len(partitions) == 0 {
		return nil
	}
	all := checkDefault(partitions)
	for _, sentence := range opensm.FindContradictions(partitions) {
		all = append(all, finding.PartitionsContradict.Find("%s", sentence))
	}
	for _, p := range partitions {
		all = append(all, checkGroup(p, ports, own)...)
	}
	return all
}

// checkDefault is about the partition of every port. Where a file has none, opensm makes all ports but its own
// limited members of it, and limited members do not reach each other.
func checkDefault(all []opensm.Partition) []finding.Finding {
	p, there := opensm.FindDefault(all)
	if !there {
		names := make([]string, len(all))
		for j, p := range all {
			names[j] = p.Name
		}
		return []finding.Finding{finding.PartitionsWithoutDefault.Find("partitions has %s and no %q (P_Key 0xffff).",
			strings.Join(names, ", "), opensm.DefaultPartition)}
	}
	full := slices.ContainsFunc(p.Members, func(m opensm.Member) bool {
		return (m.Port == "ALL" || m.Port == "ALL_CAS") && m.Membership != opensm.Limited
	})
	switch {
	case !p.IPoIB && !full:
		return []finding.Finding{finding.DefaultPartitionWeak.Find("Partition %q has no ipoib = true, and not all adapters "+
			"are full members of it.", p.Name)}
	case !p.IPoIB:
		return []finding.Finding{finding.DefaultPartitionWeak.Find("Partition %q has no ipoib = true.", p.Name)}
	case !full:
		return []finding.Finding{finding.DefaultPartitionWeak.Find("Not all adapters are full members of partition %q.",
			p.Name)}
	}
	return nil
}

// checkGroup compares the broadcast group with the ports that are to join it. A named port is refused,
// and so is the subnet manager's own, which is in every keyword, where the configuration sets what the
// port lacks. Another port that a keyword brings in may be on another fabric, or may need no IPoIB.
func checkGroup(p opensm.Partition, ports map[string]found.MemberPort, own ib.GUID) []finding.Finding {
	if !p.IPoIB {
		return nil
	}
	var weak []string
	certain := false
	for _, guid := range slices.Sorted(maps.Keys(ports)) {
		problem, sure := findMissing(ports[guid], p, guid, guid == own.String())
		if problem != "" {
			weak = append(weak, fmt.Sprintf("%s (%s) %s", guid, ports[guid].Where, problem))
			certain = certain || sure
		}
	}
	if len(weak) == 0 {
		return nil
	}
	// opensm makes the group without a complaint. A port that has less is refused when its IPoIB interface joins:
	// the kernel logs status -22, and the interface has no carrier.
	f := finding.BroadcastGroupUnfit.Find("Partition %q: %s.", p.Name, strings.Join(weak, "; "))
	if !certain {
		f.Severity = finding.Warn
		f.Summary = "A broadcast group is more than a port can join"
	}
	return []finding.Finding{f}
}

// findMissing says what a port lacks for the group of a partition that it is in, and whether that is a
// reason to refuse.
func findMissing(port found.MemberPort, p opensm.Partition, guid string,
	own bool) (problem string, sure bool) {
	all, named := isMember(p, "ALL") || isMember(p, "ALL_CAS"), isMember(p, guid)
	own = own && (all || isMember(p, "SELF"))
	if !all && !named && !own {
		return "", false
	}
	// Zero is opensm's default of 2048 bytes and 10 Gb/s, which a port may lack too.
	problem = findWeakness(port, cmp.Or(p.MTU, opensm.DefaultGroupMTU), cmp.Or(p.Rate, 100))
	return problem, named || own && findWeakness(port, p.MTU, p.Rate) != ""
}

// isMember reports whether a GUID or a keyword stands among the members.
func isMember(p opensm.Partition, member string) bool {
	return slices.ContainsFunc(p.Members, func(m opensm.Member) bool { return m.Port == member })
}

// findWeakness says what a port lacks for a group of that MTU in bytes and rate in tenths of Gb/s; empty if nothing
// is known to be missing.
func findWeakness(port found.MemberPort, mtu, rate int) string {
	switch {
	case port.MTU != 0 && port.MTU < mtu:
		return fmt.Sprintf("has IB MTU %d, the group %d", port.MTU, mtu)
	case port.Rate != 0 && port.Rate < rate:
		return fmt.Sprintf("has %s Gb/s, the group %s", gigabits(port.Rate), gigabits(rate))
	}
	return ""
}

// gigabits writes tenths of Gb/s.
func gigabits(tenths int) string {
	if tenths%10 == 0 {
		return strconv.Itoa(tenths / 10)
	}
	return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
}

// CheckGroups compares the MTU of broadcast groups with the ports of a fabric whose MTU the hosts do not show.
func CheckGroups(d opensm.Request, g found.Groups) []finding.Finding {
	if g.Why != "" {
		return []finding.Finding{findMTUUnknown(g.Why)}
	}
	var all []finding.Finding
	for _, p := range d.Partitions {
		if p.MTU > opensm.DefaultGroupMTU {
			all = append(all, checkGroup(p, g.Ports, d.PortGUID)...)
		}
	}
	if len(g.Silent) > 0 {
		all = append(all, findMTUUnknown("These ports did not say their IB MTU: "+strings.Join(g.Silent, ", ")+"."))
	}
	return all
}

// findShort is about interfaces that ask for more than their broadcast group will carry. That on the port of the
// subnet manager itself is on its fabric.
func findShort(d opensm.Request, short []string) finding.Finding {
	f := finding.MTUDependsOnFabric.Find("mtu of infiniband_ipoib_interface %s is more than the broadcast group of its "+
		"partition carries here.", strings.Join(short, ", ")).At("partitions")
	own := d.Host + "/" + d.PortGUID.String()
	if slices.ContainsFunc(short, func(port string) bool { return strings.HasPrefix(port, own) }) {
		f.Severity, f.Summary = finding.Refuse, "Refusing a broadcast group that is too small for an interface of this plan"
	}
	return f
}

// findMTUUnknown says that a group may have more than some port.
func findMTUUnknown(why string) finding.Finding {
	f := finding.BroadcastGroupUnfit.Find("%s", why)
	f.Severity, f.Summary = finding.Warn, "Whether every member can join a broadcast group is not known"
	f.WayOut = "Read MtuCap of these ports with smpquery portinfo, LID and port number. If one has less than the group, " +
		"lower mtu of the partition."
	return f
}
