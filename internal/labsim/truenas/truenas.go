// Package truenas is what a host of TrueNAS SCALE has in place of other systems' tools:
// the middleware as the machine's own, midclt, ZFS and the UPS client.
//
// It must not hold what the middleware does, which is package middleware.
package truenas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/benchmark"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/middleware"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/network"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// nasVersion is the release of simulated TrueNAS hosts.
const nasVersion = "25.10.3"

// state is what the services of one machine keep.
type state struct {
	m *labsim.Machine

	mu   sync.Mutex
	nas  *middleware.Server
	ups  string
	scan string // of the data pool
}

func stateOf(m *labsim.Machine) *state {
	s, _ := m.Value("truenas", func() any {
		return &state{m: m}
	}).(*state)
	return s
}

// nasSystem lets the middleware see and change a simulated machine.
type nasSystem struct{ s *state }

var _ middleware.System = nasSystem{}

func (n nasSystem) Links() []middleware.Link {
	var list []middleware.Link
	for _, d := range n.s.m.Netdevs() {
		if d.Type == labsim.TypeLoopback {
			continue
		}
		l := middleware.Link{
			Name: d.Name, MTU: d.MTU, Up: d.Up, Running: n.s.m.Carrier(&d), Address: d.HardwareAddress(),
			Permanent: d.HardwareAddress(), Media: "1000Mb/s Twisted Pair", InfiniBand: d.Type == labsim.TypeInfiniBand,
		}
		if d.Port != nil {
			l.Media = "40000Mb/s Other"
		}
		for _, a := range d.Addrs {
			l.Addrs = append(l.Addrs, middleware.Addr{IP: a.Addr().String(), Prefix: a.Bits(), Broadcast: network.Broadcast(a)})
		}
		list = append(list, l)
	}
	return list
}

func (n nasSystem) SetUp(name string, up bool) error {
	if !network.Of(n.s.m).SetLink(name, up) {
		return network.ErrNoDevice
	}
	return nil
}

func (n nasSystem) SetMTU(name string, mtu int) error { return n.s.m.SetMTU(name, mtu) }

func (n nasSystem) AddAddr(name string, a middleware.Addr) error {
	p, err := netip.ParsePrefix(fmt.Sprintf("%s/%d", a.IP, a.Prefix))
	if err != nil {
		return err
	}
	if err := network.Of(n.s.m).AddAddr(name, p); err != nil && !errors.Is(err, network.ErrAddrExists) {
		return err
	}
	return nil
}

func (n nasSystem) DelAddr(name string, a middleware.Addr) error {
	p, err := netip.ParsePrefix(fmt.Sprintf("%s/%d", a.IP, a.Prefix))
	if err != nil {
		return err
	}
	return network.Of(n.s.m).DelAddr(name, p)
}

func (n nasSystem) StartDHCP(name string) bool {
	addrs, gw := network.Of(n.s.m).Lease(name)
	for _, a := range addrs {
		_ = network.Of(n.s.m).AddAddr(name, a)
	}
	if gw.IsValid() {
		network.Of(n.s.m).SetLink(name, true)
		network.Of(n.s.m).SetDefault(gw)
	}
	return len(addrs) > 0
}

func (n nasSystem) StopDHCP(string) {}

func (n nasSystem) SetGateway(ip string) {
	gw, _ := netip.ParseAddr(ip)
	network.Of(n.s.m).SetDefault(gw)
}

func (n nasSystem) Now() time.Time           { return n.s.m.Lab.Clock.Now() }
func (n nasSystem) Sleep(d time.Duration)    { _ = n.s.m.Lab.Clock.Sleep(n.s.m.BootContext(), d) }
func (n nasSystem) BootID() string           { return n.s.m.BootID() }
func (n nasSystem) Reboot(string)            { n.s.m.Reboot() }
func (n nasSystem) SetBootArgs(extra string) { n.s.m.SetCmdline(extra) }
func (n nasSystem) Unsimulated(what string)  { n.s.m.Violate("not simulated: %s", what) }
func (n nasSystem) AfterFunc(d time.Duration, f func()) func() {
	boot := n.s.m.BootContext()
	t := n.s.m.Lab.Clock.AfterFunc(d, func() {
		if boot.Err() == nil {
			f()
		}
	})
	return func() { t.Stop() }
}

