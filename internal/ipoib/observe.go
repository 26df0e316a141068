package ipoib

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Observe reads from a snapshot what is on the host for one port.
func Observe(s *inventory.Snapshot, port ib.GUID, pkey uint16) Observed {
	return Observed{}
}

// Report is what the state should show: of each setting, what differs from
// known, the live value before the persisted one, so that a plan shows drift of
// either; known itself where both agree with it. With a nil known, as after an
// import, it is what is persisted, or else live.
func (o Observed) Report(known *Config) Config { return o.Live }
