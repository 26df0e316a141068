// Package osprog holds the programs and services of the simulated hosts'
// operating systems: systemd, the package managers, the network stacks, udev,
// iproute2, opensm and the InfiniBand tools, the middleware on TrueNAS, and what
// each of them does at boot.
//
// It must not know cards, flash or SSH, and it imports nothing of the provider.
// A flag, file or form that it does not model is refused and recorded as a
// violation; it never succeeds with empty output.
package osprog

import (
	"net/netip"
	"strings"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/middleware"
)

// state is what the simulated services of one machine keep.
type state struct {
	m *labsim.Machine

	mu         sync.Mutex
	units      map[string]*unit
	cache      map[string]*unitFile
	lines      []logLine
	inhibitors map[int]Inhibitor
	hup        map[int]func() // by PID: programs that re-read their configuration
	managed    map[string][]netip.Prefix
	sysctls    map[string]string

	networks  []*network
	earlyDone int // number of the boot whose early part has run
	readyBoot int // number of the boot whose network service is up
	bootDone  int // number of the boot that has started everything

	smPorts map[*labsim.Port]int // PID of the opensm on a port

	listeners map[int]*listener // servers of benchmarks by port
	firewall  bool

	ups  string
	scan string // of the data pool

	packages *packageState // nil where nothing can be installed
	nas      *middleware.Server
	nm       *nmState
}

// Inhibitor is a lock taken with systemd-inhibit.
type Inhibitor struct {
	What, Who, Why, Mode string
	PID                  int
}

func stateOf(m *labsim.Machine) *state {
	s, _ := m.Value("osprog", func() any {
		return &state{
			m: m, units: map[string]*unit{}, cache: map[string]*unitFile{}, inhibitors: map[int]Inhibitor{},
			hup: map[int]func(){}, nm: newNMState(), smPorts: map[*labsim.Port]int{}, managed: map[string][]netip.Prefix{},
			sysctls: map[string]string{"net.core.rmem_max": "212992", "net.core.wmem_max": "212992"},
		}
	}).(*state)
	return s
}

// Install puts the programs, units, files and boot sequence of the machine's
// system on it. It belongs into labsim.Options.Setup.
func Install(m *labsim.Machine) {
	s := stateOf(m)
	for name, program := range commonPrograms {
		m.Install(name, program)
	}
	s.installUnits(baseUnits)
	s.installTables()
	s.installPackages()
	netStacks[m.Config.Stack].install(s)
	m.Hooks.OnNetdevAdd = append(m.Hooks.OnNetdevAdd, func(_ *labsim.Machine, d *labsim.Netdev) { s.netdevAdded(d.Name) })
	m.Hooks.AddChild = func(_ *labsim.Machine, parent, child string, pkey uint64) error {
		return s.addChild(parent, child, pkey, "", true)
	}
	m.Hooks.OnBoot = append(m.Hooks.OnBoot, func(*labsim.Machine) { s.boot() })
	m.Hooks.OnShutdown = append(m.Hooks.OnShutdown, func(*labsim.Machine) { s.stopAll() })
	m.Hooks.OnPortChange = append(m.Hooks.OnPortChange, func(*labsim.Machine, *labsim.Port) {
		s.refreshLinkLocal()
		s.carrierChanged()
	})
}

// Middleware returns the middleware of a TrueNAS machine, or nil.
func Middleware(m *labsim.Machine) *middleware.Server { return stateOf(m).nas }

// Inhibitors returns the inhibitor locks that are held now.
func Inhibitors(m *labsim.Machine) []Inhibitor {
	s := stateOf(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Inhibitor, 0, len(s.inhibitors))
	for _, i := range s.inhibitors {
		list = append(list, i)
	}
	return list
}

var commonPrograms = map[string]labsim.Program{
	"/usr/bin/systemctl":       systemctl,
	"/usr/bin/systemd-run":     systemdRun,
	"/usr/bin/systemd-inhibit": systemdInhibit,
	"/usr/bin/journalctl":      journalctl,
	"/usr/bin/udevadm":         udevadm,
	"/usr/sbin/ip":             ipProgram,
	"/usr/bin/ping":            ping,
	"/usr/sbin/reboot":         rebootProgram,
	"/usr/sbin/shutdown":       shutdownProgram,
}

// baseUnits are there on every host and only carry a state.
var baseUnits = map[string]string{
	"ssh.service": "[Unit]\nDescription=OpenBSD Secure Shell server\n" + builtinMark +
		"[Install]\nWantedBy=multi-user.target\n",
	"systemd-udevd.service":    "[Unit]\nDescription=Rule-based Manager for Device Events and Files\n" + builtinMark,
	"systemd-journald.service": "[Unit]\nDescription=Journal Service\n" + builtinMark,
	"systemd-logind.service":   "[Unit]\nDescription=User Login Management\n" + builtinMark,
	"multi-user.target":        "[Unit]\nDescription=Multi-User System\n" + builtinMark,
	"network-online.target":    "[Unit]\nDescription=Network is Online\n" + builtinMark,
	"network.target":           "[Unit]\nDescription=Network\n" + builtinMark,
}

// builtinMark is the body of units that have no process in the lab: they are
// active from boot on.
const builtinMark = "[Service]\nX-Lab-Builtin=yes\n"

const unitDir = "/usr/lib/systemd/system/"

func (s *state) installUnits(units map[string]string) {
	for name, body := range units {
		s.m.FS.Put(unitDir+name, body, 0o644)
		if strings.Contains(body, "[Install]") {
			s.link(name)
		}
	}
}
