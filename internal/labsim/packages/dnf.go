package packages

import (
	"context"
	"sort"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// dnfRepo is the repository that simulated hosts of the RHEL family have.
const dnfRepo = "baseos"

// dnf knows install and makecache. Texts and statuses are those of dnf 4.14.
func dnf(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false,
		"y assumeyes", "q quiet", "setopt=", "refresh")
	if bad != "" || len(o.Args) == 0 {
		return p.Unknown("form of dnf " + bad)
	}
	for _, set := range o.All("setopt") {
		if set != "install_weak_deps=False" {
			return p.Unknown("option --setopt=" + set)
		}
	}
	s := stateOf(p.Machine)
	s.mu.Lock()
	offline, locked := s.offline, s.lockedBy
	s.mu.Unlock()
	switch {
	case p.UID != 0:
		p.Errorf("Error: This command has to be run with superuser privileges (under the root user on most systems).\n")
		return 1
	case locked != 0:
		// The real program waits for ever; a lab must not.
		p.Errorf("Waiting for process with pid %d to finish.\n", locked)
		return 1
	}
	switch o.Args[0] {
	case "makecache":
		if offline {
			return dnfUnreachable(p)
		}
		p.Printf("%-48s%s\nMetadata cache created.\n", dnfRepo, "2.9 MB/s | 3.0 kB     00:00    ")
		return 0
	case "install":
		return s.dnfInstall(p, o, offline)
	}
	return p.Unknown("dnf " + o.Args[0])
}

func dnfUnreachable(p *labsim.Proc) int {
	p.Errorf("Errors during downloading metadata for repository '%s':\n"+
		"  - Curl error (6): Couldn't resolve host name for https://mirror.invalid/%s/repodata/repomd.xml [Could not "+
		"resolve host: mirror.invalid]\n"+
		"Error: Failed to download metadata for repo '%s': Cannot download repomd.xml: Cannot download repodata/repomd.xml: "+
		"All mirrors were tried\n",
		dnfRepo, dnfRepo, dnfRepo)
	return 1
}

func (s *state) dnfInstall(p *labsim.Proc, o *labsim.Flags, offline bool) int {
	avail := s.available()
	var fresh, unknown []string
	for _, name := range o.Args[1:] {
		if _, ok := avail[name]; !ok {
			p.Machine.Violate("dnf: package %s is not known to the lab", name)
			p.Printf("No match for argument: %s\n", name)
			unknown = append(unknown, name)
			continue
		}
		fresh = s.addMissing(name, fresh)
	}
	if len(unknown) > 0 {
		p.Errorf("Error: Unable to find a match: %s\n", strings.Join(unknown, " "))
		return 1
	}
	if len(fresh) == 0 {
		for _, name := range o.Args[1:] {
			p.Printf("Package %s-%s.x86_64 is already installed.\n", name, s.version(name))
		}
		p.Printf("Dependencies resolved.\nNothing to do.\nComplete!\n")
		return 0
	}
	if offline {
		return dnfUnreachable(p)
	}
	sort.Strings(fresh)
	p.Printf("Dependencies resolved.\nInstalling:\n")
	for _, name := range fresh {
		p.Printf(" %-16s x86_64  %s  %s\n", name, avail[name].version, dnfRepo)
	}
	if !o.Has("y") {
		p.Printf("Is this ok [y/N]: ")
		p.Errorf("Operation aborted.\n")
		return 1
	}
	for _, name := range fresh {
		s.setUp(avail[name], name)
	}
	p.Printf("\nInstalled:\n")
	for _, name := range fresh {
		p.Printf("  %s-%s.x86_64\n", name, avail[name].version)
	}
	p.Printf("\nComplete!\n")
	return 0
}

// rpm knows -q with a query format. Its status is the number of packages that are
// not installed (rpm 4.18).
func rpm(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "q query", "qf queryformat=")
	if bad != "" || !o.Has("q") || len(o.Args) == 0 {
		return p.Unknown("form of rpm " + bad)
	}
	s := stateOf(p.Machine)
	missing := 0
	for _, name := range o.Args {
		v := s.version(name)
		if v == "" {
			p.Printf("package %s is not installed\n", name)
			missing++
			continue
		}
		version, release, _ := strings.Cut(v, "-")
		text := strings.NewReplacer("%{NAME}", name, "%{VERSION}", version, "%{RELEASE}", release, `\n`, "\n", `\t`, "\t").
			Replace(o.Or("qf", "%{NAME}-%{VERSION}-%{RELEASE}.x86_64\n"))
		if strings.Contains(text, "%{") {
			return p.Unknown("tag in " + text)
		}
		p.Printf("%s", text)
	}
	return missing
}
