package osprog

import (
	"context"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/cardprog"
)

// aptState is the package database and what may be wrong with it.
type aptState struct {
	installed map[string]string
	offline   bool
	lockedBy  int
}

// SetOffline makes the package mirrors unreachable.
func SetOffline(m *labsim.Machine, offline bool) {
	s := stateOf(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apt.offline = offline
}

// SetAptLock makes another process hold the dpkg lock; 0 frees it.
func SetAptLock(m *labsim.Machine, pid int) {
	s := stateOf(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apt.lockedBy = pid
}

type packageInfo struct {
	version string
	depends []string
	install func(s *state)
}

// available is what the mirrors offer, with the versions of Ubuntu 24.04.
func (s *state) available() map[string]packageInfo {
	return map[string]packageInfo{
		"opensm":           {"3.3.23-3", []string{"infiniband-diags"}, (*state).installOpensm},
		"infiniband-diags": {"50.0-2ubuntu0.2", nil, (*state).installDiags},
		"rdma-core":        {"50.0-2ubuntu0.2", nil, (*state).installRDMA},
		"mstflint":         {"4.26.0+1-4ubuntu0.1", nil, (*state).installMstflint},
		"linux-modules-extra-" + s.m.Kernel: {strings.TrimSuffix(s.m.Kernel, "-generic") + ".49", nil, func(s *state) {
			s.m.AddModuleFiles(labsim.InfiniBandModules...)
		}},
	}
}

func (s *state) installOpensm() {
	s.m.Install("/usr/sbin/opensm", opensm)
	s.m.Install("/usr/libexec/opensm-ports", opensmPorts)
	if !s.m.FS.Exists("/etc/default/opensm") {
		s.m.FS.Put("/etc/default/opensm", "# Ports to start an SM on: NONE, ALL or a list of port GUIDs.\nPORTS=\"ALL\"\n", 0o644)
	}
	s.m.FS.PutDir("/etc/opensm", 0o755, 0, 0)
	s.m.FS.PutDir("/var/cache/opensm", 0o755, 0, 0)
	s.installUnits(opensmUnits)
}

func (s *state) installMstflint() {
	s.m.Tools["mstflint"] = "4.26.0"
	cardprog.InstallMstflint(s.m)
}

func (s *state) installDiags() {
	for name, program := range map[string]labsim.Program{"ibstat": ibstat, "sminfo": sminfo, "ibhosts": ibhosts} {
		s.m.Install("/usr/sbin/"+name, program)
	}
}

// installRDMA brings the rules that load the upper modules whenever a card's
// driver has bound, and that give RDMA devices persistent names.
func (s *state) installRDMA() {
	for name, body := range map[string]string{
		"/usr/lib/udev/rules.d/90-rdma-hw-modules.rules":        "# loads mlx4_ib when mlx4_core binds\n",
		"/usr/lib/udev/rules.d/60-rdma-persistent-naming.rules": "# NAME_FALLBACK\n",
		"/etc/rdma/modules/infiniband.conf":                     "ib_ipoib\nib_umad\n",
		"/etc/modprobe.d/mlx4.conf":                             "# options of mlx4 drivers\n",
	} {
		s.m.FS.Put(name, body, 0o644)
	}
	if s.m.ModuleLoaded("mlx4_core") {
		for _, mod := range []string{"mlx4_ib", "ib_umad", "ib_ipoib"} {
			_ = s.m.LoadModule(mod)
		}
	}
}

// aptGet knows update, install and remove of the packages that hosts here need.
func aptGet(ctx context.Context, p *labsim.Proc) int {
	o, bad := parseOptions(p.Args[1:], false,
		option{"-y --yes --assume-yes", false}, option{"-q --quiet", false}, option{"-qq", false},
		option{"--no-install-recommends", false}, option{"-o --option", true})
	if bad != "" || len(o.rest) == 0 {
		return p.Unknown("form of apt-get " + bad)
	}
	s := stateOf(p.Machine)
	lock := "/var/lib/dpkg/lock-frontend"
	if o.rest[0] == "update" {
		lock = "/var/lib/apt/lists/lock"
	}
	s.mu.Lock()
	locked, offline := s.apt.lockedBy, s.apt.offline
	s.mu.Unlock()
	switch {
	case p.UID != 0:
		p.Errorf("E: Could not open lock file %s - open (13: Permission denied)\nE: Unable to acquire the dpkg frontend lock (%s), are you root?\n", lock, lock)
		return 100
	case locked != 0:
		p.Errorf("E: Could not get lock %s. It is held by process %d (unattended-upgr)\nE: Unable to acquire the dpkg frontend lock (%s), is another process using it?\n", lock, locked, lock)
		return 100
	}
	switch o.rest[0] {
	case "update":
		return aptUpdate(p, offline)
	case "install":
		return s.aptInstall(ctx, p, o, offline)
	case "remove", "purge":
		return p.Unknown("apt-get " + o.rest[0])
	}
	return p.Unknown("apt-get " + o.rest[0])
}

func aptUpdate(p *labsim.Proc, offline bool) int {
	if offline {
		p.Printf("Ign:1 http://archive.ubuntu.com/ubuntu noble InRelease\nReading package lists...\n")
		p.Errorf("W: Failed to fetch http://archive.ubuntu.com/ubuntu/dists/noble/InRelease  Temporary failure resolving 'archive.ubuntu.com'\n" +
			"W: Some index files failed to download. They have been ignored, or old ones used instead.\n")
		return 0 // apt-get update forgives unreachable mirrors
	}
	p.Printf("Hit:1 http://archive.ubuntu.com/ubuntu noble InRelease\nReading package lists...\n")
	return 0
}

func (s *state) aptInstall(ctx context.Context, p *labsim.Proc, o parsed, offline bool) int {
	avail := s.available()
	var fresh []string
	for _, name := range o.rest[1:] {
		name, _, _ = strings.Cut(name, "=")
		if _, ok := avail[name]; !ok {
			if !strings.HasPrefix(name, "linux-modules-extra-") {
				p.Machine.Violate("apt-get: package %s is not known to the lab", name)
			}
			p.Errorf("E: Unable to locate package %s\n", name)
			return 100
		}
		fresh = s.missing(name, fresh)
	}
	p.Printf("Reading package lists...\nBuilding dependency tree...\nReading state information...\n")
	if len(fresh) == 0 {
		for _, name := range o.rest[1:] {
			p.Printf("%s is already the newest version (%s).\n", name, s.version(name))
		}
		p.Printf("0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n")
		return 0
	}
	sort.Strings(fresh)
	p.Printf("The following NEW packages will be installed:\n  %s\n0 upgraded, %d newly installed, 0 to remove and 0 not upgraded.\n",
		strings.Join(fresh, " "), len(fresh))
	if !o.has("-y") {
		p.Printf("Do you want to continue? [Y/n] Abort.\n")
		return 1
	}
	if offline {
		p.Errorf("E: Failed to fetch http://archive.ubuntu.com/ubuntu/pool/%s  Temporary failure resolving 'archive.ubuntu.com'\n"+
			"E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?\n", fresh[0])
		return 100
	}
	if p.Getenv("DEBIAN_FRONTEND") != "noninteractive" {
		p.Errorf("debconf: unable to initialize frontend: Dialog\ndebconf: falling back to frontend: Noninteractive\n")
	}
	for _, name := range fresh {
		s.setUp(ctx, p, name, avail[name])
	}
	return 0
}

// missing adds a package and what it depends on, unless installed.
func (s *state) missing(name string, list []string) []string {
	for _, have := range list {
		if have == name {
			return list
		}
	}
	if s.version(name) == "" {
		list = append(list, name)
	}
	for _, d := range s.available()[name].depends {
		list = s.missing(d, list)
	}
	return list
}

func (s *state) version(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apt.installed[name]
}

// setUp unpacks and configures a package. A package with a service enables and
// starts it: installing opensm begins a subnet manager on every port, unless
// the unit is masked or a policy-rc.d forbids it.
func (s *state) setUp(ctx context.Context, p *labsim.Proc, name string, info packageInfo) {
	info.install(s)
	s.mu.Lock()
	s.apt.installed[name] = info.version
	s.mu.Unlock()
	p.Printf("Setting up %s (%s) ...\n", name, info.version)
	if name != "opensm" {
		return
	}
	s.daemonReload()
	if s.m.FS.Exists("/usr/sbin/policy-rc.d") && p.Run(ctx, "/usr/sbin/policy-rc.d", "opensm", "start") == 101 {
		p.Printf("invoke-rc.d: policy-rc.d denied execution of start.\n")
		return
	}
	if !s.masked("opensm.service") {
		_ = s.start("opensm.service")
	}
}

// dpkgQuery knows -W with a format, and dpkg -s.
func dpkgQuery(_ context.Context, p *labsim.Proc) int {
	o, bad := parseOptions(p.Args[1:], false, option{"-W --show", false}, option{"-f --showformat", true}, option{"-s --status", false})
	if bad != "" || o.has("-W") == o.has("-s") || len(o.rest) == 0 {
		return p.Unknown("form of " + p.Name() + " " + bad)
	}
	s := stateOf(p.Machine)
	status := 0
	for _, name := range o.rest {
		v := s.version(name)
		switch {
		case v == "" && o.has("-W"):
			p.Errorf("dpkg-query: no packages found matching %s\n", name)
			status = 1
		case v == "":
			p.Errorf("dpkg-query: package '%s' is not installed and no information is available\n"+
				"Use dpkg --info (= dpkg-deb --info) to examine archive files.\n", name)
			status = 1
		case o.has("-W"):
			// dpkg takes "-f=FORMAT" for a short option, too.
			format := strings.TrimPrefix(o.last("-f", "${binary:Package}\t${Version}\n"), "=")
			p.Printf("%s", packageFormat(format, name, v))
		default:
			p.Printf("Package: %s\nStatus: install ok installed\nArchitecture: amd64\nVersion: %s\n", name, v)
		}
	}
	return status
}

func packageFormat(format, name, version string) string {
	return strings.NewReplacer("${Package}", name, "${binary:Package}", name, "${Version}", version,
		"${Status}", "install ok installed", "${db:Status-Status}", "installed", "${db:Status-Abbrev}", "ii ",
		"${Architecture}", "amd64", `\n`, "\n", `\t`, "\t").Replace(format)
}

// aptCache knows policy.
func aptCache(_ context.Context, p *labsim.Proc) int {
	if len(p.Args) < 3 || p.Args[1] != "policy" {
		return p.Unknown("form of apt-cache")
	}
	s := stateOf(p.Machine)
	avail := s.available()
	for _, name := range p.Args[2:] {
		info, ok := avail[name]
		if !ok {
			continue // apt-cache policy prints nothing for what it does not know
		}
		have := s.version(name)
		p.Printf("%s:\n  Installed: %s\n  Candidate: %s\n", name, firstOf(have, "(none)"), info.version)
	}
	return 0
}

// noPackages is what TrueNAS has in place of the package tools.
func noPackages(_ context.Context, p *labsim.Proc) int {
	_, _ = io.WriteString(p.Stdout, "Package management tools are disabled on TrueNAS appliances.\n"+
		"\nAttempting to update TrueNAS with apt or methods other than the TrueNAS web\ninterface can result in a nonbootable system.\n")
	return 1
}

func (s *state) installUbuntu() {
	s.apt = &aptState{installed: map[string]string{}}
	if v := s.m.Tools["mstflint"]; v != "" {
		s.apt.installed["mstflint"] = fmt.Sprintf("%s+1-4ubuntu0.1", v)
	}
	for name, program := range map[string]labsim.Program{
		"/usr/bin/apt-get": aptGet, "/usr/bin/dpkg-query": dpkgQuery, "/usr/bin/dpkg": dpkgQuery, "/usr/bin/apt-cache": aptCache,
		"/usr/sbin/netplan": netplan, "/usr/bin/networkctl": networkctl,
	} {
		s.m.Install(name, program)
	}
	s.installUnits(ubuntuUnits)
	s.seedNetplan()
	for _, d := range []string{"/etc/udev/rules.d", "/etc/modprobe.d", "/etc/modules-load.d", "/etc/systemd/network", "/etc/systemd/system", "/etc/default"} {
		s.m.FS.PutDir(d, 0o755, 0, 0)
	}
}

var ubuntuUnits = map[string]string{
	"systemd-networkd.service": "[Unit]\nDescription=Network Configuration\n" + builtinMark + "[Install]\nWantedBy=multi-user.target\n",
	"systemd-resolved.service": "[Unit]\nDescription=Network Name Resolution\n" + builtinMark,
}

// InstallPackage installs a package without apt-get, for labs that begin with
// it. Call it in Setup, after Install.
func InstallPackage(m *labsim.Machine, names ...string) error {
	s := stateOf(m)
	for _, name := range names {
		if name == "linux-modules-extra" {
			name += "-" + m.Kernel
		}
		info, ok := s.available()[name]
		if !ok {
			return fmt.Errorf("osprog: no package %s", name)
		}
		for _, n := range append(info.depends, name) {
			s.available()[n].install(s)
			s.apt.installed[n] = s.available()[n].version
		}
	}
	return nil
}
