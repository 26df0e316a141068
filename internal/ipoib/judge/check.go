package judge

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// PlanFacts is what other resources of the same plan do before this one is applied.
type PlanFacts struct {
	// Port is true if the port GUID is not there yet but a resource of this plan
	// will write it.
	Port bool
	// PortUnknown is true if it is not known yet which port it will be.
	PortUnknown bool
	// Carrier is the present name of the interface whose port will get the port GUID;
	// empty if there is none.
	Carrier string
	// BackupPort is Port or LinkType of the backup of a bond.
	BackupPort bool
	// LinkType is true if a resource of this plan will make the port InfiniBand.
	LinkType bool
	// Ethernet is true if a resource of this plan will make the port Ethernet.
	Ethernet bool
	// Waits is true if the port becomes InfiniBand with a restart that is not planned.
	Waits bool
	// Group is what is known of the broadcast group that the interface is to join.
	Group Group
	// SM is true if a resource of this plan will run a subnet manager on the fabric.
	SM bool
	// Former is the bond of the interface that this plan replaces by this one; empty if that is none.
	Former string
	// Held is true if the state has what is asked for.
	Held bool
	// LookedAfter are interfaces of ports that the host had, whose files a resource of this
	// plan keeps right or removes: see found.Look.Awaited.
	LookedAfter []ipoib.Ref
	// Leaving are interfaces of the host that this plan removes before it makes this one.
	Leaving []ipoib.Ref
}

// Check gives the findings against d on this host. It neither asks nor changes the
// host. What only the apply can see is left to package change, which checks again. While the
// port is not known, it judges the host and the settings.
func Check(l *found.Look, d ipoib.Request, p PlanFacts) []finding.Finding {
	plat, err := platform.Of(l.Snapshot())
	if err != nil {
		return []finding.Finding{finding.IPoIBUnsupported.Find("%v.", err)}
	}
	// Before anything is judged: files that this plan removes would else stand in the way of what replaces them.
	if l = l.Without(p.Leaving, p.LookedAfter); p.PortUnknown {
		l = l.WithoutPort()
	}
	c := &checker{look: l, d: d, portUnknown: p.PortUnknown, held: p.Held, former: p.Former}
	c.config()
	c.found = append(c.found, platform.CheckPort(l.Snapshot(), plat, d.PortGUID, "ib_ipoib")...)
	if c.portUnknown {
		c.anyMode()
	} else {
		c.port(p)
	}
	c.group(p.Group)
	c.carrier(p)
	c.checkCarrier(p)
	if plat.About().Kind == platform.KindTrueNAS {
		c.trueNAS()
	} else {
		c.stackFindings()
	}
	c.dhcp()
	c.bond(p.BackupPort)
	c.found = append(c.found, c.overlap(d.Config.Addresses, p.Carrier, p.Leaving)...)
	c.lease()
	// With a bond before, every file of it goes: there is no setting to keep in it.
	if c.former == "" {
		c.checkAdded()
	}
	c.checkHidden()
	c.found = append(c.found, platform.CheckBoot(l.Snapshot(), l.NotAtBoot)...)
	c.defaultRoute()
	c.checkUndone()
	return c.found
}

// CheckRemove gives the findings against a removal. Like a change, it can cut the
// session and storage.
func CheckRemove(l *found.Look, d ipoib.Request) []finding.Finding {
	// Nothing is asked for, so that everything which the interface has is what ends.
	c := &checker{look: l, d: ipoib.Request{Host: d.Host, PortGUID: d.PortGUID, Consent: d.Consent}}
	if !l.Removable() {
		return nil
	}
	c.session()
	c.checkAdded()
	c.checkStays()
	for i, f := range c.found {
		if f.Asks() {
			// A destroy sees only the configuration that an apply has stored.
			c.found[i].WayOut = "If that is acceptable, write the line below into the resource and apply, so that the state " +
				"holds it. Then destroy."
		}
	}
	return c.found
}
