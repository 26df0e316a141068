package ipoib

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Planned is what other resources of the same plan will have done before this
// one is applied.
type Planned struct {
	// Port is true if the port GUID is not there yet but a resource of this plan
	// will write it.
	Port bool
	// LinkType is true if a resource of this plan will make the port InfiniBand.
	LinkType bool
}

// Check finds what speaks against d on this host. It neither asks nor changes
// the host. What cannot be seen before other resources are applied is postponed:
// it is checked again at apply.
func Check(s *inventory.Snapshot, d Desired, p Planned) []safety.Finding {
	return nil
}
