package opensm

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Planned is what other resources of the same configuration say.
type Planned struct {
	// Port is true if the port GUID is not there yet but a resource of this plan
	// will write it.
	Port bool
	// LinkType is true if a resource of this plan will make the port InfiniBand.
	LinkType bool
	// Others are the other SMs of the configuration.
	Others []Desired
}

// Check finds what speaks against d on this host. It neither asks nor changes
// the host.
func Check(s *inventory.Snapshot, d Desired, p Planned) []safety.Finding {
	return nil
}
