package packages

import (
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// aptGet knows update, install and remove of the packages that hosts here need.
func aptGet(ctx context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false,
		"y yes assume-yes", "q quiet", "qq",
		"no-install-recommends", "reinstall", "o option=")
	if bad != "" || len(o.Args) == 0 {
		return p.Unknown("form of apt-get " + bad)
	}
	s := stateOf(p.Machine)
	lock := "/var/lib/dpkg/lock-frontend"
	if o.Args[0] == "update" {
		lock = "/var/lib/apt/lists/lock"
	}
	s.mu.Lock()
	locked, offline, interrupted := s.lockedBy, s.offline, s.journal
	s.mu.Unlock()
	switch {
	case p.UID != 0:
		p.Errorf("E: Could not open lock file %s - open (13: Permission denied)\nE: Unable to acquire the dpkg frontend "+
			"lock (%s), are you root?\n", lock, lock)
		return 100
	case locked != 0:
		p.Errorf("E: Could not get lock %s. It is held by process %d (unattended-upgr)\nE: Unable to acquire the dpkg "+
			"frontend lock (%s), is another process using it?\n", lock, locked, lock)
		return 100
	case interrupted && o.Args[0] != "update":
		return dirty(p)
	}
	switch o.Args[0] {
	case "update":
		return aptUpdate(p, offline)
	case "install":
		return s.aptInstall(ctx, p, o, offline)
	case "remove", "purge":
		return p.Unknown("apt-get " + o.Args[0])
	}
	return p.Unknown("apt-get " + o.Args[0])
}

func aptUpdate(p *labsim.Proc, offline bool) int {
	if offline {
		p.Printf("Ign:1 http://archive.ubuntu.com/ubuntu noble InRelease\nReading package lists...\n")
		p.Errorf("W: Failed to fetch http://archive.ubuntu.com/ubuntu/dists/noble/InRelease  Temporary failure resolving " +
			"'archive.ubuntu.com'\nW: Some index files failed to download. They have been ignored, or old ones used instead.\n")
		return 0 // apt-get update forgives unreachable mirrors
	}
	p.Printf("Hit:1 http://archive.ubuntu.com/ubuntu noble InRelease\nReading package lists...\n")
	return 0
}

func (s *state) aptInstall(ctx context.Context, p *labsim.Proc, o *labsim.Flags, offline bool) int {
	avail := s.available()
	var fresh []string
	for _, name := range o.Args[1:] {
		name, _, _ = strings.Cut(name, "=")
		if _, ok := avail[name]; !ok {
			if !strings.HasPrefix(name, "linux-modules-extra-") {
				p.Machine.Violate("apt-get: package %s is not known to the lab", name)
			}
			p.Errorf("E: Unable to locate package %s\n", name)
			return 100
		}
		fresh = s.addMissing(name, fresh)
		if o.Has("reinstall") && !slices.Contains(fresh, name) {
			fresh = append(fresh, name)
		}
	}
	p.Printf("Reading package lists...\nBuilding dependency tree...\nReading state information...\n")
	if len(fresh) == 0 && len(s.pending()) == 0 {
		for _, name := range o.Args[1:] {
			p.Printf("%s is already the newest version (%s).\n", name, s.version(name))
		}
		p.Printf("0 upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n")
		return 0
	}
	sort.Strings(fresh)
	p.Printf("The following NEW packages will be installed:\n  %s\n0 upgraded, %d newly installed, 0 to remove and 0 not "+
		"upgraded.\n",
		strings.Join(fresh, " "), len(fresh))
	if !o.Has("y") {
		p.Printf("Do you want to continue? [Y/n] Abort.\n")
		return 1
	}
	if offline {
		p.Errorf("E: Failed to fetch http://archive.ubuntu.com/ubuntu/pool/%s  Temporary failure resolving "+
			"'archive.ubuntu.com'\n"+
			"E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?\n", fresh[0])
		return 100
	}
	if p.Getenv("DEBIAN_FRONTEND") != "noninteractive" {
		p.Errorf("debconf: unable to initialize frontend: Dialog\ndebconf: falling back to frontend: Noninteractive\n")
	}
	if !s.unpack(p, fresh) {
		return 1
	}
	if s.configure(ctx, p) != 0 {
		p.Errorf("E: Sub-process /usr/bin/dpkg returned an error code (1)\n")
		return 100
	}
	return 0
}

// dpkgQuery knows -W with a format, of all packages where none is named, and dpkg -s.
func dpkgQuery(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "W show", "f showformat=", "s status")
	if bad != "" || o.Has("W") == o.Has("s") || o.Has("s") && len(o.Args) == 0 {
		return p.Unknown("form of " + p.Name() + " " + bad)
	}
	s := stateOf(p.Machine)
	status := 0
	names := o.Args
	if len(names) == 0 {
		names = s.all()
	}
	for _, name := range names {
		v := s.listed(name)
		switch {
		case v == "" && o.Has("W"):
			p.Errorf("dpkg-query: no packages found matching %s\n", name)
			status = 1
		case v == "":
			p.Errorf("dpkg-query: package '%s' is not installed and no information is available\n"+
				"Use dpkg --info (= dpkg-deb --info) to examine archive files.\n", name)
			status = 1
		case o.Has("W"):
			// dpkg takes "-f=FORMAT" for a short option, too.
			format := strings.TrimPrefix(o.Or("f", "${binary:Package}\t${Version}\n"), "=")
			p.Printf("%s", s.packageFormat(format, name, v))
		default:
			p.Printf("Package: %s\nStatus: %s ok %s\nArchitecture: amd64\nVersion: %s\n", name, s.wanted(name),
				s.statusOf(name), v)
		}
	}
	return status
}

// all are the packages that dpkg has a record of.
func (s *state) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := append(sortedKeys(s.installed), sortedKeys(s.halfway)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// listed is the version of a package in dpkg's records, complete or not.
func (s *state) listed(name string) string {
	if h := s.record(name); h.abbrev != "" {
		return h.version
	}
	return s.version(name)
}

// wanted is what dpkg's records say of a package's future.
func (s *state) wanted(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[name] {
		return "hold"
	}
	return "install"
}

func (s *state) statusOf(name string) string {
	switch h := s.record(name); {
	case h.abbrev == "":
		return "installed"
	case h.halfInstalled():
		return "half-installed"
	case h.abbrev[1] == 'F':
		return "half-configured"
	}
	return "unpacked"
}

func (s *state) packageFormat(format, name, version string) string {
	h := s.record(name)
	if h.abbrev == "" {
		h.abbrev = "ii "
	}
	status, want := s.statusOf(name), s.wanted(name)
	if want == "hold" {
		h.abbrev = "h" + h.abbrev[1:]
	}
	return strings.NewReplacer("${Package}", name, "${binary:Package}", name, "${Version}", version,
		"${Status}", want+" ok "+status, "${db:Status-Status}", status, "${db:Status-Abbrev}", h.abbrev,
		"${Config-Version}", h.configured, "${Architecture}", "amd64", `\n`, "\n", `\t`, "\t").Replace(format)
}
