// Package packages holds the package managers of a simulated host, what the packages of
// each distribution bring, and the programs that rebuild the initramfs.
//
// It must not simulate the programs that a package brings. A package or flag that it
// does not know is refused and recorded as a violation.
package packages

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/benchmark"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/cardprog"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/infiniband"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
)

// state is the package database of a machine and what may be wrong with it.
type state struct {
	m *labsim.Machine

	mu        sync.Mutex
	installed map[string]string // versions; nil where nothing can be installed
	offline   bool
	lockedBy  int
	halfway   map[string]halfway // what dpkg has begun and not ended
	journal   bool               // dpkg was interrupted
	held      map[string]bool    // apt-mark hold
	cut       func(name string, at Step) bool
}

func stateOf(m *labsim.Machine) *state {
	s, _ := m.Value("packages", func() any {
		return &state{m: m, halfway: map[string]halfway{}, held: map[string]bool{}}
	}).(*state)
	return s
}

// SetOffline makes the package mirrors unreachable.
func SetOffline(m *labsim.Machine, offline bool) {
	s := stateOf(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offline = offline
}

// SetLock makes another process hold the lock of the package database; 0 frees it.
func SetLock(m *labsim.Machine, pid int) {
	s := stateOf(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lockedBy = pid
}

// SetHold is "apt-mark hold".
func SetHold(m *labsim.Machine, name string) {
	s := stateOf(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[name] = true
}

type packageInfo struct {
	version string
	depends []string
	install func(*labsim.Machine)
}

// installNothing is what a package brings that only its name matters of.
func installNothing(*labsim.Machine) {}

// available is what the repositories of the machine's system offer.
func (s *state) available() map[string]packageInfo {
	switch s.m.OS.System().Packages {
	case labsim.PackagesApt:
		return s.debianPackages()
	case labsim.PackagesDnf:
		return s.redHatPackages()
	case labsim.PackagesPacman:
		return archPackages
	default:
		return nil
	}
}

// debianVersions are those of Ubuntu 24.04 and of Debian 12 and 13: opensm,
// rdma-core, mstflint.
var debianVersions = map[labsim.OS][3]string{
	labsim.Ubuntu:   {"3.3.23-3", "50.0-2ubuntu0.2", "4.26.0+1-4ubuntu0.1"},
	labsim.Debian12: {"3.3.23-2", "44.0-2", "4.21.0+1-1"},
	labsim.Debian13: {"3.3.23-4", "56.1-1", "4.31.0+1-3"},
}

func (s *state) debianPackages() map[string]packageInfo {
	v := debianVersions[s.m.OS]
	all := map[string]packageInfo{
		"opensm":           {v[0], []string{"infiniband-diags"}, infiniband.InstallOpensm},
		"infiniband-diags": {v[1], nil, infiniband.InstallDiags},
		"rdma-core":        {v[1], nil, installRDMA},
		"mstflint":         {v[2], nil, installMstflint},
		"iperf3":           {"3.12-1", nil, func(m *labsim.Machine) { m.Install("/usr/bin/iperf3", benchmark.Iperf3) }},
		"qperf":            {"0.4.11-3", nil, func(m *labsim.Machine) { m.Install("/usr/bin/qperf", benchmark.Qperf) }},
		"perftest":         {"4.5+0.17-1", nil, benchmark.InstallPerftest},
	}
	if s.m.OS == labsim.Ubuntu && strings.HasSuffix(s.m.Kernel, "-generic") && s.m.Kernel < "7" {
		all["linux-modules-extra-"+s.m.Kernel] = packageInfo{strings.TrimSuffix(s.m.Kernel, "-generic") + ".49", nil,
			func(m *labsim.Machine) {
				m.AddModuleFiles(labsim.InfiniBandModules...)
			}}
	}
	return all
}

// redHatVersions are those of RHEL 9.4 and 10.1 and of Fedora 43: what each package's
// release ends with, rdma-core, mstflint.
var redHatVersions = map[labsim.OS][3]string{
	labsim.RHEL9:    {".el9", "48.0-1.el9", "4.25.0-1.el9"},
	labsim.RHEL10:   {".el10", "57.0-2.el10", "4.28.0-1.el10"},
	labsim.Fedora43: {".fc43", "59.0-1.fc43", "4.34.0-1.fc43"},
}

// redHatPackages: rdma-core brings the rules that run mlx4-setup.sh.
func (s *state) redHatPackages() map[string]packageInfo {
	v := redHatVersions[s.m.OS]
	el, rdma, mst := v[0], v[1], v[2]
	return map[string]packageInfo{
		"opensm":           {"3.3.24-2" + el, []string{"opensm-libs", "infiniband-diags"}, infiniband.InstallOpensm},
		"opensm-libs":      {"3.3.24-2" + el, nil, installNothing},
		"infiniband-diags": {rdma, nil, infiniband.InstallDiags},
		"rdma-core":        {rdma, nil, installRDMA},
		"mstflint":         {mst, nil, installMstflint},
		"iperf3":           {"3.12-1" + el, nil, func(m *labsim.Machine) { m.Install("/usr/bin/iperf3", benchmark.Iperf3) }},
		"qperf":            {"0.4.11-3" + el, nil, func(m *labsim.Machine) { m.Install("/usr/bin/qperf", benchmark.Qperf) }},
		"perftest":         {"4.5-0.17" + el, nil, benchmark.InstallPerftest},
		"pciutils":         {"3.7.0-5" + el, nil, installNothing},
	}
}

// archPackages are those of the official repositories: opensm and mstflint are
// in the user repository only.
var archPackages = map[string]packageInfo{
	"rdma-core": {"59.0-1", nil, func(m *labsim.Machine) {
		installRDMA(m)
		infiniband.InstallDiags(m)
	}},
	"pciutils": {"3.14.0-1", nil, installNothing},
}

// Install puts the package manager on the machine, and what the installer
// left.
func Install(m *labsim.Machine) {
	s := stateOf(m)
	for _, d := range []string{"/etc/udev/rules.d", "/etc/modprobe.d", "/etc/modules-load.d", "/etc/systemd/system"} {
		s.m.FS.PutDir(d, 0o755, 0, 0)
	}
	manager := s.m.OS.System().Packages
	if manager == labsim.PackagesNone {
		return
	}
	s.installed = map[string]string{}
	for name, program := range managerPrograms[manager] {
		s.m.Install(name, program)
	}
	if manager == labsim.PackagesApt {
		s.m.FS.PutDir("/etc/default", 0o755, 0, 0)
	}
	if v := s.m.Tools["mstflint"]; v != "" {
		have := s.available()["mstflint"].version
		_, revision, _ := strings.Cut(have, "-")
		s.installed["mstflint"] = v + "-" + revision
		if manager == labsim.PackagesApt {
			s.installed["mstflint"] = v + "+1-" + revision
		}
	}
}

// managerPrograms are the programs of each package manager, and those that
// rebuild the initramfs of its systems.
var managerPrograms = map[labsim.PackageManager]map[string]labsim.Program{
	labsim.PackagesApt: {
		"/usr/bin/apt-get": aptGet, "/usr/bin/apt-cache": aptCache, "/usr/bin/dpkg-query": dpkgQuery, "/usr/bin/dpkg": dpkg,
		"/usr/sbin/update-initramfs": updateInitramfs,
	},
	labsim.PackagesDnf:    {"/usr/bin/dnf": dnf, "/usr/bin/rpm": rpm, "/usr/bin/dracut": dracut},
	labsim.PackagesPacman: {"/usr/bin/pacman": pacman, "/usr/bin/mkinitcpio": mkinitcpio},
}

func installMstflint(m *labsim.Machine) {
	m.Tools["mstflint"] = cmp.Or(m.Tools["mstflint"], m.OS.System().MSTFlint) // a twin has the recorded one
	cardprog.InstallMstflint(m)
}

// installRDMA brings the rules that load the upper modules whenever a card's
// driver has bound, and that give RDMA devices persistent names.
func installRDMA(m *labsim.Machine) {
	for name, body := range map[string]string{
		"/usr/lib/udev/rules.d/90-rdma-hw-modules.rules":        "# loads mlx4_ib when mlx4_core binds\n",
		"/usr/lib/udev/rules.d/60-rdma-persistent-naming.rules": "# NAME_FALLBACK\n",
		"/etc/rdma/modules/infiniband.conf":                     "ib_ipoib\nib_umad\n",
		"/etc/modprobe.d/mlx4.conf":                             "# options of mlx4 drivers\n",
	} {
		m.FS.Put(name, body, 0o644)
	}
	if m.OS.System().Packages == labsim.PackagesDnf {
		m.FS.Put(labsim.MLX4Conf, "# Config file for mlx4 hardware port settings\n# This file is read when the mlx4_core "+
			"module is loaded and used to\n# set the port types for any hardware found.\n", 0o644)
		m.FS.Put(labsim.MLX4Setup, "#!/bin/bash\n", 0o755)
		m.FS.Put("/usr/lib/modprobe.d/libmlx4.conf", "install mlx4_core /sbin/modprobe --ignore-install mlx4_core $CMDLINE_OPTS "+
			"&& (if [ -f "+labsim.MLX4Setup+" ]; then "+labsim.MLX4Setup+" < "+labsim.MLX4Conf+"; fi)\n", 0o644)
	}
}

// loadRDMA has udev find the cards by the rules of rdma-core, as its scripts do when it is
// configured. Files that are only unpacked load nothing.
func loadRDMA(m *labsim.Machine) {
	for _, c := range m.Cards() {
		if !c.Bound() {
			continue
		}
		for _, mod := range []string{c.Config.Model.Verbs, "ib_umad", "ib_ipoib"} {
			_ = m.LoadModule(mod)
		}
	}
}

// addMissing adds a package and what it depends on, unless installed.
func (s *state) addMissing(name string, list []string) []string {
	for _, have := range list {
		if have == name {
			return list
		}
	}
	if s.version(name) == "" && s.record(name).abbrev == "" {
		list = append(list, name)
	}
	for _, d := range s.available()[name].depends {
		list = s.addMissing(d, list)
	}
	return list
}

func (s *state) version(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, half := s.halfway[name]; half {
		return ""
	}
	return s.installed[name]
}

// setUp installs a package where a service of it does not start by itself.
func (s *state) setUp(info packageInfo, name string) {
	info.install(s.m)
	if name == "rdma-core" {
		loadRDMA(s.m)
	}
	s.mu.Lock()
	s.installed[name] = info.version
	s.mu.Unlock()
	systemd.Of(s.m).DaemonReload()
}

// start is what the scripts of a package do on Debian and Ubuntu. One with a service
// enables and starts it: installing opensm begins a subnet manager on every port, unless
// the unit is masked or a policy-rc.d forbids it.
func (s *state) start(ctx context.Context, p *labsim.Proc, name, version string) {
	p.Printf("Setting up %s (%s) ...\n", name, version)
	if name == "rdma-core" {
		loadRDMA(s.m)
	}
	if name != "opensm" {
		return
	}
	systemd.Of(s.m).DaemonReload()
	if s.m.FS.Exists("/usr/sbin/policy-rc.d") && p.Run(ctx, "/usr/sbin/policy-rc.d", "opensm", "start") == 101 {
		p.Printf("invoke-rc.d: policy-rc.d denied execution of start.\n")
		return
	}
	if !systemd.Of(s.m).Masked("opensm.service") {
		_ = systemd.Of(s.m).Start("opensm.service")
	}
}

// Preinstall installs packages without the package manager, for labs that begin with
// it. Call it in Setup, after Install.
func Preinstall(m *labsim.Machine, names ...string) error {
	s := stateOf(m)
	for _, name := range names {
		if name == "linux-modules-extra" {
			name += "-" + m.Kernel
		}
		info, ok := s.available()[name]
		if !ok {
			return fmt.Errorf("packages: no package %s", name)
		}
		for _, n := range append(slices.Clone(info.depends), name) {
			s.available()[n].install(m)
			if n == "rdma-core" {
				loadRDMA(m)
			}
			s.installed[n] = s.available()[n].version
		}
	}
	return nil
}

// SetVersion has the package database say that a package is installed, whatever
// the repositories offer.
func SetVersion(m *labsim.Machine, name, version string) {
	s := stateOf(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.installed[name] = version
}