func (n nasSystem) ReplaceUdevRules(files map[string]string) { n.s.replaceRules(files) }

// replaceRules empties /etc/udev/rules.d, whoever wrote there, and writes files.
func (s *state) replaceRules(files map[string]string) {
	s.m.FS.Drop("/etc/udev/rules.d")
	s.m.FS.PutDir("/etc/udev/rules.d", 0o755, 0, 0)
	for name, body := range files {
		s.m.FS.Put("/etc/udev/rules.d/"+name, body, 0o644)
	}
}

// RunScript runs an init script. A timeout only stops the waiting.
func (n nasSystem) RunScript(command string, timeout time.Duration) error {
	m := n.s.m
	out := systemd.Of(n.s.m).Journal("middlewared.service", "sh")
	done := m.Spawn(&labsim.Proc{Machine: m, PPID: 1, Args: []string{"/bin/sh", "-c", command}, User: "root",
		Env: map[string]string{"PATH": labsim.DefaultPath}, Stdout: out, Stderr: out})
	late := make(chan struct{})
	t := m.Lab.Clock.AfterFunc(timeout, func() { close(late) })
	defer t.Stop()
	select {
	case st := <-done:
		if st != 0 {
			return fmt.Errorf("exit status %d", st)
		}
		return nil
	case <-late:
		return errors.New("timed out")
	}
}

func (n nasSystem) Log(line string) {
	h, err := n.s.m.FS.Open(vfs.Root, "/var/log/middlewared.log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err == nil {
		_, _ = fmt.Fprintf(h, "[%s] %s\n", n.Now().UTC().Format("2006/01/02 15:04:05"), line)
	}
}

// midclt calls the middleware as the user who runs it: root and members of the
// administrators group (truenas_admin) may do everything, others nothing.
func midclt(_ context.Context, p *labsim.Proc) int {
	s := stateOf(p.Machine)
	const administrators = 544
	who := middleware.Caller{FullAdmin: p.UID == 0 || p.User == "truenas_admin"}
	for _, g := range p.Machine.GroupIDs(p.User, p.GID) {
		who.FullAdmin = who.FullAdmin || g == administrators
	}
	cli := &middleware.CLI{Server: s.nas, Caller: who, Stdout: p.Stdout, Stderr: p.Stderr}
	return cli.Run(p.Args[1:])
}

// upsc is the NUT client; without a UPS there is no server to ask.
func upsc(_ context.Context, p *labsim.Proc) int {
	s := stateOf(p.Machine)
	s.mu.Lock()
	status := s.ups
	s.mu.Unlock()
	if status == "" {
		p.Errorf("Error: Connection failure: Connection refused\n")
		return 1
	}
	switch {
	case len(p.Args) == 2 && p.Args[1] == "-l":
		p.Printf("ups\n")
	case len(p.Args) == 3 && p.Args[2] == "ups.status":
		p.Printf("%s\n", status)
	default:
		return p.Unknown("form of upsc")
	}
	return 0
}

// SetUPS says what the UPS reports ("OL", "OB LB"); empty: no UPS.
func SetUPS(m *labsim.Machine, status string) {
	s := stateOf(m)
	s.mu.Lock()
	s.ups = status
	s.mu.Unlock()
	m.Install("/usr/bin/upsc", upsc)
}

// OfferRDMA makes a TrueNAS machine one of the maker's own, whose storage can go over RDMA.
func OfferRDMA(m *labsim.Machine, protocols ...any) { stateOf(m).nas.OfferRDMA(protocols...) }

// EarlyBoot regenerates the udev rules from the database: a file put there by hand
// is gone.
func EarlyBoot(m *labsim.Machine) {
	s := stateOf(m)
	s.replaceRules(s.nas.UdevRules())
}

// FinishBoot is the end of a boot: the middleware starts and runs its init scripts.
func FinishBoot(m *labsim.Machine) {
	s := stateOf(m)
	s.nas.Boot()
	_ = systemd.Of(s.m).Start("ix-postinit.service")
}

// AddInterface tells the middleware of an interface that the kernel made.
func AddInterface(m *labsim.Machine, name string) { stateOf(m).nas.DeviceAppeared(name) }

