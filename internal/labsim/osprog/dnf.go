package osprog

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// dnfRepo is the repository that simulated hosts of the RHEL family have.
const dnfRepo = "baseos"

// dnf knows install and makecache. Texts and statuses are those of dnf 4.14.
func dnf(ctx context.Context, p *labsim.Proc) int {
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
	offline, locked := s.packages.offline, s.packages.lockedBy
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
		return s.dnfInstall(ctx, p, o, offline)
	}
	return p.Unknown("dnf " + o.Args[0])
}

func dnfUnreachable(p *labsim.Proc) int {
	p.Errorf("Errors during downloading metadata for repository '%s':\n"+
		"  - Curl error (6): Couldn't resolve host name for https://mirror.invalid/%s/repodata/repomd.xml [Could not resolve host: mirror.invalid]\n"+
		"Error: Failed to download metadata for repo '%s': Cannot download repomd.xml: Cannot download repodata/repomd.xml: All mirrors were tried\n",
		dnfRepo, dnfRepo, dnfRepo)
	return 1
}

func (s *state) dnfInstall(ctx context.Context, p *labsim.Proc, o *labsim.Flags, offline bool) int {
	avail := s.available()
	var fresh, unknown []string
	for _, name := range o.Args[1:] {
		if _, ok := avail[name]; !ok {
			p.Machine.Violate("dnf: package %s is not known to the lab", name)
			p.Printf("No match for argument: %s\n", name)
			unknown = append(unknown, name)
			continue
		}
		fresh = s.missing(name, fresh)
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
		s.setUp(ctx, p, name, avail[name])
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

// dracut knows --force with --regenerate-all.
func dracut(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "f force", "regenerate-all")
	if bad != "" || len(o.Args) > 0 || !o.Has("f") {
		return p.Unknown("form of dracut " + bad)
	}
	if p.UID != 0 {
		p.Errorf("dracut: can't write to /boot: Permission denied\n")
		return 1
	}
	p.Machine.UpdateInitramfs()
	return 0
}

// mkinitcpio knows -P.
func mkinitcpio(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "P allpresets")
	if bad != "" || len(o.Args) > 0 || !o.Has("P") {
		return p.Unknown("form of mkinitcpio " + bad)
	}
	if p.UID != 0 {
		p.Errorf("==> ERROR: Unable to write to path: '/boot/initramfs-linux.img'\n")
		return 1
	}
	p.Machine.UpdateInitramfs()
	p.Printf("==> Building image from preset: /etc/mkinitcpio.d/linux-lts.preset: 'default'\n"+
		"==> Using default configuration file: '/etc/mkinitcpio.conf'\n  -> -k %s -g /boot/initramfs-linux-lts.img\n"+
		"==> Starting build: '%s'\n==> Initcpio image generation successful\n", p.Machine.Kernel, p.Machine.Kernel)
	return 0
}

// pacman knows -Q and -S. Texts and statuses are those of pacman 6.0.
func pacman(ctx context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "Q query", "S sync",
		"noconfirm", "needed", "noprogressbar")
	if bad != "" || o.Has("Q") == o.Has("S") || len(o.Args) == 0 {
		return p.Unknown("form of pacman " + bad)
	}
	s := stateOf(p.Machine)
	if o.Has("S") {
		return s.pacmanSync(ctx, p, o)
	}
	status := 0
	for _, name := range o.Args {
		if v := s.version(name); v != "" {
			p.Printf("%s %s\n", name, v)
			continue
		}
		p.Errorf("error: package '%s' was not found\n", name)
		status = 1
	}
	return status
}

func (s *state) pacmanSync(ctx context.Context, p *labsim.Proc, o *labsim.Flags) int {
	s.mu.Lock()
	offline, locked := s.packages.offline, s.packages.lockedBy
	s.mu.Unlock()
	switch {
	case p.UID != 0:
		p.Errorf("error: you cannot perform this operation unless you are root.\n")
		return 1
	case locked != 0:
		p.Errorf("error: failed to init transaction (unable to lock database)\nerror: could not lock database: File exists\n" +
			"  if you're sure a package manager is not already\n  running, you can remove /var/lib/pacman/db.lck\n")
		return 1
	}
	avail := s.available()
	var fresh []string
	for _, name := range o.Args {
		if _, ok := avail[name]; !ok {
			p.Machine.Violate("pacman: package %s is not known to the lab", name)
			p.Errorf("error: target not found: %s\n", name)
			return 1
		}
		if v := s.version(name); v != "" {
			p.Errorf("warning: %s-%s is up to date -- skipping\n", name, v)
			continue
		}
		fresh = s.missing(name, fresh)
	}
	if len(fresh) == 0 {
		p.Printf(" there is nothing to do\n")
		return 0
	}
	var list []string
	for _, name := range fresh {
		list = append(list, name+"-"+avail[name].version)
	}
	p.Printf("resolving dependencies...\nlooking for conflicting packages...\n\nPackages (%d) %s\n\n:: Proceed with installation? [Y/n] \n", len(fresh), strings.Join(list, "  "))
	if !o.Has("noconfirm") {
		return 1
	}
	if offline {
		file := fmt.Sprintf("%s-x86_64.pkg.tar.zst", list[0])
		p.Printf(":: Retrieving packages...\n %s-x86_64 downloading...\nErrors occurred, no packages were upgraded.\n", list[0])
		p.Errorf("error: failed retrieving file '%s' from mirror.invalid : Could not resolve host: mirror.invalid\n"+
			"warning: failed to retrieve some files\nerror: failed to commit transaction (download library error)\n", file)
		return 1
	}
	p.Printf(":: Processing package changes...\n")
	for _, name := range fresh {
		s.setUp(ctx, p, name, avail[name])
	}
	return 0
}
