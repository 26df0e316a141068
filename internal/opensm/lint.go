package opensm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// defaultGroupMTU is the MTU of a group of which the partition file says none.
const defaultGroupMTU = 2048

// MemberPort is what is known of a port that a partition may have as a member.
type MemberPort struct {
	Where string // "intel9 0000:01:00.0 port 1"
	MTU   int    // largest IB MTU in bytes; 0 if unknown
	Rate  int    // tenths of Gb/s of the link as it is; 0 if unknown
}

// Lint gives the findings on partitions. ports are the known ports, by GUID as the file
// writes it; own is that of the subnet manager.
func Lint(all []opensm.Partition, ports map[string]MemberPort, own ib.GUID) []finding.Finding {
	if len(all) == 0 {
		return nil
	}
	found := lintDefault(all)
	found = append(found, lintContradictions(all)...)
	for _, p := range all {
		found = append(found, lintGroup(p, ports, own)...)
		found = append(found, lintLimited(p, ports)...)
	}
	return found
}

func lintDefault(all []opensm.Partition) []finding.Finding {
	i := slices.IndexFunc(all, func(p opensm.Partition) bool { return p.PKey == opensm.DefaultPKey })
	if i < 0 {
		names := make([]string, len(all))
		for j, p := range all {
			names[j] = p.Name
		}
		return []finding.Finding{finding.PartitionsWithoutDefault.Find("partitions has %s and no %q (P_Key 0xffff).",
			strings.Join(names, ", "), opensm.DefaultPartition)}
	}
	p := all[i]
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

func lintContradictions(all []opensm.Partition) []finding.Finding {
	var found []finding.Finding
	first := map[uint16]string{}
	for _, p := range all {
		if name, twice := first[p.PKey]; twice {
			found = append(found, finding.PartitionsContradict.Find("Partitions %q and %q have the P_Key 0x%04x.", name, p.Name,
				p.PKey|0x8000))
		}
		first[p.PKey] = p.Name
		seen := map[string]bool{}
		for _, m := range p.Members {
			if seen[m.Port] {
				found = append(found, finding.PartitionsContradict.Find("Partition %q has %s twice, as full and as limited member "+
					"or in two spellings.", p.Name, m.Port))
			}
			seen[m.Port] = true
		}
	}
	return found
}

// lintGroup compares the broadcast group with the ports that are to join it. A named port is refused,
// and so is the subnet manager's own, which is in every keyword, where the configuration sets what the
// port lacks. Another port that a keyword brings in may be on another fabric, or may need no IPoIB.
func lintGroup(p opensm.Partition, ports map[string]MemberPort, own ib.GUID) []finding.Finding {
	if !p.IPoIB {
		return nil
	}
	var weak []string
	certain := false
	for guid, port := range byKey(ports) {
		problem, sure := port.misses(p, guid, guid == own.String())
		if problem != "" {
			weak = append(weak, fmt.Sprintf("%s (%s) %s", guid, port.Where, problem))
			certain = certain || sure
		}
	}
	if len(weak) == 0 {
		return nil
	}
	f := finding.BroadcastGroupUnfit.Find("Partition %q: %s.", p.Name, strings.Join(weak, "; "))
	if !certain {
		f.Severity = finding.Warn
		f.Summary = "A broadcast group is more than a port can join"
	}
	return []finding.Finding{f}
}

// misses says what a port lacks for the group of a partition that it is in, and whether that is a
// reason to refuse.
func (port MemberPort) misses(p opensm.Partition, guid string, own bool) (problem string, sure bool) {
	all, named := names(p, "ALL") || names(p, "ALL_CAS"), names(p, guid)
	own = own && (all || names(p, "SELF"))
	if !all && !named && !own {
		return "", false
	}
	problem = port.weaker(MemberPort{MTU: cmp.Or(p.MTU, defaultGroupMTU), Rate: cmp.Or(p.Rate, 100)})
	return problem, named || own && port.weaker(MemberPort{MTU: p.MTU, Rate: p.Rate}) != ""
}

func names(p opensm.Partition, member string) bool {
	return slices.ContainsFunc(p.Members, func(m opensm.Member) bool { return m.Port == member })
}

// weaker says what a port lacks for a group; empty if nothing is known to be missing.
func (port MemberPort) weaker(group MemberPort) string {
	switch {
	case port.MTU != 0 && port.MTU < group.MTU:
		return fmt.Sprintf("has IB MTU %d, the group %d", port.MTU, group.MTU)
	case port.Rate != 0 && port.Rate < group.Rate:
		return fmt.Sprintf("has %s Gb/s, the group %s", gigabits(port.Rate), gigabits(group.Rate))
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

// lintLimited looks for partitions whose members cannot talk: two or more limited ones
// without a full one.
func lintLimited(p opensm.Partition, ports map[string]MemberPort) []finding.Finding {
	var limited []string
	for _, m := range p.Members {
		if m.Membership != opensm.Limited {
			return nil
		}
		name := m.Port
		if port, known := ports[m.Port]; known {
			name += " (" + port.Where + ")"
		}
		limited = append(limited, name)
	}
	many := slices.ContainsFunc(p.Members, func(m opensm.Member) bool { return strings.HasPrefix(m.Port, "ALL") })
	if len(limited) < 2 && !many {
		return nil
	}
	return []finding.Finding{finding.PartitionLimitedOnly.Find("Partition %q has limited members only: %s.", p.Name,
		strings.Join(limited, ", "))}
}
