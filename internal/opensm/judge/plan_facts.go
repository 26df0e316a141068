package judge

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
)

// PlanFacts is what other resources of the same configuration say.
type PlanFacts struct {
	// Port is true if the port GUID is not there yet but a resource of this plan
	// will write it.
	Port bool
	// PortUnknown is true if it is not known yet which port it will be, PartitionsUnknown
	// if a part of the partitions is not.
	PortUnknown, PartitionsUnknown bool
	// LinkType is true if a resource of this plan will make the port InfiniBand.
	LinkType bool
	// Ethernet is true if a resource of this plan will make the port Ethernet.
	Ethernet bool
	// Waits is true if the port becomes InfiniBand with a restart that is not planned.
	Waits bool
	// Rivals are other SMs of the configuration with the same priority that may be on the
	// same fabric: the first few, and the number of the rest.
	Rivals     []opensm.Request
	MoreRivals int
	// MayLeave is true while planning: an engine plans the configuration before it plans a destroy, which
	// starts nothing.
	MayLeave bool
	// Lab are the ports of all managed hosts; the zero value where the hosts are
	// not compared, because nothing is to change.
	Lab found.Lab
	// Short are IPoIB interfaces of the configuration that need a larger broadcast group than this one makes.
	Short []string
	// OtherPartitions is another SM of the configuration whose partitions differ.
	OtherPartitions *opensm.Request
	// OtherKeys is another SM of the configuration whose keys differ, on a fabric that is not known to be another.
	OtherKeys *opensm.Request
}
