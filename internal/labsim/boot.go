package labsim

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// defaultBootDelay is the simulated time a machine needs to come back.
const defaultBootDelay = 300 * time.Millisecond

// AddMachine makes a machine, runs the lab's Setup on it and boots it.
func (l *Lab) AddMachine(c Config) (*Machine, error) {
	if l.Machine(c.Name) != nil {
		return nil, fmt.Errorf("labsim: machine %s exists", c.Name)
	}
	c = c.withDefaults()
	if _, ok := systems[c.OS]; !ok {
		return nil, fmt.Errorf("labsim: %s: unknown system %q", c.Name, c.OS)
	}
	m := &Machine{
		Name: c.Name, OS: c.OS, Kernel: c.Kernel, Lab: l, Config: c, Faults: &Faults{},
		FS: vfs.New(l.Clock.Now), Tools: map[string]string{},
		modules: map[string]bool{}, procs: map[int]*Proc{}, locks: map[string]*fileLock{},
		values: map[string]any{}, initramfs: map[string]string{}, nextPID: 900,
	}
	m.users = append([]User{{Name: "root", Home: "/root", Shell: "/bin/bash", NoKey: true, Sudo: SudoNoPasswd}},
		c.Users...)
	if c.MstflintVersion != "none" {
		m.Tools["mstflint"] = c.MstflintVersion
	}
	for _, cc := range c.Cards {
		hw, err := card.New(cc.Config)
		if err != nil {
			return nil, fmt.Errorf("labsim: card %s of %s: %w", cc.BDF, c.Name, err)
		}
		m.installed = append(m.installed, newCard(m, cc, hw))
	}
	m.seedFiles()
	l.mu.Lock()
	l.machines[c.Name] = m
	l.mu.Unlock()
	for _, setup := range l.Options.Setup {
		setup(m)
	}
	m.UpdateInitramfs()
	m.boot()
	return m, nil
}

func (c Config) withDefaults() Config {
	if c.OS == "" {
		c.OS = Ubuntu
	}
	if c.Kernel == "" {
		c.Kernel = systems[c.OS].Kernel
	}
	if c.MstflintVersion == "" {
		c.MstflintVersion = systems[c.OS].MSTFlint
	}
	if c.MstflintVersion == "" {
		c.MstflintVersion = "none"
	}
	if c.Stack == "" {
		c.Stack = systems[c.OS].Stack
	}
	if c.Release == "" {
		c.Release = systems[c.OS].Release
	}
	if c.BootDelay == 0 {
		c.BootDelay = defaultBootDelay
	}
	return c
}

func newCard(m *Machine, cc CardConfig, hw *card.Card) *Card {
	if cc.Model == nil {
		cc.Model = modelOf(cc.Chip)
	}
	if cc.LinkWidth == 0 {
		cc.LinkWidth = cc.Model.Lanes
	}
	if cc.MaxIBMTU == 0 {
		cc.MaxIBMTU = cc.Model.MaxIBMTU
	}
	c := &Card{Card: hw, Config: cc, Machine: m}
	hw.Flash.SetHook(func(op card.Op) error {
		switch fault := m.Faults.nextFlash(); {
		case fault.powerCut:
			m.PowerCut()
			return card.ErrPowerLost
		case fault.verifyFail:
			return &card.VerifyError{Addr: op.Addr, Size: op.Size}
		case fault.kill != 0:
			m.killFlasher(fault.kill)
			return card.ErrPowerLost // the operation under way is torn all the same
		}
		return nil
	})
	for n := 1; n <= cc.Model.Ports; n++ {
		c.Ports = append(c.Ports, &Port{Card: c, Number: n, admin: true, state: StateDown, phys: PhysPolling})
	}
	return c
}

// bootCards gives the cards power, and has the bus find them.
func (m *Machine) bootCards() {
	spec := m.Faults.Get()
	m.mu.Lock()
	m.cards = nil
	if !spec.CardGone {
		m.cards = append(m.cards, m.installed...)
	}
	first := m.boots == 1
	m.mu.Unlock()
	for _, c := range m.installed {
		m.SetLink(c, true)
		if !spec.CardKeepsPower || first {
			c.Boot()
		}
		if !spec.CardGone {
			m.publishCard(c)
			continue
		}
		m.FS.Drop(c.dir())
		m.FS.Drop("/sys/bus/pci/devices/" + c.Config.BDF)
		m.FS.Drop("/sys/bus/pci/drivers/mlx4_core/" + c.Config.BDF)
	}
}

// killFlasher ends the programs that have a card's flash open.
func (m *Machine) killFlasher(sig syscall.Signal) {
	for _, p := range m.Processes() {
		if p.Name() == "mstflint" {
			p.Signal(sig)
		}
	}
}

