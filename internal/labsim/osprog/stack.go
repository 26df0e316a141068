package osprog

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// netStack is what configures the network of a machine.
type netStack struct {
	units    map[string]string // that it brings
	install  func(*state)      // programs, units and the files that the installer left
	generate func(*state)      // a generator of systemd; nil if there is none
	boot     func(*state)      // applies what is configured
	// appeared is told of an interface that the kernel makes while the service
	// runs; nil if nothing listens.
	appeared func(*state, string)
}

var netStacks = map[labsim.Stack]netStack{
	labsim.StackMiddleware: {install: (*state).installTrueNAS, boot: (*state).bootTrueNAS},
	labsim.StackNetplan: {
		units: networkdUnits, install: (*state).installNetplan, generate: (*state).generatePlan, boot: (*state).bootNetworkd, appeared: (*state).reconfigure,
	},
	labsim.StackNetplanNM: {
		units: nmUnits, install: (*state).installNetplanNM, generate: (*state).generatePlan, boot: (*state).bootNM, appeared: (*state).nmAppeared,
	},
	labsim.StackNetworkd: {units: networkdUnits, install: (*state).installNetworkd, boot: (*state).bootNetworkd, appeared: (*state).reconfigure},
	labsim.StackNetworkManager: {
		units: nmUnits, install: (*state).installNM, boot: (*state).bootNM, appeared: (*state).nmAppeared,
	},
	labsim.StackIfupdown: {units: ifupdownUnits, install: (*state).installIfupdown, boot: (*state).bootIfupdown, appeared: (*state).hotplug},
}

var networkdUnits = map[string]string{
	"systemd-networkd.service": "[Unit]\nDescription=Network Configuration\n" + builtinMark + "[Install]\nWantedBy=multi-user.target\n",
	"systemd-resolved.service": "[Unit]\nDescription=Network Name Resolution\n" + builtinMark,
}

var nmUnits = map[string]string{
	"NetworkManager.service": "[Unit]\nDescription=Network Manager\n" + builtinMark + "[Install]\nWantedBy=multi-user.target\n",
}

var ifupdownUnits = map[string]string{
	"networking.service": "[Unit]\nDescription=Raise network interfaces\n" + builtinMark + "[Install]\nWantedBy=multi-user.target\n",
}

func (s *state) installPrograms(programs map[string]labsim.Program) {
	for name, program := range programs {
		s.m.Install(name, program)
	}
}

func (s *state) installNetplan() {
	s.installPrograms(map[string]labsim.Program{"/usr/sbin/netplan": netplan, "/usr/bin/networkctl": networkctl})
	s.installUnits(networkdUnits)
	s.seedNetplan("")
	s.m.FS.PutDir("/etc/systemd/network", 0o755, 0, 0)
}

func (s *state) installNetplanNM() {
	s.installPrograms(map[string]labsim.Program{"/usr/sbin/netplan": netplan})
	s.installNM()
	s.seedNetplan("NetworkManager")
}

func (s *state) installNetworkd() {
	s.installPrograms(map[string]labsim.Program{"/usr/bin/networkctl": networkctl})
	s.installUnits(networkdUnits)
	for _, d := range s.m.Config.Netdevs {
		s.m.FS.Put("/etc/systemd/network/20-"+d.Name+".network", "[Match]\nName="+d.Name+"\n\n[Network]\nDHCP=yes\n", 0o644)
	}
}

func (s *state) installNM() {
	s.installPrograms(map[string]labsim.Program{"/usr/bin/nmcli": nmcli, "/usr/bin/busctl": busctl})
	s.installUnits(nmUnits)
	s.m.FS.PutDir(nmDir, 0o755, 0, 0)
	if s.m.FS.Exists("/usr/sbin/netplan") {
		return
	}
	for _, d := range s.m.Config.Netdevs {
		s.m.FS.Put(nmDir+"/"+d.Name+".nmconnection", fmt.Sprintf(
			"[connection]\nid=%s\nuuid=%s\ntype=ethernet\ninterface-name=%s\n\n[ethernet]\n\n[ipv4]\nmethod=auto\n\n[ipv6]\nmethod=auto\n",
			d.Name, newUUID(d.Name), d.Name), 0o600)
	}
}

func (s *state) installIfupdown() {
	s.installPrograms(map[string]labsim.Program{"/usr/sbin/ifup": ifup, "/usr/sbin/ifdown": ifdown, "/usr/sbin/ifquery": ifquery})
	s.installUnits(ifupdownUnits)
	s.m.FS.PutDir("/etc/network/interfaces.d", 0o755, 0, 0)
	var b strings.Builder
	b.WriteString("# This file describes the network interfaces available on your system\n# and how to activate them. For more information, see interfaces(5).\n\n" +
		"source /etc/network/interfaces.d/*\n\nauto lo\niface lo inet loopback\n")
	for _, d := range s.m.Config.Netdevs {
		b.WriteString("\nallow-hotplug " + d.Name + "\niface " + d.Name + " inet dhcp\n")
	}
	s.m.FS.Put("/etc/network/interfaces", b.String(), 0o644)
}

// generatePlan renders what netplan is configured for.
func (s *state) generatePlan() {
	plan, err := s.readPlan("", func(string) {})
	if err != nil {
		// An invalid file leaves the host without any generated configuration.
		s.log("netplan", "netplan", err.Error())
		return
	}
	s.render("", plan)
}

func (s *state) bootNetworkd() {
	s.loadNetworks()
	s.configureAll()
}

// carrierChanged lets services that wait for a carrier go on.
func (s *state) carrierChanged() {
	s.mu.Lock()
	ready := s.readyBoot == s.m.Boots()
	s.mu.Unlock()
	if !ready {
		return
	}
	for _, d := range s.m.Netdevs() {
		if d.Type != labsim.TypeInfiniBand {
			continue
		}
		switch s.m.Config.Stack {
		case labsim.StackNetworkManager, labsim.StackNetplanNM:
			s.nmAppeared(d.Name)
		case labsim.StackNetplan, labsim.StackNetworkd:
			if n := s.networkFor(d.Name); n != nil && s.m.Carrier(&d) && len(n.values["Network.Address"]) > 0 && len(d.Addrs) == 0 {
				s.reconfigure(d.Name)
			}
		default: // nothing of the others reacts to a device by itself
		}
	}
}
