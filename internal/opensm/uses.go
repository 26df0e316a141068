package opensm

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Uses names the subnet manager of a port, whoever has set it up. Where systemd is silent,
// what the port shows decides.
func Uses(s *inventory.Snapshot, port ib.GUID) []string {
	o := Observe(s, port)
	switch {
	case o.Managed || o.Listed || fact.Yes(o.Active):
		return []string{"subnet manager " + o.Unit}
	case fact.Yes(o.IsSM):
		return []string{"a subnet manager"}
	}
	return nil
}

// onEthernet is about a port that is Ethernet, or that this plan makes so.
func onEthernet(s *inventory.Snapshot, d Request, o Observation, p PlanFacts) finding.Finding {
	switch {
	case o.LinkLayer == "Ethernet" && p.LinkType:
		return finding.OpensmPostponed.Find("Port %s of %s is in Ethernet mode now.", d.PortGUID, s.Host)
	case o.LinkLayer == "Ethernet" && p.Waits:
		return finding.OpensmPortEthernet.Find("Port %s of %s has link layer Ethernet.", d.PortGUID, s.Host).BeforeRestart()
	case o.LinkLayer == "Ethernet":
		return finding.OpensmPortEthernet.Find("Port %s of %s has link layer Ethernet.", d.PortGUID, s.Host)
	}
	return finding.OpensmPortEthernet.Find("This plan makes port %s of %s Ethernet.", d.PortGUID, s.Host)
}
