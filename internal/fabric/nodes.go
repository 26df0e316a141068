package fabric

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Identity is what a node of a fabric is told apart by.
type Identity struct {
	Name  string    // description, printable
	GUIDs []ib.GUID // of node, system and ports, those that were seen
}

// CanLook reports whether a host can look at a fabric as it is, through a port that has a
// link. It asks nothing.
func CanLook(s *inventory.Snapshot) bool {
	return s.Modules["ib_umad"] && (s.Commands["sminfo"] || s.Packages["infiniband-diags"] != "")
}

// LinkedPort is an InfiniBand port that has a link.
type LinkedPort struct {
	Through
	Card ib.PCIAddress
	GUID ib.GUID
}

// LinkedPorts are the InfiniBand ports of a host that have a link, or may have one.
func LinkedPorts(s *inventory.Snapshot) (all []LinkedPort) {
	for _, c := range s.Cards {
		if c.Virtual || c.RDMADevice == "" {
			continue
		}
		for _, p := range c.Ports {
			// One whose state could not be read may have a link, and with it a fabric.
			if p.LinkLayer == "InfiniBand" && (p.Physical == "LinkUp" || p.Physical == "") {
				all = append(all, LinkedPort{Through{c.RDMADevice, p.Number}, c.PCI, p.PortGUID})
			}
		}
	}
	return all
}

// Identities walks the fabric behind a port for the identities of its nodes, and
// for nothing else: one command, where Observe gives four.
func Identities(ctx context.Context, h Runner, t Through) ([]Identity, error) {
	report, err := walk(ctx, h, t)
	if err != nil {
		return nil, err
	}
	all := make([]Identity, 0, len(report.Nodes))
	for _, n := range report.Nodes {
		id := Identity{Name: Printable(n.Name), GUIDs: []ib.GUID{n.GUID, n.SystemID}}
		for _, l := range n.Links {
			id.GUIDs = append(id.GUIDs, l.PortGUID)
		}
		all = append(all, id)
	}
	return all, nil
}
