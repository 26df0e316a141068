package network

import (
	"context"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
)

// ifup takes interfaces up that it has not taken up yet.
func ifup(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "force")
	if bad != "" || len(o.Args) == 0 {
		return p.Unknown("form of ifup " + bad)
	}
	s := Of(p.Machine)
	c, err := s.readInterfaces()
	if err != nil {
		p.Errorf("ifup: %v\nifup: couldn't read interfaces file \"%s\"\n", err, interfacesFile)
		return 1
	}
	status := 0
	for _, name := range o.Args {
		switch {
		case len(c.of(name)) == 0:
			p.Errorf("ifup: unknown interface %s\n", name)
			status = 1
		case s.ifstate()[name] && !o.Has("force"):
			p.Errorf("ifup: interface %s already configured\n", name)
		default:
			status = max(status, s.takeUp(p, c, name))
		}
	}
	return status
}

// bootIfupdown is networking.service: "ifup -a", then what udev has announced.
func (s *State) bootIfupdown() {
	c, err := s.readInterfaces()
	if err != nil {
		systemd.Of(s.m).Log("networking.service", "ifup", "ifup: "+err.Error())
		return
	}
	names := slices.Clone(c.auto)
	for _, name := range c.hotplug {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		s.ifupService(c, name)
	}
}

func (s *State) ifupService(c *interfaces, name string) {
	parent, _, _ := strings.Cut(name, ".")
	if _, ok := s.m.Netdev(parent); !ok || s.ifstate()[name] || len(c.of(name)) == 0 {
		return
	}
	out := systemd.Of(s.m).Journal("networking.service", "ifup")
	_ = s.takeUp(&labsim.Proc{Machine: s.m, PPID: 1, Stdout: out, Stderr: out}, c, name)
}

// hotplug is ifup@IF.service, started by udev.
func (s *State) hotplug(name string) {
	if c, err := s.readInterfaces(); err == nil && (slices.Contains(c.hotplug, name) || slices.Contains(c.auto, name)) {
		s.ifupService(c, name)
	}
}
