// Package system puts an operating system on a simulated machine: the programs and
// services of its parts, and the order in which they come up at boot.
//
// It must not simulate any program or service itself.
package system

import (
	"net/netip"
	"sync/atomic"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/network"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/packages"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/truenas"
)

// Install puts the programs, units, files and boot sequence of the machine's
// system on it. It belongs into labsim.Options.Setup.
func Install(m *labsim.Machine) {
	systemd.Install(m, services)
	packages.Install(m)
	network.Install(m)
	if m.OS == labsim.TrueNAS {
		truenas.Install(m)
	}
	var begun atomic.Int64 // number of the boot that has forgotten the one before
	early := func() {
		if boots := int64(m.Boots()); begun.Swap(boots) != boots {
			startAnew(m)
		}
	}
	m.Hooks.OnNetdevAdd = append(m.Hooks.OnNetdevAdd, func(_ *labsim.Machine, d *labsim.Netdev) {
		early()
		netdevAdded(m, d.Name)
	})
	m.Hooks.OnBoot = append(m.Hooks.OnBoot, func(*labsim.Machine) {
		early()
		boot(m)
	})
	m.Hooks.OnShutdown = append(m.Hooks.OnShutdown, func(*labsim.Machine) { systemd.Of(m).StopAll() })
}

// services are there on every host and only carry a state.
var services = map[string]string{
	"ssh.service": "[Unit]\nDescription=OpenBSD Secure Shell server\n" + systemd.BuiltinMark +
		"[Install]\nWantedBy=multi-user.target\n",
	"systemd-udevd.service": "[Unit]\nDescription=Rule-based Manager for Device Events and Files\n" +
		systemd.BuiltinMark,
	"systemd-journald.service": "[Unit]\nDescription=Journal Service\n" + systemd.BuiltinMark,
	"systemd-logind.service":   "[Unit]\nDescription=User Login Management\n" + systemd.BuiltinMark,
	"multi-user.target":        "[Unit]\nDescription=Multi-User System\n" + systemd.BuiltinMark,
	"network-online.target":    "[Unit]\nDescription=Network is Online\n" + systemd.BuiltinMark,
	"network.target":           "[Unit]\nDescription=Network\n" + systemd.BuiltinMark,
}

// startAnew runs once per boot, before the first device event.
func startAnew(m *labsim.Machine) {
	systemd.Of(m).Reset()
	network.Of(m).Reset()
	if m.OS == labsim.TrueNAS {
		truenas.EarlyBoot(m)
	}
}

// boot is the operating system's part of a boot, after the kernel has its
// devices: whatever was only set live before is gone, whatever is configured is
// applied.
func boot(m *labsim.Machine) {
	for _, d := range m.Netdevs() {
		// The lab's description of an interface says what DHCP leases to it,
		// not what the kernel starts with.
		if d.Port == nil && d.Type != labsim.TypeLoopback {
			m.UpdateNetdev(d.Name, func(n *labsim.Netdev) { n.Up, n.Addrs, n.Routes, n.Gateway = false, nil, nil, netip.Addr{} })
		}
	}
	sd, net := systemd.Of(m), network.Of(m)
	net.Generate()
	sd.StartWanted(true)
	sd.StartBuiltins()
	net.Boot()
	if m.OS == labsim.TrueNAS {
		truenas.Boot(m)
	}
	net.MarkReady()
	sd.StartWanted(false)
	if m.OS == labsim.TrueNAS {
		truenas.FinishBoot(m)
	}
	sd.MarkStarted()
}

// netdevAdded is what happens when the kernel registers an interface: the
// rules, then the network service, if it is up by then.
func netdevAdded(m *labsim.Machine, name string) {
	systemd.Of(m).NetEvent(name, "add")
	switch {
	case !network.Of(m).Ready():
	case m.OS == labsim.TrueNAS:
		truenas.AddInterface(m, name)
	default:
		network.Of(m).AddInterface(name)
	}
}
