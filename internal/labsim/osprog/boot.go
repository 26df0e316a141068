package osprog

import (
	"net/netip"
	"path"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// earlyBoot runs once per boot, before the first device event: on TrueNAS the
// udev rules are regenerated from the database, so a file put there by hand is
// gone.
func (s *state) earlyBoot() {
	s.mu.Lock()
	first := s.earlyDone != s.m.Boots()
	s.earlyDone = s.m.Boots()
	s.mu.Unlock()
	if !first {
		return
	}
	s.mu.Lock()
	s.units, s.lines, s.networks = map[string]*unit{}, nil, nil
	s.inhibitors, s.hup = map[int]Inhibitor{}, map[int]func(){}
	s.managed, s.nm = map[string][]netip.Prefix{}, newNMState()
	s.mu.Unlock()
	if s.nas != nil {
		s.replaceRules(s.nas.UdevRules())
	}
}

// boot is the operating system's part of a boot, after the kernel has its
// devices: whatever was only set live before is gone, whatever is configured is
// applied.
func (s *state) boot() {
	s.earlyBoot()
	for _, d := range s.m.Netdevs() {
		// The lab's description of an interface says what DHCP leases to it,
		// not what the kernel starts with.
		if d.Port == nil && d.Type != labsim.TypeLoopback {
			s.m.UpdateNetdev(d.Name, func(n *labsim.Netdev) { n.Up, n.Addrs, n.Routes, n.Gateway = false, nil, nil, netip.Addr{} })
		}
	}
	stack := netStacks[s.m.Config.Stack]
	if stack.generate != nil {
		stack.generate(s) // generators of systemd run before any unit
	}
	s.startWanted(true)
	for name, body := range s.builtins() {
		if strings.Contains(body, builtinMark) {
			_ = s.start(name)
		}
	}
	stack.boot(s)
	s.mu.Lock()
	s.readyBoot = s.m.Boots()
	s.mu.Unlock()
	s.startWanted(false)
	if s.nas != nil {
		s.nas.Boot()
		_ = s.start("ix-postinit.service")
	}
	s.mu.Lock()
	s.bootDone = s.m.Boots()
	s.mu.Unlock()
}

// started says whether the present boot has started everything.
func (s *state) started() bool {
	boots := s.m.Boots()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bootDone == boots
}

func (s *state) builtins() map[string]string {
	all := map[string]string{}
	for n, b := range baseUnits {
		all[n] = b
	}
	for n, b := range netStacks[s.m.Config.Stack].units {
		all[n] = b
	}
	return all
}

// startWanted starts what is enabled, before the network service what is wanted
// by sysinit.target, and the rest after it.
func (s *state) startWanted(early bool) {
	for _, link := range s.wantedLinks() {
		name := path.Base(link)
		if early != strings.Contains(link, "/sysinit.target.wants/") {
			continue
		}
		if err := s.start(name); err != nil {
			s.log(name, "systemd", err.Error())
		}
	}
}

func (s *state) bootTrueNAS() {
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
	s.nas.ApplySysctls()
}