// boot brings the machine up. Network devices and modules are there before the
// OnBoot hooks run; OnNetdevAdd has by then run for each of them, as udev does
// before services start.
func (m *Machine) boot() {
	m.mu.Lock()
	m.boots++
	m.bootID, m.booted = newBootID(), m.Lab.Clock.Now()
	m.bootCtx, m.powerOff = context.WithCancelCause(context.Background())
	m.procs, m.locks, m.kernelLog = map[int]*Proc{}, map[string]*fileLock{}, nil
	m.modules = map[string]bool{}
	m.netdevs, m.nextIndex = nil, 0
	m.mu.Unlock()
	m.seedVolatile()
	m.bootCards()
	m.AddNetdev(Netdev{Name: "lo", Type: TypeLoopback, Address: make([]byte, 6), MTU: 65536, Up: true,
		Addrs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}, Driver: ""})
	for _, d := range m.Config.Netdevs {
		m.AddNetdev(d)
	}
	m.setUp(true)
	m.loadBootModules()
	m.Lab.Recompute()
	for _, hook := range m.Hooks.OnBoot {
		hook(m)
	}
	m.mu.Lock()
	m.ready = m.up
	m.mu.Unlock()
}

func (m *Machine) setUp(up bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.up = up
}

// loadBootModules loads what the initramfs, PCI autoloading and modules-load.d
// ask for. Options come from the initramfs' copy of modprobe.d: the reason why a
// changed file needs update-initramfs on Ubuntu.
func (m *Machine) loadBootModules() {
	m.mu.Lock()
	options := m.initramfs
	m.early = true
	m.mu.Unlock()
	for _, c := range m.Cards() {
		_ = m.loadModule(c.Config.Model.Driver, options)
	}
	m.mu.Lock()
	m.early = false
	m.mu.Unlock()
	files := append(m.FS.Glob("/usr/lib/modules-load.d/*"), m.FS.Glob("/etc/modules-load.d/*")...)
	for _, file := range append(files, "/etc/modules") {
		for line := range strings.Lines(m.FS.Text(file)) {
			name := strings.TrimSpace(line)
			if name == "" || name[0] == '#' || name[0] == ';' {
				continue
			}
			if err := m.LoadModule(name); err != nil {
				m.KernelLog("systemd-modules-load: Failed to find module '%s'", name)
			}
		}
	}
}

// Reboot goes down with the services' hooks and comes back after BootDelay with
// flash as running firmware. It returns at once.
func (m *Machine) Reboot() {
	spec := m.Faults.Get()
	if spec.RebootIgnored {
		return
	}
	go func() {
		for _, hook := range m.Hooks.OnShutdown {
			hook(m)
		}
		m.cycle(spec)
	}()
}

// PowerCut drops everything at once, without shutdown hooks, and boots again
// after BootDelay. It returns when the machine is down.
func (m *Machine) PowerCut() {
	down := make(chan struct{})
	go func() {
		m.goDown()
		close(down)
		m.comeBack(m.Faults.Get())
	}()
	<-down
}

func (m *Machine) cycle(spec FaultSpec) {
	m.goDown()
	m.comeBack(spec)
}

func (m *Machine) comeBack(spec FaultSpec) {
	if spec.RebootNever {
		return
	}
	_ = m.Lab.Clock.Sleep(context.Background(), m.Config.BootDelay)
	m.Start()
}

// Halt goes down with the services' hooks and stays down; it returns when down.
func (m *Machine) Halt() {
	for _, hook := range m.Hooks.OnShutdown {
		hook(m)
	}
	m.goDown()
}

// Start boots a machine that is down.
func (m *Machine) Start() {
	m.mu.Lock()
	idle := !m.up && !m.destroyed
	m.mu.Unlock()
	if !idle {
		return
	}
	if m.Faults.Get().NewKeyAtReboot {
		m.Faults.Update(func(s *FaultSpec) { s.NewKeyAtReboot, s.WrongHostKey = false, true })
	}
	m.boot()
}

func (m *Machine) goDown() {
	m.mu.Lock()
	if !m.up {
		m.mu.Unlock()
		return
	}
	m.up, m.ready, m.bootID = false, false, ""
	power := m.powerOff
	cards := append([]*Card{}, m.cards...)
	m.mu.Unlock()
	power(ErrPowerCut)
	for _, d := range m.Netdevs() {
		m.unpublishNetdev(&d)
	}
	for _, c := range cards {
		m.unpublishRDMA(c)
	}
	m.Lab.mu.Lock()
	for _, c := range cards {
		m.mu.Lock()
		c.bound = false
		m.mu.Unlock()
	}
	m.Lab.mu.Unlock()
	m.Lab.Recompute()
}

// Destroy takes the machine down for good, without hooks.
func (m *Machine) Destroy() {
	m.Faults.Update(func(s *FaultSpec) { s.RebootNever = true })
	m.mu.Lock()
	m.destroyed = true
	m.mu.Unlock()
	m.goDown()
}
