package rdma

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// What a GPU and a card have in common, the nearest first.
const (
	SameRoot   = "root_port"
	SameBridge = "host_bridge"
	SameNode   = "numa_node"
	Apart      = "nothing"
)

// place reads the link of a device, as "../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0", and its
// numa_node, which is -1 where the firmware of the machine does not tell.
func place(link, node string) Place {
	p := Place{NUMA: fact.Unknown[int]("the firmware of the machine does not tell the NUMA node")}
	if n, err := strconv.Atoi(node); err == nil && n >= 0 {
		p.NUMA = fact.Known(n)
	}
	parts := strings.Split(link, "/")
	for i, part := range parts {
		// The first one is the host bridge. Below a root port follow bridges of switches, which are not
		// compared: what is under one root port does not pass the processor.
		if strings.HasPrefix(part, "pci") {
			p.Bridge = part
			if len(parts) > i+2 {
				p.Root = parts[i+1]
			}
			break
		}
	}
	return p
}

// Common says what two devices have in common.
func (f *Facts) Common(a, b ib.PCIAddress) fact.Of[string] {
	x, y := f.Places[a], f.Places[b]
	nodeX, knownX := x.NUMA.Get()
	nodeY, knownY := y.NUMA.Get()
	switch {
	case x.Bridge == "" || y.Bridge == "":
		return fact.Unknown[string]("the way to one of the devices is not known")
	case x.Bridge == y.Bridge && x.Root == y.Root && x.Root != "":
		return fact.Known(SameRoot)
	case x.Bridge == y.Bridge:
		return fact.Known(SameBridge)
	// Two host bridges are of one node or of two; only the node tells.
	case !knownX || !knownY:
		return fact.Unknown[string](cmp.Or(x.NUMA.Why(), y.NUMA.Why()))
	case nodeX == nodeY:
		return fact.Known(SameNode)
	}
	return fact.Known(Apart)
}
