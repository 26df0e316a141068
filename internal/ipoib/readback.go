package ipoib

import (
	"context"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
)

// live is the interface as the kernel has it now. It is one command, because it is
// repeated while the interface settles.
type live struct {
	Config
	Up, Carrier bool
}

func readLive(ctx context.Context, h host.Host, name string) (live, error) {
	cmd := iproute.Show(name)
	r, err := h.Run(ctx, cmd)
	if err != nil {
		return live{}, err
	}
	links, err := iproute.ParseLinks(string(r.Stdout))
	if err != nil || len(links) != 1 {
		return live{}, &host.OutputError{
			Host: h.Name(), Command: cmd.String(), Output: string(r.Stdout),
			Problem: fmt.Sprintf("expected one interface, found %d (%v)", len(links), err),
		}
	}
	l := links[0]
	found := live{Up: l.Up(), Carrier: l.Carrier()}
	found.MTU, found.Mode = l.MTU, ib.IPoIBMode(l.Info.Data.Mode)
	if found.Mode == "" {
		// Older iproute2 and drivers do not report it there.
		mode, err := h.Run(ctx, coreutils.Cat(modeFile(name)))
		if err != nil {
			return live{}, err
		}
		found.Mode = ib.IPoIBMode(strings.TrimSpace(string(mode.Stdout)))
	}
	for _, a := range l.Addresses {
		p, err := a.Prefix()
		if err != nil {
			return live{}, err
		}
		found.Addresses = append(found.Addresses, p)
	}
	found.Addresses = global(found.Addresses)
	return found, nil
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

// difference says what the interface does not show yet; empty if it is as wanted.
func (l live) difference(want Config) string {
	switch {
	case !l.Up:
		return "it is down"
	case l.Mode != want.Mode:
		return fmt.Sprintf("mode is %s, not %s", l.Mode, want.Mode)
	case l.MTU != want.MTU:
		return fmt.Sprintf("MTU is %d, not %d", l.MTU, want.MTU)
	case !sameAddresses(l.Addresses, want.Addresses):
		return fmt.Sprintf("addresses are %s, not %s", joinPrefixes(l.Addresses), joinPrefixes(want.Addresses))
	case len(routesWithout(want.Routes, l.Routes)) > 0:
		return "there is no route " + joinRoutes(routesWithout(want.Routes, l.Routes))
	}
	return ""
}

// explain adds the reason where the kernel gives none.
func (l live) explain(problem string, want Config) string {
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
