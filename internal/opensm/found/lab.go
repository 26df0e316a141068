package found

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Lab are the ports of all managed hosts.
type Lab struct {
	Ports  map[string]MemberPort // by GUID as the partition file writes it
	Known  map[ib.GUID]string    // with a word on each
	Unseen string                // "hosts a, b" of the configuration that did not answer: their ports are not here
	// Ours are those with a subnet manager that Terraform manages, or is going to.
	Ours map[ib.GUID]bool
	// OurLIDs are their LIDs. Ports of two fabrics may have the same.
	OurLIDs map[uint16]bool
	// Duplicate has a line for each GUID that two InfiniBand cards or ports have.
	Duplicate map[ib.GUID][]string
	// Apart are those of them whose holders the configuration puts on fabrics of their own.
	Apart map[ib.GUID]bool
	// Fabric is the name of a port's fabric, of those that the configuration names.
	Fabric map[ib.GUID]string
}

// MemberPort is what is known of a port that a partition may have as a member.
type MemberPort struct {
	Where string // "intel9 0000:01:00.0 port 1"
	MTU   int    // largest IB MTU in bytes; 0 if unknown
	Rate  int    // tenths of Gb/s of the link as it is; 0 if unknown
}

// LabOf collects the ports of hosts. changing names the cards whose GUIDs this plan
// changes, which are not compared; planned names the ports for which it has a subnet
// manager, and fabric names the fabric of a port.
func LabOf(snapshots map[string]*inventory.Snapshot, changing func(host string, pci ib.PCIAddress) bool,
	planned func(host string, port ib.GUID) bool, fabric func(host string, port ib.GUID) string) Lab {
	lab := Lab{Ports: map[string]MemberPort{}, Known: map[ib.GUID]string{}, Ours: map[ib.GUID]bool{},
		OurLIDs:   map[uint16]bool{},
		Duplicate: map[ib.GUID][]string{}, Apart: map[ib.GUID]bool{}, Fabric: map[ib.GUID]string{}}
	owners, fabrics := map[ib.GUID][]string{}, map[ib.GUID][]string{}
	for _, name := range slices.Sorted(maps.Keys(snapshots)) {
		s := snapshots[name]
		for i := range s.Cards {
			if !changing(name, s.Cards[i].PCI) {
				lab.card(name, &s.Cards[i], owners)
			}
			for _, p := range s.Cards[i].Ports {
				if at := fabric(name, p.PortGUID); at != "" {
					lab.Fabric[p.PortGUID] = at
					fabrics[p.PortGUID] = append(fabrics[p.PortGUID], at)
				}
				if platform.IsOurs(s.Files[tool.DropInPath(p.PortGUID)].Content) || planned(name, p.PortGUID) {
					lab.Ours[p.PortGUID], lab.OurLIDs[p.LID] = true, true
				}
			}
		}
	}
	for g, where := range owners {
		if len(where) > 1 {
			lab.Duplicate[g] = where
			slices.Sort(fabrics[g])
			lab.Apart[g] = len(slices.Compact(fabrics[g])) == len(where)
		}
	}
	return lab
}

// card adds one card. A port without a link shows its GUID all the same, and a card in Ethernet mode takes part
// in no fabric.
func (lab *Lab) card(host string, c *inventory.Card, owners map[ib.GUID][]string) {
	infiniband := false
	for _, p := range c.Ports {
		if p.LinkLayer != "InfiniBand" {
			continue
		}
		infiniband = true
		where := fmt.Sprintf("%s %s port %d", host, c.PCI, p.Number)
		if p.PortGUID.IsNone() {
			continue
		}
		lab.Known[p.PortGUID] = where
		lab.Ports[p.PortGUID.String()] = MemberPort{Where: where, MTU: p.IBMTU, Rate: rate(p)}
		owners[p.PortGUID] = append(owners[p.PortGUID], where)
	}
	// The PCI functions of one mlx5 card may share the system image GUID only; each has
	// its own node GUID.
	if infiniband && !c.NodeGUID.IsZero() &&
		!slices.ContainsFunc(c.Ports, func(p inventory.Port) bool { return p.PortGUID == c.NodeGUID }) {
		owners[c.NodeGUID] = append(owners[c.NodeGUID], fmt.Sprintf("%s %s", host, c.PCI))
	}
}

// rate reads "40 Gb/sec (4X QDR)" as tenths; 0 while there is no link, because
// the kernel shows a rate then too.
func rate(p inventory.Port) int {
	if p.Physical != "LinkUp" {
		return 0
	}
	number, _, _ := strings.Cut(p.Rate, " ")
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0
	}
	return int(f*10 + 0.5)
}
