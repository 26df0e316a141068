package change

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
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
)

// setMode switches the mode. A P_Key child that was made over netlink has no
// file for it.
func (c *change) setMode(ctx context.Context, mode ib.IPoIBMode) error {
	if c.t.Bond.Name != "" {
		return c.setPortModes(ctx, mode)
	}
	cmd := coreutils.WriteKernelFile(modeFile(c.t.Name), mode.String())
	if c.t.PKey != 0 {
		cmd = iproute.SetMode(c.t.Name, mode)
	}
	if _, err := c.run(ctx, cmd); err != nil {
		return fmt.Errorf("switching %s to %s mode: %w", c.t.Name, mode, err)
	}
	return nil
}

// removeDeadChild removes a P_Key child that will never get a carrier, so that the network
// service makes it anew. The kernel does not let a child take another hardware address
// (ib_ipoib has no setter in Linux 6.1 and 6.12). A bond of another mode takes no port, nor another mode
// while it is up.
func (c *change) removeDeadChild(ctx context.Context) error {
	if mode := c.look.Live.BondMode; mode != "" && mode != "active-backup" {
		c.present = false
		return c.removeBond(ctx)
	}
	if c.look.OtherGUID.IsZero() {
		return nil
	}
	if _, err := c.run(ctx, iproute.DelLink(c.t.Name)); err != nil {
		return fmt.Errorf("removing the P_Key child %s, whose hardware address has a GUID of no port: %w", c.t.Name, err)
	}
	c.present = false
	return nil
}

// awaitMade waits for the P_Key child or the bond that a service makes.
func (c *change) awaitMade(ctx context.Context) error {
	if !c.t.IsMade() || c.present {
		return nil
	}
	err := within(ctx, c.o.SettleTimeout, c.o.Poll, func(ctx context.Context) (bool, error) {
		_, err := c.h.Run(ctx, iproute.Show(c.t.Name))
		var exit *host.ExitError
		if errors.As(err, &exit) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("%s: %s was not made: %w", c.h.Name(), c.t.Name, err)
	}
	return nil
}

// mend completes what the network service left undone: networkd logs a refused MTU and
// goes on, and it keeps addresses that it did not set. Errors have the kernel's own
// words.
func (c *change) mend(ctx context.Context, want ipoib.Config) error {
	name := c.t.Name
	// A third of the time: what a service has not done by then it does not do.
	if waitFor(ctx, c.h, c.t, want,
		Options{SettleTimeout: max(c.o.SettleTimeout/3, time.Second), Poll: c.o.Poll}) == nil {
		return nil
	}
	if err := c.strip(ctx, want); err != nil {
		return err
	}
	if err := c.addRoutes(ctx, want); err != nil {
		return err
	}
	now, err := readLive(ctx, c.h, c.t)
	if err != nil {
		return err
	}
	// The mode before the MTU: the kernel takes only an MTU of the present mode, and sets its own with a switch.
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
func (c *change) addRoutes(ctx context.Context, want ipoib.Config) error {
	if len(want.Routes) == 0 {
		return nil
	}
	now, err := readRoutes(ctx, c.h, c.t.Name)
	if err != nil {
		return err
	}
	for _, missing := range ipconf.Without(want.Routes, now) {
		if _, err := c.run(ctx, iproute.ReplaceRoute(c.t.Name, missing)); err != nil {
			return err
		}
	}
	return nil
}

// strip removes the addresses that the interface should not have, and takes it down if
// no other address is left.
func (c *change) strip(ctx context.Context, keep ipoib.Config) error {
	if !c.present || c.removing && c.t.IsMade() {
		return nil // there is none, or it went with its configuration
	}
	now, err := readLive(ctx, c.h, c.t)
	if err != nil {
		return err
	}
	for _, extra := range ipconf.Without(withoutLease(now, keep).Addresses, keep.Addresses) {
		if err := c.dropAddress(ctx, extra); err != nil {
			return err
		}
	}
	if err := c.stripRoutes(ctx, keep); err != nil {
		return err
	}
	if c.removing && len(keep.Addresses) == 0 && c.look.Live.Mode != "" {
		return c.takeDown(ctx, now.Up)
	}
	return nil
}

// takeDown takes an interface down that has no address any more, unless it is the parent of
// others.
func (c *change) takeDown(ctx context.Context, up bool) error {
	// The kernel takes the P_Key children down with their parent (ipoib_stop).
	if children := strings.Join(c.look.ChildrenUp(), " and "); children != "" {
		said := "%s stays up, because it is the parent of %s."
		if !up {
			said = "%s is down now. It is the parent of %s, which the kernel takes down, too. Plan again to see what is left " +
				"to do."
		}
		c.left = append(c.left, fmt.Sprintf(said, c.t.Name, children))
		return nil
	}
	_, err := c.run(ctx, iproute.SetDown(c.t.Name))
	return err
}

// dropAddress removes an address. The network service may remove it at the same moment,
// which is no error.
func (c *change) dropAddress(ctx context.Context, address netip.Prefix) error {
	_, err := c.run(ctx, iproute.DelAddress(c.t.Name, address))
	var exit *host.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	now, readErr := readLive(ctx, c.h, c.t)
	if readErr != nil || slices.Contains(now.Addresses, address) {
		return errors.Join(err, readErr)
	}
	return nil
}

// stripRoutes removes the routes that our files had set. Those of routing daemons stay.
func (c *change) stripRoutes(ctx context.Context, keep ipoib.Config) error {
	for _, extra := range c.oldRoutes(keep) {
		// The kernel removes a route together with the address that reaches its gateway.
		_, err := c.run(ctx, iproute.DelRoute(c.t.Name, extra))
		var exit *host.ExitError
		if err != nil && !errors.As(err, &exit) {
			return err
		}
	}
	return nil
}

// joinTimeout is how long an interface may take to join its broadcast group before an apply says
// that it has not.
const joinTimeout = 3 * time.Second

// awaitGroup waits a moment for an interface to join its broadcast group, so that the state has
// its carrier. An interface that does not come to it is no failure: the partition may be set up
// later.
func (c *change) awaitGroup(ctx context.Context) {
	if c.look.PortState != "Active" {
		return
	}
	_ = within(ctx, min(joinTimeout, c.o.SettleTimeout), c.o.Poll, func(ctx context.Context) (bool, error) {
		now, err := readLive(ctx, c.h, c.t)
		return now.Carrier, err
	})
}

// oldRoutes are the live routes that our files, or those that are taken over, have set
// and want does not hold.
func (c *change) oldRoutes(want ipoib.Config) []ipconf.Route {
	ours := c.look.Persisted.Config.Routes
	for _, f := range c.taken {
		ours = slices.Concat(ours, ipconf.Without(f.Config.Routes, ours))
	}
	return ipconf.Without(ipconf.Without(ours, ipconf.Without(ours, c.look.Live.Routes)), want.Routes)
}
