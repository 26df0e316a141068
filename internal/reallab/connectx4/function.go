//go:build linux

package connectx4

import (
	"context"
	"net"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/pci"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Function is a PCI function of a card. It has one port, and is a node of the fabric.
type Function struct {
	*Card
	index  int
	bus    vfiouser.Bus
	space  *pci.Space
	timers *pci.Timers
	tools  *registers.Vendor
	port   *fabric.HCAPort
	hca    *hca
}

func newFunction(c *Card, index int) *Function {
	f := &Function{Card: c, index: index, timers: pci.NewTimers(c.world.Do)}
	f.port = fabric.NewHCAPorts(c.world, 1, f)[0]
	return f
}

// Serve puts the function into the slot of one machine after another, until ctx ends.
func (f *Function) Serve(ctx context.Context, l *net.UnixListener) error {
	return vfiouser.Serve(ctx, l, f, &f.bus)
}

// Reset implements vfiouser.Function. That of the first is the reset of the card: it boots
// what is in its flash.
func (f *Function) Reset() {
	f.world.Do(func() {
		if f.index == 0 {
			f.boot()
		} else {
			f.start(f.Model.Running())
		}
	})
}

// abilities are those of a port of EDR. Its capabilities are those of newer cards before it.
var abilities = fabric.Abilities{Speeds: wire.Speeds{Basic: 7, Extended: 3}, MTU: 5, PKeys: 128, Capabilities: 0x02514868}

// start is the function after the firmware has booted.
func (f *Function) start(fw card.Firmware) {
	f.timers.Forget()
	f.tools = f.regs.NewVendor()
	f.space = newSpace(f, fw)
	f.hca = newHCA(f)
	f.port.Reset(fabric.Node{Description: "MT4115 ConnectX4 Mellanox Technologies", GUID: f.guid(), System: fw.GUIDs[0],
		Ports: 1, Device: f.Model.Chip.PCIDevice, Abilities: abilities}, f.guid())
	f.logf("function %d is of InfiniBand: %v", f.index, f.infiniBand())
}

// guid is that of the node and of its port.
func (f *Function) guid() uint64 { return f.Model.Running().GUIDs[0] + uint64(f.index) }

// infiniBand reports the type of the port. It is InfiniBand unless something else is
// stored, as with a card of the vendor that was never configured.
func (f *Function) infiniBand() bool {
	fw := f.Model.Running()
	return fw.VPI && fw.Config.LinkType[f.index] != card.LinkETH
}

// StateChanged implements fabric.Events.
func (f *Function) StateChanged(_ int, active bool) {
	if f.hca == nil {
		return
	}
	if active {
		f.hca.portEvent(portActive)
	} else {
		f.hca.portEvent(portDown)
	}
}

// Deliver implements fabric.Events.
func (f *Function) Deliver(port int, k *wire.Packet) { transport.Deliver(f.hca, port, k) }
