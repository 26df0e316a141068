package packages

import (
	"context"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// pacman knows -Q and -S. Texts and statuses are those of pacman 6.0.
func pacman(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "Q query", "S sync",
		"noconfirm", "needed", "noprogressbar")
	if bad != "" || o.Has("Q") == o.Has("S") || len(o.Args) == 0 {
		return p.Unknown("form of pacman " + bad)
	}
	s := stateOf(p.Machine)
	if o.Has("S") {
		return s.pacmanSync(p, o)
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

func (s *state) pacmanSync(p *labsim.Proc, o *labsim.Flags) int {
	s.mu.Lock()
	offline, locked := s.offline, s.lockedBy
	s.mu.Unlock()
	switch {
	case p.UID != 0:
		p.Errorf("error: you cannot perform this operation unless you are root.\n")
		return 1
	case locked != 0:
		p.Errorf("error: failed to init transaction (unable to lock database)\nerror: could not lock database: File " +
			"exists\n  if you're sure a package manager is not already\n  running, you can remove /var/lib/pacman/db.lck\n")
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
		fresh = s.addMissing(name, fresh)
	}
	if len(fresh) == 0 {
		p.Printf(" there is nothing to do\n")
		return 0
	}
	var list []string
	for _, name := range fresh {
		list = append(list, name+"-"+avail[name].version)
	}
	p.Printf("resolving dependencies...\nlooking for conflicting packages...\n\nPackages (%d) %s\n\n:: Proceed with "+
		"installation? [Y/n] \n", len(fresh), strings.Join(list, "  "))
	if !o.Has("noconfirm") {
		return 1
	}
	if offline {
		file := fmt.Sprintf("%s-x86_64.pkg.tar.zst", list[0])
		p.Printf(":: Retrieving packages...\n %s-x86_64 downloading...\nErrors occurred, no packages were upgraded.\n",
			list[0])
		p.Errorf("error: failed retrieving file '%s' from mirror.invalid : Could not resolve host: mirror.invalid\n"+
			"warning: failed to retrieve some files\nerror: failed to commit transaction (download library error)\n", file)
		return 1
	}
	p.Printf(":: Processing package changes...\n")
	for _, name := range fresh {
		s.setUp(avail[name], name)
	}
	return 0
}
