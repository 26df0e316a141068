package change

import (
	"context"
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
)

// portsReady reports whether a bond has the interfaces of both ports.
func portsReady(t found.Target) bool {
	return len(t.Ports) == 2 && t.Ports[0].Netdev != nil && t.Ports[1].Netdev != nil
}

// setPortModes switches the modes of the ports of a bond. The MTU of the bond is one that both have to take.
func (c *change) setPortModes(ctx context.Context, mode ib.IPoIBMode) error {
	for _, p := range c.t.Ports {
		if _, err := c.run(ctx, coreutils.WriteKernelFile(modeFile(p.Name()), mode.String())); err != nil {
			return fmt.Errorf("switching %s to %s mode: %w", p.Name(), mode, err)
		}
	}
	return nil
}

// lowerBondMTU gives a bond a smaller MTU before its ports join it anew: a port that cannot take the MTU
// of the bond is refused, and in datagram mode it cannot take that of connected mode.
func (c *change) lowerBondMTU(ctx context.Context, mtu int) error {
	// To raise it is the activation's work; only a smaller one stands in the way of a port.
	if c.t.Bond.Name == "" || !c.present || mtu >= c.look.Live.MTU {
		return nil
	}
	_, err := c.run(ctx, iproute.SetMTU(c.t.Name, mtu))
	return err
}

// removeBond removes a bond whose files are gone. NetworkManager does so by itself. The kernel releases
// the ports, and takes them down.
func (c *change) removeBond(ctx context.Context) error {
	if c.t.Bond.Name == "" {
		return nil
	}
	var exit *host.ExitError
	if _, err := c.h.Run(ctx, iproute.Show(c.t.Name)); errors.As(err, &exit) {
		return nil // it is gone
	} else if err != nil {
		return err
	}
	_, err := c.run(ctx, iproute.DelLink(c.t.Name))
	return err
}

// readBond completes what was read of a bond by its ports.
func readBond(ctx context.Context, h host.Host, t found.Target, now found.Live) (found.Live, error) {
	now.BondMode = string(now.Mode)
	for _, p := range t.Ports {
		port, err := readLink(ctx, h, p.Name())
		if err != nil {
			return now, err
		}
		mode, err := readMode(ctx, h, p.Name())
		if err != nil {
			return now, err
		}
		now.Slaves = append(now.Slaves, found.Slave{Name: p.Name(), In: port.Master == t.Name, Mode: mode,
			MTU: port.MTU})
	}
	if now.Mode = ""; len(now.Slaves) > 0 {
		now.Mode = now.Slaves[0].Mode
	}
	return now, nil
}

// portsBefore is what an undo gives back to the ports of a bond.
func (c *change) portsBefore() (all []netundo.Port) {
	for _, p := range c.t.Ports {
		if n := p.Netdev; n != nil {
			all = append(all, netundo.Port{Name: n.Name, Mode: ib.IPoIBMode(n.Mode), MTU: n.MTU, Up: n.Up})
		}
	}
	return all
}
