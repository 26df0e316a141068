package network

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
)

// netStack is what configures the network of a machine.
type netStack struct {
	install  func(*State) // programs, units and the files that the installer left
	Generate func(*State) // a generator of systemd; nil if there is none
	Boot     func(*State) // applies what is configured
	// appeared is told of an interface that the kernel makes while the service
	// runs; nil if nothing listens.
	Appeared func(*State, string)
}

var netStacks = map[labsim.Stack]netStack{
	labsim.StackNetplan: {install: (*State).installNetplan, Generate: (*State).generatePlan,
		Boot: (*State).bootNetworkd, Appeared: (*State).reconfigure},
	labsim.StackNetplanNM: {install: (*State).installNetplanNM, Generate: (*State).generatePlan,
		Boot: (*State).bootNM, Appeared: (*State).nmAppeared},
	labsim.StackNetworkd: {install: (*State).installNetworkd, Boot: (*State).bootNetworkd,
		Appeared: (*State).reconfigure},
	labsim.StackNetworkManager: {install: (*State).installNM, Boot: (*State).bootNM, Appeared: (*State).nmAppeared},
	labsim.StackIfupdown: {install: (*State).installIfupdown, Boot: (*State).bootIfupdown,
		Appeared: (*State).hotplug},
}

var networkdUnits = map[string]string{
	"systemd-networkd.service": "[Unit]\nDescription=Network Configuration\n" + systemd.BuiltinMark +
		"[Install]\nWantedBy=multi-user.target\n",
	"systemd-resolved.service": "[Unit]\nDescription=Network Name Resolution\n" + systemd.BuiltinMark,
}

var nmUnits = map[string]string{
	"NetworkManager.service": "[Unit]\nDescription=Network Manager\n" + systemd.BuiltinMark +
		"[Install]\nWantedBy=multi-user.target\n",
}

var ifupdownUnits = map[string]string{
	"networking.service": "[Unit]\nDescription=Raise network interfaces\n" + systemd.BuiltinMark +
		"[Install]\nWantedBy=multi-user.target\n",
}

// Install puts ip, ping and what configures the network of the machine on it.
func Install(m *labsim.Machine) {
	s := Of(m)
	s.installPrograms(map[string]labsim.Program{"/usr/sbin/ip": ipProgram, "/usr/bin/ping": ping})
	s.installTables()
	if stack, ok := netStacks[m.Config.Stack]; ok {
		stack.install(s)
	}
	m.Hooks.AddChild = func(_ *labsim.Machine, parent, child string, pkey uint64) error {
		return s.addChild(parent, child, pkey, "", true)
	}
	m.Hooks.OnPortChange = append(m.Hooks.OnPortChange, func(*labsim.Machine, *labsim.Port) {
		for _, d := range m.Netdevs() {
			if d.Kind == labsim.KindBond {
				m.SettleBond(d.Name)
			}
		}
		s.refreshLinkLocal()
		s.onCarrierChange()
	})
}

// Reset forgets what a boot does not keep.
func (s *State) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.managed, s.nm, s.networks = map[string][]netip.Prefix{}, newNMState(), nil
	s.rules, s.nexthops, s.neighbours = nil, nil, nil
}

// Generate runs the stack's generator, as systemd does before any unit.
func (s *State) Generate() {
	if stack := netStacks[s.m.Config.Stack]; stack.Generate != nil {
		stack.Generate(s)
	}
}

// Boot has the stack apply what is configured.
func (s *State) Boot() {
	if stack, ok := netStacks[s.m.Config.Stack]; ok {
		stack.Boot(s)
	}
}

// MarkReady says that the network service of the present boot is up.
func (s *State) MarkReady() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readyBoot = s.m.Boots()
}

// Ready says whether the network service is up.
func (s *State) Ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readyBoot == s.m.Boots()
}

// AddInterface tells the stack of an interface that the kernel made.
func (s *State) AddInterface(name string) {
	if stack := netStacks[s.m.Config.Stack]; stack.Appeared != nil {
		stack.Appeared(s, name)
	}
}

func (s *State) installPrograms(programs map[string]labsim.Program) {
	for name, program := range programs {
		s.m.Install(name, program)
	}
}

func (s *State) installNetplan() {
	s.installPrograms(map[string]labsim.Program{"/usr/sbin/netplan": netplan, "/usr/bin/networkctl": networkctl})
	systemd.Of(s.m).Builtins(networkdUnits)
	s.seedNetplan("")
	s.m.FS.PutDir("/etc/systemd/network", 0o755, 0, 0)
}

func (s *State) installNetplanNM() {
	s.installPrograms(map[string]labsim.Program{"/usr/sbin/netplan": netplan})
	s.installNM()
	s.seedNetplan("NetworkManager")
}

func (s *State) installNetworkd() {
	s.installPrograms(map[string]labsim.Program{"/usr/bin/networkctl": networkctl})
	systemd.Of(s.m).Builtins(networkdUnits)
	for _, d := range s.m.Config.Netdevs {
		s.m.FS.Put("/etc/systemd/network/20-"+d.Name+".network", "[Match]\nName="+d.Name+"\n\n[Network]\nDHCP=yes\n", 0o644)
	}
}

func (s *State) installNM() {
	s.installPrograms(map[string]labsim.Program{"/usr/bin/nmcli": nmcli, "/usr/bin/busctl": busctl})
	systemd.Of(s.m).Builtins(nmUnits)
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

func (s *State) installIfupdown() {
	s.installPrograms(map[string]labsim.Program{"/usr/sbin/ifup": ifup})
	systemd.Of(s.m).Builtins(ifupdownUnits)
	s.m.FS.PutDir("/etc/network/interfaces.d", 0o755, 0, 0)
	var b strings.Builder
	b.WriteString("# This file describes the network interfaces available on your system\n# and how to activate them. " +
		"For more information, see interfaces(5).\n\n" +
		"source /etc/network/interfaces.d/*\n\nauto lo\niface lo inet loopback\n")
	for _, d := range s.m.Config.Netdevs {
		b.WriteString("\nallow-hotplug " + d.Name + "\niface " + d.Name + " inet dhcp\n")
	}
	s.m.FS.Put("/etc/network/interfaces", b.String(), 0o644)
}

// generatePlan renders what netplan is configured for.
func (s *State) generatePlan() {
	plan, err := s.readPlan("", func(string) {})
	if err != nil {
		// An invalid file leaves the host without any generated configuration.
		systemd.Of(s.m).Log("netplan", "netplan", err.Error())
		return
	}
	s.render("", plan)
}

func (s *State) bootNetworkd() {
	s.loadNetworks()
	s.configureAll()
}

// onCarrierChange lets services that wait for a carrier go on.
func (s *State) onCarrierChange() {
	if !s.Ready() {
		return
	}
	for _, d := range s.m.Netdevs() {
		if d.Type != labsim.TypeInfiniBand || d.Kind == labsim.KindBond {
			continue
		}
		switch s.m.Config.Stack {
		case labsim.StackNetworkManager, labsim.StackNetplanNM:
			s.nmAppeared(d.Name)
		case labsim.StackNetplan, labsim.StackNetworkd:
			if n := s.networkFor(d.Name); n != nil && s.m.Carrier(&d) && len(d.Addrs) == 0 &&
				(len(n.Values["Network.Address"]) > 0 || n.Last("Network.DHCP") == "ipv4") {
				s.reconfigure(d.Name)
			}
		default: // nothing of the others reacts to a device by itself
		}
	}
}
