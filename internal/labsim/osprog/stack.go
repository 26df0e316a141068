package osprog

import (
	"net/netip"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// netStack is what configures the network of a machine.
type netStack struct {
	units   map[string]string // that it brings
	install func(*state)      // programs, units and the files that the installer left
	boot    func(*state)      // applies what is configured
}

var netStacks = map[labsim.Stack]netStack{
	labsim.StackNetplan:    {units: networkdUnits, install: (*state).installNetplan, boot: (*state).bootNetplan},
	labsim.StackMiddleware: {install: (*state).installTrueNAS, boot: (*state).bootTrueNAS},

	labsim.StackNetplanNM:      {install: func(*state) {}, boot: (*state).bootLeases},
	labsim.StackIfupdown:       {install: func(*state) {}, boot: (*state).bootLeases},
	labsim.StackNetworkManager: {install: func(*state) {}, boot: (*state).bootLeases},
	labsim.StackNetworkd:       {install: func(*state) {}, boot: (*state).bootLeases},
}

// bootLeases gives the interfaces of the machine what DHCP leases to them.
func (s *state) bootLeases() {
	for _, d := range s.m.Config.Netdevs {
		addrs, gw := s.lease(d.Name)
		s.m.UpdateNetdev(d.Name, func(n *labsim.Netdev) {
			n.Up, n.Addrs, n.Gateway = true, append([]netip.Prefix{}, addrs...), gw
		})
	}
}

func (s *state) installNetplan() {
	s.m.Install("/usr/sbin/netplan", netplan)
	s.m.Install("/usr/bin/networkctl", networkctl)
	s.installUnits(networkdUnits)
	s.seedNetplan()
	s.m.FS.PutDir("/etc/systemd/network", 0o755, 0, 0)
}

var networkdUnits = map[string]string{
	"systemd-networkd.service": "[Unit]\nDescription=Network Configuration\n" + builtinMark + "[Install]\nWantedBy=multi-user.target\n",
	"systemd-resolved.service": "[Unit]\nDescription=Network Name Resolution\n" + builtinMark,
}
