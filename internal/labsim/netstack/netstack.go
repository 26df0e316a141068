// Package netstack takes one network stack of a Debian that has all of them into use. It
// says which files and links that takes, and must not write them: they go to the disk of a
// machine.
package netstack

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Stack configures the network of a system.
type Stack string

// The stacks of Debian.
const (
	Netplan        Stack = "netplan"                // netplan over systemd-networkd
	NetplanNM      Stack = "netplan+NetworkManager" // netplan over NetworkManager
	Ifupdown       Stack = "ifupdown"
	NetworkManager Stack = "NetworkManager"
	Networkd       Stack = "systemd-networkd"
)

// All are the stacks in order.
func All() []Stack { return slices.Sorted(maps.Keys(choices)) }

// Uplink is the interface by which a system is reached.
type Uplink struct {
	Name    string
	Address string // with its prefix length
	Gateway string
}

// File is a file of the system: its text, and who may read it. Its mode is that which the
// stack asks for: netplan complains of what others may read and NetworkManager ignores
// it, whereas networkd is one of those others.
type File struct {
	Text string
	Mode uint32
}

// Choice is what takes a stack into use. Paths begin with /.
type Choice struct {
	Files map[string]File
	Links map[string]string // target by path
}

const (
	nmUnit         = "NetworkManager.service"
	networkdUnit   = "systemd-networkd.service"
	networkdSocket = "systemd-networkd.socket"
	ifupdownUnit   = "networking.service"
)

type choice struct {
	path, text string // {name}, {address} and {gateway} are of the uplink
	mode       uint32
	masked     []string
	wants      map[string]string // unit by the target that starts it
}

// choices: Debian starts NetworkManager and ifupdown where they are installed, networkd
// not, and netplan has the service started that it writes for.
var choices = map[Stack]choice{
	Netplan: {path: "/etc/netplan/01-host.yaml", mode: 0o600, text: plan("networkd"),
		masked: []string{nmUnit, ifupdownUnit}},
	NetplanNM: {path: "/etc/netplan/01-host.yaml", mode: 0o600, text: plan("NetworkManager"),
		masked: []string{networkdUnit, networkdSocket, ifupdownUnit}},
	NetworkManager: {path: "/etc/NetworkManager/system-connections/{name}.nmconnection", mode: 0o600,
		text: "[connection]\nid={name}\ntype=ethernet\ninterface-name={name}\n\n" +
			"[ipv4]\nmethod=manual\naddress1={address},{gateway}\n\n[ipv6]\nmethod=disabled\n",
		masked: []string{networkdUnit, networkdSocket}},
	Ifupdown: {path: "/etc/network/interfaces", mode: 0o600,
		text: "source /etc/network/interfaces.d/*\n\nauto lo\niface lo inet loopback\n\nauto {name}\n" +
			"iface {name} inet static\n    address {address}\n    gateway {gateway}\n",
		masked: []string{nmUnit, networkdUnit, networkdSocket}},
	Networkd: {path: "/etc/systemd/network/10-{name}.network", mode: 0o644,
		text:   "[Match]\nName={name}\n\n[Network]\nAddress={address}\nGateway={gateway}\n",
		masked: []string{nmUnit, ifupdownUnit},
		wants:  map[string]string{networkdUnit: "multi-user.target", networkdSocket: "sockets.target"}},
}

func plan(renderer string) string {
	return "network:\n  version: 2\n  renderer: " + renderer + "\n  ethernets:\n    {name}:\n" +
		"      addresses: [{address}]\n      routes: [{to: default, via: {gateway}}]\n"
}

// Choose says what takes a stack into use on a system with this uplink.
func Choose(s Stack, up Uplink) (Choice, error) {
	c, ok := choices[s]
	if !ok {
		return Choice{}, fmt.Errorf("no such network stack: %q", s)
	}
	fill := strings.NewReplacer("{name}", up.Name, "{address}", up.Address, "{gateway}", up.Gateway).Replace
	out := Choice{Files: map[string]File{fill(c.path): {fill(c.text), c.mode}}, Links: map[string]string{}}
	const units = "/etc/systemd/system/"
	for _, unit := range c.masked {
		out.Links[units+unit] = "/dev/null"
	}
	for unit, target := range c.wants {
		out.Links[units+target+".wants/"+unit] = "/lib/systemd/system/" + unit
	}
	return out, nil
}
