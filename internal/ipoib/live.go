package ipoib

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
)

func modeFile(name string) string { return "/sys/class/net/" + name + "/mode" }

// setMode switches the mode. A P_Key child that was made over netlink has no
// file for it.
func (c *change) setMode(ctx context.Context, mode ib.IPoIBMode) error {
	cmd := coreutils.WriteKernelFile(modeFile(c.t.name), mode.String())
	if c.t.pkey != 0 {
		cmd = iproute.SetMode(c.t.name, mode)
	}
	if _, err := c.run(ctx, cmd); err != nil {
		return fmt.Errorf("switching %s to %s mode: %w", c.t.name, mode, err)
	}
	return nil
}

// removeDeadChild removes a P_Key child that will never get a carrier, so that the network
// service makes it anew. The kernel does not let a child take another hardware address
// (ib_ipoib has no setter in Linux 6.1 and 6.12).
func (c *change) removeDeadChild(ctx context.Context) error {
	if c.before.OtherGUID.IsZero() {
		return nil
	}
	if _, err := c.run(ctx, iproute.DelLink(c.t.name)); err != nil {
		return fmt.Errorf("removing the P_Key child %s, whose hardware address has a GUID of no port: %w", c.t.name, err)
	}
	c.before.Present = false
	return nil
}

// awaitChild waits for the P_Key child that a service makes.
func (c *change) awaitChild(ctx context.Context) error {
	if c.t.pkey == 0 || c.before.Present {
		return nil
	}
	err := within(ctx, c.o.SettleTimeout, c.o.Poll, func(ctx context.Context) (bool, error) {
		_, err := c.h.Run(ctx, iproute.Show(c.t.name))
		var exit *host.ExitError
		if errors.As(err, &exit) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("%s: the P_Key child %s was not made: %w", c.h.Name(), c.t.name, err)
	}
	return nil
}

// mend completes what the network service left undone: networkd logs a refused MTU and
// goes on, and it keeps addresses that it did not set. Errors have the kernel's own
// words.
func (c *change) mend(ctx context.Context, want Config) error {
	name := c.t.name
	if waitFor(ctx, c.h, name, want,
		Options{SettleTimeout: max(c.o.SettleTimeout/3, time.Second), Poll: c.o.Poll}) == nil {
		return nil
	}
	if err := c.strip(ctx, want); err != nil {
		return err
	}
	if err := c.addRoutes(ctx, want); err != nil {
		return err
	}
	now, err := readLive(ctx, c.h, name)
	if err != nil {
		return err
	}
	if now.Mode != want.Mode {
		if err := c.setMode(ctx, want.Mode); err != nil {
			return err
		}
	}
	if now.MTU != want.MTU {
		if _, err := c.run(ctx, iproute.SetMTU(name, want.MTU)); err != nil {
			return fmt.Errorf("%s mode, MTU %d: %w", now.Mode, want.MTU, err)
		}
	}
	return nil
}

// addRoutes adds routes that a service has not set, as ifup does not for an
// interface without carrier.
func (c *change) addRoutes(ctx context.Context, want Config) error {
	if len(want.Routes) == 0 {
		return nil
	}
	now, err := readRoutes(ctx, c.h, c.t.name)
	if err != nil {
		return err
	}
	for _, missing := range routesWithout(want.Routes, now) {
		if _, err := c.run(ctx, iproute.ReplaceRoute(c.t.name, missing)); err != nil {
			return err
		}
	}
	return nil
}

// strip removes the addresses that the interface should not have, and takes it down if
// no other address is left.
func (c *change) strip(ctx context.Context, keep Config) error {
	if !c.before.Present || c.removing && c.t.pkey != 0 {
		return nil // there is none, or it went with its configuration
	}
	now, err := readLive(ctx, c.h, c.t.name)
	if err != nil {
		return err
	}
	for _, extra := range without(now.Addresses, keep.Addresses) {
		if err := c.dropAddress(ctx, extra); err != nil {
			return err
		}
	}
	if err := c.stripRoutes(ctx, keep); err != nil {
		return err
	}
	if c.removing && len(keep.Addresses) == 0 && c.before.Live.Mode != "" {
		return c.takeDown(ctx, now.Up)
	}
	return nil
}

// takeDown takes an interface down that has no address any more, unless it is the parent of
// others.
func (c *change) takeDown(ctx context.Context, up bool) error {
	// The kernel takes the P_Key children down with their parent (ipoib_stop).
	if children := strings.Join(childrenUp(c.s, c.t.name), " and "); children != "" {
		said := "%s stays up, because it is the parent of %s."
		if !up {
			said = "%s is down now. It is the parent of %s, which the kernel takes down, too. Plan again to see what is left " +
				"to do."
		}
		c.left = append(c.left, fmt.Sprintf(said, c.t.name, children))
		return nil
	}
	_, err := c.run(ctx, iproute.SetDown(c.t.name))
	return err
}

// childrenUp are the P_Key children of an interface that are up.
func childrenUp(s *inventory.Snapshot, parent string) (names []string) {
	for _, n := range s.Netdevs {
		if n.IB && n.Parent == parent && n.Up {
			names = append(names, n.Name)
		}
	}
	return names
}

// dropAddress removes an address. The network service may remove it at the same moment,
// which is no error.
func (c *change) dropAddress(ctx context.Context, address netip.Prefix) error {
	_, err := c.run(ctx, iproute.DelAddress(c.t.name, address))
	var exit *host.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	now, readErr := readLive(ctx, c.h, c.t.name)
	if readErr != nil || slices.Contains(now.Addresses, address) {
		return errors.Join(err, readErr)
	}
	return nil
}

func (c *change) stripRoutes(ctx context.Context, keep Config) error {
	for _, extra := range c.oldRoutes(keep) {
		// The kernel removes a route together with the address that reaches its gateway.
		_, err := c.run(ctx, iproute.DelRoute(c.t.name, extra))
		var exit *host.ExitError
		if err != nil && !errors.As(err, &exit) {
			return err
		}
	}
	return nil
}
