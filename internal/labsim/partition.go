package labsim

import (
	"fmt"
	"sort"
)

// Partition is a partition of a subnet, as a subnet manager was told of it.
type Partition struct {
	Key     uint16 // without the membership bit
	MTU     int    // of its broadcast group; 0: it has none
	Rate    int    // code of the group's rate
	MLID    uint16 // of the group, given by the subnet manager
	Members []PartitionMember
}

// PartitionMember is one entry of a partition. Of two that mean one port the
// later one counts (opensm 3.3.23).
type PartitionMember struct {
	GUID uint64 // of a port; 0 if Word says which ports
	Word string // "ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF"
	Full bool
}

// defaultKey is the P_Key of the default partition without its membership bit.
const defaultKey = 0x7fff

// PKeyCapacity is how many P_Keys a port of an adapter holds.
const PKeyCapacity = 128

// firstMLID is where multicast LIDs begin.
const firstMLID = 0xc000

// table is the P_Key table that the subnet manager gives an adapter's port: the
// default partition first, then by number.
func (sm *SM) table(guid uint64) []uint16 {
	if sm.Partitions == nil {
		return []uint16{defaultKey | 0x8000}
	}
	var keys []uint16
	for _, p := range sm.Partitions {
		if member, full := p.has(guid, guid == sm.guid()); member {
			key := p.Key
			if full {
				key |= 0x8000
			}
			keys = append(keys, key)
		}
	}
	sort.SliceStable(keys, func(i, j int) bool {
		a, b := keys[i]&defaultKey, keys[j]&defaultKey
		return a != b && (a == defaultKey || b != defaultKey && a < b)
	})
	return keys
}

func (p Partition) has(guid uint64, self bool) (member, full bool) {
	for _, m := range p.Members {
		switch {
		case m.Word == "ALL", m.Word == "ALL_CAS", m.Word == "SELF" && self, m.Word == "" && m.GUID == guid:
			member, full = true, m.Full
		}
	}
	return member, full
}

// Groups are the broadcast groups of the subnet by P_Key with the full bit.
func (sm *SM) Groups() []Partition {
	if sm.Partitions == nil {
		return []Partition{{Key: defaultKey, MTU: sm.GroupMTU, Rate: 3, MLID: firstMLID}}
	}
	var groups []Partition
	for _, p := range sm.Partitions {
		if p.MTU > 0 {
			p.MLID = firstMLID + uint16(len(groups))
			groups = append(groups, p)
		}
	}
	sort.Slice(groups, func(i, j int) bool { return groups[i].Key < groups[j].Key })
	return groups
}

// keysOr is a P_Key table as it is read: a port begins with the default key.
func keysOr(table []uint16) []uint16 {
	if table == nil {
		return []uint16{defaultKey | 0x8000}
	}
	return table
}

func pkeyText(v PortView, i int) string {
	if i < len(v.PKeys) {
		return fmt.Sprintf("0x%04x", v.PKeys[i])
	}
	return "0x0000"
}

// admits says whether an interface of a P_Key comes up: its port has the key,
// and the partition has a group that the port can join.
func (sm *SM) admits(d *Netdev) bool {
	if sm.Partitions == nil {
		_, ok := sm.PKeys[d.PKey&defaultKey]
		return ok
	}
	member := false
	for _, key := range sm.table(d.Port.Card.Running().GUIDs[d.Port.Number]) {
		member = member || key&defaultKey == d.PKey&defaultKey
	}
	for _, g := range sm.Groups() {
		if g.Key == d.PKey&defaultKey {
			return member && g.MTU <= d.Port.Card.Config.MaxIBMTU
		}
	}
	return false
}

// MasterGroups are the broadcast groups of the subnet that port is in.
func (l *Lab) MasterGroups(port *Port) []Partition {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sm := l.masterOf(port); sm != nil {
		return sm.Groups()
	}
	return nil
}

// masterOf is the running master of a port's subnet, or nil. l.mu is held.
func (l *Lab) masterOf(port *Port) *SM {
	in := map[*Port]bool{}
	for _, p := range l.subnetOf(port).ports {
		in[p] = true
	}
	for _, sm := range l.sms {
		if sm.state == SMMaster && in[sm.Port] {
			return sm
		}
	}
	return nil
}
