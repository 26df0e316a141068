package opensm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// FindDefault returns the partition with the P_Key 0xffff, which every port needs.
func FindDefault(all []Partition) (Partition, bool) {
	i := slices.IndexFunc(all, func(p Partition) bool { return p.PKey == DefaultPKey })
	if i < 0 {
		return Partition{}, false
	}
	return all[i], true
}

// GroupMTUs are the MTUs in bytes of the broadcast groups of IPoIB that partitions have made, by P_Key without the bit
// of full members. Without partitions opensm makes that of the default partition.
func GroupMTUs(all []Partition) map[uint16]int {
	if len(all) == 0 {
		return map[uint16]int{DefaultPKey: DefaultGroupMTU}
	}
	groups := map[uint16]int{}
	for _, p := range all {
		if p.IPoIB {
			groups[p.PKey&DefaultPKey] = cmp.Or(p.MTU, DefaultGroupMTU)
		}
	}
	return groups
}

// FindContradictions says where opensm would silently take one of two things that partitions say, one
// sentence each.
func FindContradictions(all []Partition) []string {
	var found []string
	first := map[uint16]string{}
	for _, p := range all {
		if name, twice := first[p.PKey]; twice {
			found = append(found, fmt.Sprintf("Partitions %q and %q have the P_Key 0x%04x.", name, p.Name, p.PKey|0x8000))
		}
		first[p.PKey] = p.Name
		members := map[string]bool{}
		for _, m := range p.Members {
			if members[m.Port] {
				found = append(found, fmt.Sprintf("Partition %q has %s twice, as full and as limited member or in two spellings.",
					p.Name, m.Port))
			}
			members[m.Port] = true
		}
	}
	return found
}

// IsExpressible reports whether a configuration can have these partitions.
func IsExpressible(all []Partition) bool {
	names := map[string]bool{}
	for _, p := range all {
		isDefault := p.Name == DefaultPartition
		if names[p.Name] || p.Name == "" || strings.ContainsAny(p.Name, " \t\"'") || p.PKey == 0 ||
			isDefault != (p.PKey == DefaultPKey) || p.Special() || len(p.Members) == 0 {
			return false
		}
		names[p.Name] = true
		if slices.ContainsFunc(p.Members, func(m Member) bool { return m.Membership == Both }) {
			return false
		}
	}
	_, standard := FindDefault(all)
	return len(all) == 0 || standard && len(FindContradictions(all)) == 0
}
