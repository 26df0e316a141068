package packages

import (
	"context"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// Step is what dpkg does with a package.
type Step string

// The steps of an installation.
const (
	Unpack    Step = "unpack"
	Configure Step = "configure"
)

// halfway is a package that is not completely installed, as dpkg records it.
type halfway struct {
	abbrev     string // "iHR", "iU " or "iF "
	version    string
	configured string // the version that was configured last; empty for a new package
}

func (h halfway) halfInstalled() bool { return h.abbrev[1] == 'H' }

// SetCut takes the power from the machine when dpkg does a step of a package.
func SetCut(m *labsim.Machine, name string, step Step) {
	s := stateOf(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = func(n string, at Step) bool { return n == name && at == step }
}

// SetHalfway has the package database say what an interrupted dpkg has left. configured
// is the version that the package had before; empty if it is new.
func SetHalfway(m *labsim.Machine, name, abbrev, version, configured string) {
	s := stateOf(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = true
	s.halfway[name] = halfway{abbrev, version, configured}
}

// strike reports whether the power goes now. What dpkg has begun stays in its journal.
func (s *state) strike(name, version string, at Step) bool {
	s.mu.Lock()
	cut := s.cut != nil && s.cut(name, at)
	if cut {
		s.cut, s.journal = nil, true
		if at == Unpack {
			s.halfway[name] = halfway{"iHR", version, ""}
		} else {
			s.halfway[name] = halfway{"iF ", version, ""}
		}
	}
	s.mu.Unlock()
	if cut {
		s.m.PowerCut()
	}
	return cut
}

// unpack puts the files of packages there. It reports whether the machine lives on.
func (s *state) unpack(p *labsim.Proc, names []string) bool {
	for _, name := range names {
		info := s.available()[name]
		if s.strike(name, info.version, Unpack) {
			return false
		}
		p.Printf("Unpacking %s (%s) ...\n", name, info.version)
		info.install(s.m)
		s.mu.Lock()
		s.halfway[name] = halfway{"iU ", info.version, ""}
		s.mu.Unlock()
	}
	return true
}

// configure is "dpkg --configure -a".
func (s *state) configure(ctx context.Context, p *labsim.Proc) int {
	var failed []string
	for _, name := range s.pending() {
		if missing := s.lacks(name); missing != "" {
			p.Errorf("dpkg: dependency problems prevent configuration of %[1]s:\n %[1]s depends on %[2]s; however:\n"+
				"  Package %[2]s is not installed.\n\ndpkg: error processing package %[1]s (--configure):\n"+
				" dependency problems - leaving unconfigured\n", name, missing)
			failed = append(failed, name)
			continue
		}
		h := s.record(name)
		if s.strike(name, h.version, Configure) {
			return 1
		}
		s.mu.Lock()
		delete(s.halfway, name)
		s.installed[name] = h.version
		s.mu.Unlock()
		s.start(ctx, p, name, h.version)
	}
	s.mu.Lock()
	s.journal = false
	s.mu.Unlock()
	if len(failed) > 0 {
		p.Errorf("Errors were encountered while processing:\n %s\n", strings.Join(failed, "\n "))
		return 1
	}
	return 0
}

func (s *state) record(name string) halfway {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.halfway[name]
}

// pending are the packages that are unpacked, those that others need first.
func (s *state) pending() (names []string) {
	s.mu.Lock()
	for name, h := range s.halfway {
		if !h.halfInstalled() {
			names = append(names, name)
		}
	}
	s.mu.Unlock()
	slices.Sort(names)
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case slices.Contains(s.available()[a].depends, b):
			return 1
		case slices.Contains(s.available()[b].depends, a):
			return -1
		}
		return 0
	})
	return names
}

// lacks names a package that another one needs and that is not installed.
func (s *state) lacks(name string) string {
	for _, d := range s.available()[name].depends {
		if s.version(d) == "" {
			return d
		}
	}
	return ""
}

// dirty says what apt-get says of a journal that an interrupted dpkg has left.
func dirty(p *labsim.Proc) int {
	sudo := ""
	if p.Getenv("SUDO_USER") != "" {
		sudo = "sudo "
	}
	p.Errorf("E: dpkg was interrupted, you must manually run '%sdpkg --configure -a' to correct the problem. \n", sudo)
	return 100
}

// dpkg knows --configure -a, --audit, and -s.
func dpkg(ctx context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "configure", "a pending", "force-confold", "audit", "s status")
	s := stateOf(p.Machine)
	switch {
	case bad != "":
		return p.Unknown("form of dpkg " + bad)
	case o.Has("configure") && o.Has("a") && len(o.Args) == 0:
		if p.UID != 0 {
			p.Errorf("dpkg: error: requested operation requires superuser privilege\n")
			return 2
		}
		return s.configure(ctx, p)
	case o.Has("audit") && len(o.Args) == 0:
		s.audit(p)
		return 0
	case o.Has("s"):
		return dpkgQuery(ctx, p)
	}
	return p.Unknown("form of dpkg")
}

// audits are the words of "dpkg --audit", by the second letter of a package's state.
var audits = []struct {
	letter byte
	words  string
}{
	{'H', "The following packages are in a mess due to serious problems during\n" +
		"installation.  They must be reinstalled for them (and any packages\n" +
		"that depend on them) to function properly:\n"},
	{'U', "The following packages have been unpacked but not yet configured.\n" +
		"They must be configured using dpkg --configure or the configure\n" +
		"menu option in dselect for them to work:\n"},
	{'F', "The following packages are only half configured, probably due to problems\n" +
		"configuring them the first time.  The configuration should be retried using\n" +
		"dpkg --configure <package> or the configure menu option in dselect:\n"},
}

func (s *state) audit(p *labsim.Proc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range audits {
		words := a.words
		for _, name := range sortedKeys(s.halfway) {
			if s.halfway[name].abbrev[1] == a.letter {
				p.Printf("%s %s\n", words, name)
				words = ""
			}
		}
		if words == "" {
			p.Printf("\n")
		}
	}
}

// aptCache knows "depends --recurse".
func aptCache(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "recurse", "no-recommends", "no-suggests", "no-conflicts", "no-breaks",
		"no-replaces", "no-enhances")
	if bad != "" || len(o.Args) < 2 || o.Args[0] != "depends" || !o.Has("recurse") {
		return p.Unknown("form of apt-cache " + bad)
	}
	s := stateOf(p.Machine)
	left, seen := o.Args[1:], map[string]bool{}
	for len(left) > 0 {
		name := left[0]
		left = left[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		p.Printf("%s\n", name)
		for _, d := range s.available()[name].depends {
			p.Printf("  Depends: %s\n", d)
			left = append(left, d)
		}
	}
	return 0
}

func sortedKeys[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
