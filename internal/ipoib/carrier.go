package ipoib

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// joinTimeout is how long an interface may take to join its broadcast group before an apply says
// that it has not.
const joinTimeout = 3 * time.Second

// idle reports whether the interface is up and gets no carrier, for a reason that lies outside of
// it.
func (o Observation) idle() bool {
	return o.Present && o.Up && !o.Carrier && o.OtherGUID.IsZero() && o.LinkLayer == "InfiniBand"
}

// checkCarrier names an interface that should carry something and does not. What the findings
// about the port say already is not said twice.
func (c *checker) checkCarrier(p PlanFacts) {
	o := c.observed
	switch {
	case c.portUnknown, !o.idle(), c.waits(), o.Physical == "":
	case o.outside():
		c.add(o.withoutPartition(c.d, c.s.Host))
	case o.Physical == "LinkUp" && o.PortState != "Active" && (o.Unserved() || p.SM):
		// IP020 or IP034 says it, or a subnet manager of this plan makes the port Active.
	default:
		c.add(o.withoutCarrier(c.d, c.s.Host))
	}
}

// CheckServed names an interface without a carrier whose port no subnet manager serves, although
// one of the configuration is on its fabric.
func CheckServed(s *inventory.Snapshot, d Request) []finding.Finding {
	o := Observe(s, d.PortGUID, d.PKey)
	if !o.idle() || !o.Unserved() {
		return nil
	}
	return []finding.Finding{o.withoutCarrier(d, s.Host)}
}

// withoutCarrier says why the interface has no carrier, as far as its port tells.
func (o Observation) withoutCarrier(d Request, host string) finding.Finding {
	state := fmt.Sprintf("state %s, physical state %s", cmp.Or(o.PortState, "unknown"), o.Physical)
	var cause, wayOut string
	switch {
	case o.Physical == "Disabled":
		cause = "is disabled (" + state + ")"
		wayOut = "Enable the port, for example with infiniband_port."
	case o.Physical != "LinkUp":
		cause = "has no link (" + state + ")"
		wayOut = "Plug the cable in, and see that the other end is on and is no Ethernet port."
	case o.PortState == "Active":
		cause = "is Active, so the interface could not join the broadcast group of the default partition"
		wayOut = "Look at the partition Default of the infiniband_opensm that is master of this fabric: it needs ipoib = " +
			"true, this port among its members, and an mtu and rate_gbps that this port carries. The log of the kernel has " +
			"the reason (dmesg: multicast join failed)."
	default:
		cause = "has a link, and no subnet manager makes it Active (" + state + fmt.Sprintf(", SM LID %d)", o.SMLID)
		wayOut = "See that a subnet manager runs on this fabric, for example with infiniband_opensm."
	}
	return finding.InterfaceWithoutCarrier.Find("%s of %s: port %s %s.", o.Name, host, d.PortGUID, cause).WithWayOut(
		wayOut + " The interface then gets its carrier by itself.")
}

// groupMissing says that an interface has not joined its broadcast group although its port is
// Active; empty if it has.
func (o Observation) groupMissing(d Request, host string) string {
	switch {
	case !o.idle() || o.PortState != "Active":
		return ""
	case o.outside():
		f := o.withoutPartition(d, host)
		return f.Summary + ". " + f.Detail()
	}
	f := o.withoutCarrier(d, host)
	return f.Summary + ". " + f.Detail()
}

// awaitGroup waits a moment for an interface to join its broadcast group, so that the state has
// its carrier. An interface that does not come to it is no failure: the partition may be set up
// later.
func (c *change) awaitGroup(ctx context.Context) {
	if c.before.PortState != "Active" {
		return
	}
	_ = within(ctx, min(joinTimeout, c.o.SettleTimeout), c.o.Poll, func(ctx context.Context) (bool, error) {
		now, err := readLive(ctx, c.h, c.t.name)
		return now.Carrier, err
	})
}

// portMTU refuses an MTU that the kernel would refuse, where the driver shows what the port
// carries.
func (c *checker) portMTU() {
	want := c.d.Config
	_, p, ok := c.s.CardByPortGUID(c.d.PortGUID)
	if !ok || p.IBMTU == 0 || want.Mode != ib.ModeDatagram || want.MTU <= safeDatagramMTU || want.MTU > largestIBMTU {
		return
	}
	if limit := ib.MaxMTU(ib.ModeDatagram, p.IBMTU); limit != 0 && want.MTU > limit {
		// The port alone rules it out, whatever the fabric allows.
		c.found = slices.DeleteFunc(c.found, func(f finding.Finding) bool { return f.Rule == finding.MTUDependsOnFabric })
		c.add(finding.MTUAbovePort.Find("mtu = %d with mode = \"datagram\": port %s of %s carries packets of at most %d "+
			"bytes, which leaves %d.", want.MTU, c.d.PortGUID, c.s.Host, p.IBMTU, limit).WithWayOut(
			fmt.Sprintf("Use mtu = %d. Or use mode = \"connected\" if the card supports it.", min(limit, safeDatagramMTU))))
	}
}
