package iproute

import (
	"net/netip"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
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

// SetUp brings an interface up.
func SetUp(name string) shellcmd.Command { return change("link", "set", "dev", name, "up") }

// SetDown takes an interface down.
func SetDown(name string) shellcmd.Command { return change("link", "set", "dev", name, "down") }

// DelAddress takes an address from an interface.
func DelAddress(name string, address netip.Prefix) shellcmd.Command {
	return change("addr", "del", address.String(), "dev", name)
}
