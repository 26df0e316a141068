package opensm

import (
	"maps"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// The words of opensm's own files that a configuration uses as well.
type (
	// Tuning are the options of an instance besides its priority.
	Tuning = opensm.Tuning
	// Partition is one partition of a fabric.
	Partition = opensm.Partition
	// Member is one member of a partition.
	Member = opensm.Member
	// Membership is how a port belongs to a partition.
	Membership = opensm.Membership
	// Key says whether one of the secrets of a fabric is set.
	Key = opensm.Key
	// FabricKeys are the keys of a fabric, and Secret one of them.
	FabricKeys = opensm.FabricKeys
	Secret     = opensm.Secret
)

// Memberships, and the partition that every port needs.
const (
	Full             = opensm.Full
	Limited          = opensm.Limited
	Both             = opensm.Both
	DefaultPartition = opensm.DefaultPartition
	DefaultPKey      = opensm.DefaultPKey
	DefaultKey       = opensm.DefaultKey
)

// RoutingEngines returns the names that opensm knows.
func RoutingEngines() []string { return opensm.RoutingEngines }

// Rates returns those of a broadcast group in tenths of Gb/s, the lowest first.
func Rates() []int { return slices.Sorted(maps.Keys(opensm.RateCodes)) }

// Keywords returns the members that stand for many ports.
func Keywords() []string { return opensm.Keywords }

// SortPartitions brings partitions into the order in which they are written.
func SortPartitions(all []Partition) { opensm.Sort(all) }

// PartitionText is the partitions as opensm reads them. Equal texts mean the same.
func PartitionText(all []Partition) string { return opensm.PartitionsText("", all) }

// KeyOpen is a secret with the value that every opensm has.
const KeyOpen = "open"

// KeyWord says of a secret whether it is set: "open", "set", or "unknown".
func KeyWord(k Key) string {
	switch {
	case !k.Set.Known():
		return "unknown"
	case fact.Yes(k.Set):
		return "set"
	}
	return KeyOpen
}

// UnitName is the systemd unit of the instance on a port.
func UnitName(port ib.GUID) string { return opensm.Unit(port) }
