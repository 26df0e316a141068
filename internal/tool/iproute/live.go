package iproute

import (
	"net/netip"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Show asks for one interface with its addresses and, with -d, the mode of
// IPoIB; ParseLinks reads the answer.
func Show(name string) shellcmd.Command {
	return shellcmd.New("ip", "-j", "-d", "addr", "show", "dev", name)
}

func change(args ...string) shellcmd.Command { return shellcmd.New("ip", args...).AsRoot().Changes() }

// SetMTU sets the MTU in bytes.
func SetMTU(name string, mtu int) shellcmd.Command {
	return change("link", "set", "dev", name, "mtu", strconv.Itoa(mtu))
}

// SetDown takes an interface down.
func SetDown(name string) shellcmd.Command { return change("link", "set", "dev", name, "down") }

// DelAddress takes an address from an interface.
func DelAddress(name string, address netip.Prefix) shellcmd.Command {
	return change("addr", "del", address.String(), "dev", name)
}

// DelLink removes an interface that software made, such as a P_Key child.
func DelLink(name string) shellcmd.Command { return change("link", "del", "dev", name) }

// SetMode switches the mode of a P_Key child; one made over netlink has no file
// for it.
func SetMode(name string, mode ib.IPoIBMode) shellcmd.Command {
	return change("link", "set", "dev", name, "type", "ipoib", "mode", mode.String())
}

// ShowRoutes asks for the routes of IPv4 through an interface.
func ShowRoutes(name string) shellcmd.Command {
	return shellcmd.New("ip", "-j", "route", "show", "dev", name)
}

// ShowRoutes6 asks for the routes of IPv6 through an interface.
func ShowRoutes6(name string) shellcmd.Command {
	return shellcmd.New("ip", "-j", "-6", "route", "show", "dev", name)
}

// DelRoute removes a route.
func DelRoute(name string, r ipconf.Route) shellcmd.Command {
	return change("route", "del", r.To.String(), "via", r.Via.String(), "dev", name)
}

// ReplaceRoute sets a route.
func ReplaceRoute(name string, r ipconf.Route) shellcmd.Command {
	return change("route", "replace", r.To.String(), "via", r.Via.String(), "dev", name)
}
