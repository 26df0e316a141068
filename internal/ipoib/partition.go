package ipoib

import (
	"context"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// joinTimeout is how long a P_Key interface may take to join its broadcast group before an apply
// says that it has not.
const joinTimeout = 3 * time.Second

// outside reports whether an interface of a partition is up and gets no carrier, although the
// subnet manager serves its port.
func (o Observation) outside() bool {
	return o.Parent != "" && o.Present && o.Up && !o.Carrier && o.OtherGUID.IsZero() && o.LinkLayer == "InfiniBand" &&
		o.PortState == "Active"
}

// checkOutside says of an interface that its partition does not carry it.
func (c *checker) checkOutside() {
	if c.observed.outside() {
		c.add(c.observed.withoutPartition(c.d, c.s.Host))
	}
}

func (o Observation) withoutPartition(d Request, host string) finding.Finding {
	return finding.PKeyWithoutCarrier.Find("%s of %s is up and has no carrier, and port %s is Active. The P_Key is "+
		"0x%04x.", o.Name, host, d.PortGUID, d.PKey)
}

// awaitGroup waits a moment for an interface of a partition to join its broadcast group, so that
// the state has its carrier. An interface that does not come to it is no failure: the partition
// may be set up later.
func (c *change) awaitGroup(ctx context.Context) {
	if c.t.pkey == 0 || c.before.PortState != "Active" {
		return
	}
	_ = within(ctx, min(joinTimeout, c.o.SettleTimeout), c.o.Poll, func(ctx context.Context) (bool, error) {
		now, err := readLive(ctx, c.h, c.t.name)
		return now.Carrier, err
	})
}
