package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
)

// carrier finds what keeps the port from being served.
func (c *checker) carrier(p PlanFacts) {
	o := c.look
	switch {
	case c.portUnknown:
	case c.waits() && (!p.SM || o.Physical != "LinkUp"): // without a link no subnet manager reaches the port
		c.add(finding.InterfaceNotActivated.Find("Port %s of %s: state %s, physical state %s.", c.d.PortGUID, c.look.Host,
			cmp.Or(o.PortState, "unknown"), cmp.Or(o.Physical, "unknown")))
	case p.SM:
	// Not read is not "no manager": a finding that asks to start a second one could take the fabric apart.
	case o.LinkLayer == "InfiniBand" && o.Physical == "" && !o.Sleeping:
		f := finding.PortWithoutSubnetManager.Find("Port %s of %s: its phys_state and sm_lid cannot be read.", c.d.PortGUID,
			c.look.Host)
		f.Summary = "It is not known whether a subnet manager serves this port"
		c.add(f)
	case o.Unserved():
		c.add(finding.PortWithoutSubnetManager.Find("Port %s of %s: physical state LinkUp, state %s, no SM LID.",
			c.d.PortGUID, c.look.Host, o.PortState))
	}
}

// waits reports whether NetworkManager would have to activate the interface, and does not
// as long as its port is not served.
func (c *checker) waits() bool {
	o := c.look
	if o.Bond.Name != "" { // each of its ports is looked at
		return false
	}
	if c.look.Stack != ipoib.StackNM && c.look.Stack != ipoib.StackNetplanNM || o.LinkLayer != "InfiniBand" ||
		o.Sleeping || o.PortState == "Active" || c.satisfied() {
		return false
	}
	// A takeover that leaves the interface alone asks NetworkManager for no activation.
	taken := o.Adopted(c.d)
	touched := slices.ContainsFunc(taken, func(f found.Unmanaged) bool { return o.Reconfigures(f, c.d.Config) != "" })
	return len(taken) == 0 || touched || o.LiveDiffers(c.d.Config)
}

// checkCarrier names an interface that should carry something and does not. What the findings
// about the port say already is not said twice.
func (c *checker) checkCarrier(p PlanFacts) {
	o := c.look
	switch {
	case c.portUnknown, !o.Idle(), c.waits(), o.Physical == "":
	case o.Outside():
		c.add(withoutPartition(o, c.d))
	case o.Physical == "LinkUp" && o.PortState != "Active" && (o.Unserved() || p.SM):
		// IP020 or IP034 says it, or a subnet manager of this plan makes the port Active.
	default:
		c.add(withoutCarrier(o, c.d))
	}
}

// CheckServed names an interface without a carrier whose port no subnet manager serves, although
// one of the configuration is on its fabric.
func CheckServed(l *found.Look, d ipoib.Request) []finding.Finding {
	if !l.Idle() || !l.Unserved() {
		return nil
	}
	return []finding.Finding{withoutCarrier(l, d)}
}

// withoutCarrier says why the interface has no carrier, as far as its port tells.
func withoutCarrier(l *found.Look, d ipoib.Request) finding.Finding {
	state := fmt.Sprintf("state %s, physical state %s", cmp.Or(l.PortState, "unknown"), l.Physical)
	var cause, wayOut string
	switch {
	case l.Physical == "Disabled":
		cause = "is disabled (" + state + ")"
		wayOut = "Enable the port, for example with infiniband_port."
	case l.Physical != "LinkUp":
		cause = "has no link (" + state + ")"
		wayOut = "Plug the cable in, and see that the other end is on and is no Ethernet port."
	case l.PortState == "Active":
		// opensm refuses a port that has less than the group, and only the kernel's log says so (status -22).
		cause = "is Active, so the interface could not join the broadcast group of the default partition"
		wayOut = "Look at the partition Default of the infiniband_opensm that is master of this fabric: it needs ipoib = " +
			"true, this port among its members, and an mtu and rate_gbps that this port carries. The log of the kernel has " +
			"the reason (dmesg: multicast join failed)."
	default:
		cause = "has a link, and no subnet manager makes it Active (" + state + fmt.Sprintf(", SM LID %d)", l.SMLID)
		wayOut = "See that a subnet manager runs on this fabric, for example with infiniband_opensm."
	}
	return finding.InterfaceWithoutCarrier.Find("%s of %s: port %s %s.", l.Name, l.Host, d.PortGUID, cause).WithWayOut(
		wayOut + " The interface then gets its carrier by itself.")
}

// withoutPartition is about a P_Key child: its port is served, so the partition is what is missing.
func withoutPartition(l *found.Look, d ipoib.Request) finding.Finding {
	return finding.PKeyWithoutCarrier.Find("%s of %s is up and has no carrier, and port %s is Active. The P_Key is "+
		"0x%04x.", l.Name, l.Host, d.PortGUID, d.PKey)
}

// GroupMissing says that an interface has not joined its broadcast group although its port is
// Active; empty if it has.
func GroupMissing(l *found.Look, d ipoib.Request) string {
	if !l.Idle() || l.PortState != "Active" {
		return ""
	}
	f := withoutCarrier(l, d)
	if l.Outside() {
		f = withoutPartition(l, d)
	}
	return f.Summary + ". " + f.Detail()
}

// NotActivated is the text of IP045, if it holds; else empty.
func NotActivated(l *found.Look, d ipoib.Request) string {
	for _, f := range Check(l, d, PlanFacts{}) {
		if f.Rule == finding.InterfaceNotActivated {
			return f.Detail()
		}
	}
	return ""
}

// CheckFabric gives a finding if no configured subnet manager is on the fabric of an
// unserved port. elsewhere names those managers.
func CheckFabric(d ipoib.Request, elsewhere []string) []finding.Finding {
	if len(elsewhere) == 0 {
		return nil
	}
	return []finding.Finding{finding.SubnetManagerElsewhere.Find("Port %s of %s does not reach %s.", d.PortGUID, d.Host,
		strings.Join(elsewhere, ", "))}
}