// FreshDatabase empties the interface tables of a TrueNAS machine: the state of
// an installation that nobody has configured, with DHCP on every interface.
// Call it in Setup, after Install.
func FreshDatabase(m *labsim.Machine) {
	s := stateOf(m)
	s.nas = middleware.New(nasSystem{s}, middleware.Options{Version: nasVersion})
}

// Fill puts into an empty database what a middleware has said of itself: rows of interfaces, and calls that make the
// rest. Call it in Setup, after FreshDatabase.
func Fill(m *labsim.Machine, rows []middleware.SeedRow, calls map[string][]map[string]any) error {
	s := stateOf(m)
	for _, row := range rows {
		s.nas.Seed(row)
	}
	var all []error
	for _, method := range slices.Sorted(maps.Keys(calls)) {
		for _, data := range calls[method] {
			all = append(all, s.nas.Call(middleware.Caller{FullAdmin: true}, method, []any{data}).Err)
		}
	}
	if gw := m.Config.Gateway; gw.IsValid() {
		s.nas.SetGateway(gw.String())
	}
	return errors.Join(all...)
}

// Install puts the middleware and what else the image holds on the machine.
func Install(m *labsim.Machine) {
	s := stateOf(m)
	s.m.Install("/usr/bin/iperf3", benchmark.Iperf3) // part of the image
	s.nas = middleware.New(nasSystem{s}, middleware.Options{Version: nasVersion})
	for _, d := range s.m.Config.Netdevs {
		if d.Type != labsim.TypeEthernet {
			continue
		}
		row := middleware.SeedRow{Name: d.Name, Description: "mgmt"}
		for _, a := range d.Addrs {
			row.Addrs = append(row.Addrs, middleware.Addr{IP: a.Addr().String(), Prefix: a.Bits()})
		}
		s.nas.Seed(row)
		if _, gw := network.Of(s.m).Lease(d.Name); gw.IsValid() {
			s.nas.SetGateway(gw.String())
		}
	}
	s.m.Install("/usr/bin/midclt", midclt)
	s.m.Install("/usr/bin/upsc", upsc)
	s.installZFS()
	for _, name := range []string{"/usr/bin/apt", "/usr/bin/apt-get", "/usr/bin/apt-cache", "/usr/bin/dpkg",
		"/usr/bin/dpkg-query"} {
		s.m.Install(name, noPackages)
	}
	systemd.Of(s.m).InstallUnits(map[string]string{
		"ix-postinit.service": "[Unit]\nDescription=Execute TrueNAS post-init scripts\n" + systemd.BuiltinMark,
		"middlewared.service": "[Unit]\nDescription=TrueNAS Middleware\n" + systemd.BuiltinMark,
	})
	for _, d := range []string{"/etc/udev/rules.d", "/etc/modprobe.d", "/etc/modules-load.d", "/etc/systemd/system"} {
		s.m.FS.PutDir(d, 0o755, 0, 0)
	}
	s.m.Hooks.OnModule = append(s.m.Hooks.OnModule, func(_ *labsim.Machine, module string, loaded bool) {
		if loaded && module == "mlx4_ib" {
			systemd.Of(s.m).RDMAEvents("add")
		}
	})
	s.m.Hooks.OnShutdown = append(s.m.Hooks.OnShutdown, func(*labsim.Machine) { s.nas.Shutdown() })
	s.m.FS.Put("/etc/version", strings.TrimSpace(nasVersion)+"\n", 0o644)
}

// Boot does what the middleware does before any service starts.
func Boot(m *labsim.Machine) {
	s := stateOf(m)
	data, err := s.m.FS.ReadFile("/proc/cmdline")
	if err != nil {
		return
	}
	for _, word := range strings.Fields(string(data)) {
		list, ok := strings.CutPrefix(word, "modules_load=")
		if !ok {
			continue
		}
		for _, mod := range strings.Split(list, ",") {
			_ = s.m.LoadModule(mod)
		}
	}
}

// noPackages is what TrueNAS has in place of the package tools.
func noPackages(_ context.Context, p *labsim.Proc) int {
	_, _ = io.WriteString(p.Stdout, "Package management tools are disabled on TrueNAS appliances.\n"+
		"\nAttempting to update TrueNAS with apt or methods other than the TrueNAS web\ninterface can result in a "+
		"nonbootable system.\n")
	return 1
}
