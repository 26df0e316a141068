package change

import (
	"context"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
)

// notShownError says in what an interface that was read is not as wanted.
type notShownError string

func (e notShownError) Error() string { return string(e) }

// waitFor waits until the interface shows want.
func waitFor(ctx context.Context, h host.Host, t found.Target, want ipoib.Config, o Options) error {
	var last found.Live
	problem := ""
	err := within(ctx, o.SettleTimeout, o.Poll, func(ctx context.Context) (bool, error) {
		now, err := readLive(ctx, h, t)
		if err == nil && len(want.Routes) > 0 {
			now.Routes, err = readRoutes(ctx, h, t.Name)
		}
		if err != nil {
			return false, err
		}
		now = withoutLease(now, want)
		last, problem = now, ""
		if diff := now.Differences("it", want); len(diff) > 0 {
			problem = diff[0]
		}
		return problem == "", nil
	})
	if problem != "" {
		return notShownError(t.Name + ": " + withReason(last, problem, want))
	}
	return err
}

// withoutLease leaves out what DHCP has given, where that is asked for.
func withoutLease(now found.Live, want ipoib.Config) found.Live {
	if want.DHCP4 {
		now.Addresses = ipconf.Without(now.Addresses, now.Leased)
	}
	return now
}

// waitForLease waits until DHCP has given an address, where that is asked for. No server may answer, or one gives an
// address that a configuration could not have: then the change is undone, and the interface has again what it had.
func (c *change) waitForLease(ctx context.Context, h host.Host, want ipoib.Config) error {
	if !want.DHCP4 {
		return nil
	}
	var last found.Live
	// A server may take longer than an interface: it may first ask whether somebody has the address.
	name, limit := c.t.Name, max(c.o.SettleTimeout, c.o.ConfirmTimeout/3)
	err := within(ctx, limit, c.o.Poll, func(ctx context.Context) (_ bool, err error) {
		last, err = readLive(ctx, h, c.t)
		return len(last.Leased) > 0, err
	})
	switch {
	case err == nil:
		if all := judge.CheckLease(c.look, c.d, last.Leased); len(all) > 0 {
			return notShownError(all[0].Rule.Code + ": " + all[0].Evidence + " " + all[0].WayOut)
		}
		return nil
	case last.Mode == "":
		return err
	case !last.Carrier:
		return notShownError(name + " has no carrier, so no DHCP server can answer. A subnet manager must serve the port " +
			"first")
	}
	return notShownError(fmt.Sprintf("no DHCP server has given %s an address within %s. See whether one serves this "+
		"partition and knows its client identifier, which has the port GUID", name, limit))
}

// modeFile is where the kernel shows the mode, and takes it.
func modeFile(name string) string { return "/sys/class/net/" + name + "/mode" }

// readLink reads one interface.
func readLink(ctx context.Context, h host.Host, name string) (iproute.Link, error) {
	cmd := iproute.Show(name)
	r, err := h.Run(ctx, cmd)
	if err != nil {
		return iproute.Link{}, err
	}
	links, err := iproute.ParseLinks(string(r.Stdout))
	if err != nil || len(links) != 1 {
		return iproute.Link{}, &host.OutputError{
			Host: h.Name(), Command: cmd.String(), Output: string(r.Stdout),
			Problem: fmt.Sprintf("expected one interface, found %d (%v)", len(links), err),
		}
	}
	return links[0], nil
}

// readMode reads the mode of an interface of a port.
func readMode(ctx context.Context, h host.Host, name string) (ib.IPoIBMode, error) {
	mode, err := h.Run(ctx, coreutils.Cat(modeFile(name)))
	return ib.IPoIBMode(strings.TrimSpace(string(mode.Stdout))), err
}

// readLive reads the interface as the kernel has it now. It is one command, because it is
// repeated while the interface settles; of a bond it is more.
func readLive(ctx context.Context, h host.Host, t found.Target) (found.Live, error) {
	l, err := readLink(ctx, h, t.Name)
	if err != nil {
		return found.Live{}, err
	}
	now := found.Live{Up: l.Up(), Carrier: l.Carrier()}
	now.MTU, now.Mode = l.MTU, ib.IPoIBMode(l.Info.Data.Mode)
	switch {
	case t.Bond.Name != "":
		now, err = readBond(ctx, h, t, now)
	case now.Mode == "":
		// Older iproute2 and drivers do not report it there.
		now.Mode, err = readMode(ctx, h, t.Name)
	}
	if err != nil {
		return found.Live{}, err
	}
	for _, a := range l.Addresses {
		p, err := a.Prefix()
		if err != nil {
			return found.Live{}, err
		}
		now.Addresses = append(now.Addresses, p)
		// ip calls an address with a life time dynamic. One of IPv6 is not of dhcp4.
		if a.Dynamic && p.Addr().Is4() {
			now.Leased = append(now.Leased, p)
		}
	}
	now.Addresses = ipconf.Global(now.Addresses)
	return now, nil
}

// readRoutes reads the routes of an interface that have a gateway, of both
// families.
func readRoutes(ctx context.Context, h host.Host, name string) ([]ipconf.Route, error) {
	var all []ipconf.Route
	for _, cmd := range []shellcmd.Command{iproute.ShowRoutes(name), iproute.ShowRoutes6(name)} {
		r, err := h.Run(ctx, cmd)
		if err != nil {
			return nil, err
		}
		routes, err := iproute.ParseRoutes(string(r.Stdout))
		if err != nil {
			return nil, &host.OutputError{Host: h.Name(), Command: cmd.String(), Output: string(r.Stdout), Problem: err.Error()}
		}
		for _, route := range routes {
			if parsed, err := ipconf.ParseRoute(route.Dst, route.Gateway); err == nil {
				all = append(all, parsed)
			}
		}
	}
	return ipconf.SortedRoutes(all), nil
}

// withReason adds the reason where the kernel gives none.
func withReason(l found.Live, problem string, want ipoib.Config) string {
	if l.MTU < want.MTU && l.Mode == ib.ModeDatagram && want.Mode == ib.ModeDatagram {
		// The kernel silently takes the smaller of the asked MTU and the one of the
		// broadcast group.
		return fmt.Sprintf("%s: the broadcast group of the fabric allows datagrams of %d + %d = %d bytes, so the kernel "+
			"uses %d. Write mtu = 4096 in the partition of infiniband_opensm, or ask for mtu = %d",
			problem, l.MTU, ib.DatagramOverhead, l.MTU+ib.DatagramOverhead, l.MTU, l.MTU)
	}
	if l.MTU != want.MTU && want.Mode == ib.ModeConnected {
		return problem + ": the driver has fewer receive buffers than a packet of this size needs, or something else sets " +
			"the MTU too"
	}
	return problem
}
