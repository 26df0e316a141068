package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
)

// Group is what is known of the broadcast group that an interface is to join. Its subnet manager makes it, for
// packets of one size; MTUs are in bytes, of InfiniBand, and zero if they are not known.
type Group struct {
	Live    int    // of the fabric now
	Planned int    // what every subnet manager of this configuration gives it
	By      string // one of these
	Changes bool   // this plan creates or changes a subnet manager
	Here    bool   // one of the configuration is seen on the fabric of the port
}

// NeedsGroup reports whether a configuration needs more than what every broadcast group carries.
func NeedsGroup(c ipoib.Config) bool {
	return c.Mode == ib.ModeDatagram && c.MTU > ipoib.SafeDatagramMTU && c.MTU+ib.DatagramOverhead <= largestIBMTU
}

// group compares the MTU with that of the broadcast group. Linux takes the smaller one without a word.
func (c *checker) group(g Group) {
	isAbovePort := func(f finding.Finding) bool { return f.Rule == finding.MTUAbovePort }
	// The port's own limit is the harder one, and its finding has the better way out.
	if !NeedsGroup(c.d.Config) || slices.ContainsFunc(c.found, isAbovePort) {
		return
	}
	need := c.d.Config.MTU + ib.DatagramOverhead
	if g.Live == 0 && c.look.JoinedMTU() >= c.d.Config.MTU { // one that shows less may have been set to less
		g.Live = need
	}
	mtu, byPlan := g.toCome()
	if mtu >= need {
		return
	}
	f := finding.MTUDependsOnFabric.Find("mtu = %d with mode = \"datagram\" needs a broadcast group of at least %d bytes.",
		c.d.Config.MTU, need)
	if mtu != 0 {
		f = c.smallGroup(f, g, byPlan)
	}
	// Only what is certain refuses. What nobody knows yet is a warning: the kernel takes the smaller MTU, and the
	// next plan shows it.
	if mtu != 0 && (!byPlan || g.decides(c.look.SMLID != 0, need)) {
		f.Severity, f.Summary = finding.Refuse, "Refusing a datagram MTU that the broadcast group does not carry"
	}
	c.add(f)
}

// toCome is the MTU that the group has when the interface joins it, and whether a subnet manager of the plan gives it.
func (g Group) toCome() (mtu int, byPlan bool) {
	if g.Planned != 0 && (g.Live == 0 || g.Changes) {
		return g.Planned, true
	}
	return g.Live, false
}

// decides reports whether what the plan gives the group is certain to be too little. What serves a port now may be
// another subnet manager than that of the plan, of a fabric of its own.
func (g Group) decides(served bool, need int) bool {
	return g.Here || !served || g.Live != 0 && g.Live < need
}

// smallGroup says who gives a group too little.
func (c *checker) smallGroup(f finding.Finding, g Group, byPlan bool) finding.Finding {
	pkey := cmp.Or(c.d.PKey, ipoib.DefaultPKey)
	if byPlan {
		f.Evidence += fmt.Sprintf(" The subnet manager on port %s gives that of P_Key 0x%04x %d bytes.", g.By, pkey,
			g.Planned)
		return f.WithWayOut(fmt.Sprintf("Write mtu = 4096 in that partition of its infiniband_opensm, or use mtu = %d here.",
			ipoib.SafeDatagramMTU))
	}
	f.Evidence += fmt.Sprintf(" That of P_Key 0x%04x on the fabric of port %s has %d bytes.", pkey, c.d.PortGUID, g.Live)
	return f.WithWayOut(fmt.Sprintf("Use mtu = %d. Or have its subnet manager give the partition 4096 bytes, with "+
		"mtu = 4096 of infiniband_opensm. If this plan does that, write depends_on with its address into this resource.",
		ipoib.SafeDatagramMTU))
}
