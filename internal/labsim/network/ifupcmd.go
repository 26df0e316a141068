package network

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
)

func ifArguments(p *labsim.Proc) (o *labsim.Flags, ok bool) {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "force", "verbose v", "all a",
		"state", "list l")
	if bad != "" {
		p.Unknown("option " + bad)
		return o, false
	}
	return o, true
}

// ifup takes interfaces up that it has not taken up yet.
func ifup(_ context.Context, p *labsim.Proc) int {
	o, ok := ifArguments(p)
	if !ok || len(o.Args) == 0 || o.Has("all") {
		return p.Unknown("form of ifup")
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

// ifdown takes an interface down, its P_Key children first.
func ifdown(_ context.Context, p *labsim.Proc) int {
	o, ok := ifArguments(p)
	if !ok || len(o.Args) != 1 {
		return p.Unknown("form of ifdown")
	}
	s := Of(p.Machine)
	c, err := s.readInterfaces()
	if err != nil {
		p.Errorf("ifdown: %v\nifdown: couldn't read interfaces file \"%s\"\n", err, interfacesFile)
		return 1
	}
	name := o.Args[0]
	if len(c.of(name)) == 0 {
		p.Errorf("ifdown: unknown interface %s\n", name)
		return 1
	}
	if !s.ifstate()[name] && !o.Has("force") {
		p.Errorf("ifdown: interface %s not configured\n", name)
		return 0
	}
	for _, d := range s.m.Netdevs() {
		if d.Parent == name && s.ifstate()[d.Name] {
			s.takeDown(p, c, d.Name)
		}
	}
	s.takeDown(p, c, name)
	return 0
}

func (s *State) takeDown(p *labsim.Proc, c *interfaces, name string) {
	for _, t := range c.of(name) {
		_ = s.ifRun(p, t, "pre-down") && s.ifRun(p, t, "down")
	}
	if d, ok := s.m.Netdev(name); ok {
		for _, a := range d.Addrs {
			_ = s.DelAddr(name, a)
		}
		s.SetLink(name, false)
		if d.LegacyChild {
			s.m.RemoveNetdev(name)
		}
	}
	s.noteIfstate(name, false)
}

// ifquery knows --list, --state and the options of one interface.
func ifquery(_ context.Context, p *labsim.Proc) int {
	o, ok := ifArguments(p)
	if !ok {
		return 2
	}
	s := Of(p.Machine)
	c, err := s.readInterfaces()
	switch {
	case err != nil:
		p.Errorf("ifquery: %v\nifquery: couldn't read interfaces file \"%s\"\n", err, interfacesFile)
		return 1
	case o.Has("state"):
		for line := range strings.Lines(s.m.FS.Text(ifstateFile)) {
			if name, _, _ := strings.Cut(line, "="); len(o.Args) == 0 || slices.Contains(o.Args, name) {
				p.Printf("%s", line)
			}
		}
	case o.Has("list"):
		// The loopback interface goes before all others.
		slices.SortStableFunc(c.auto, func(a, b string) int {
			return strings.Compare(strconv.FormatBool(a != "lo"), strconv.FormatBool(b != "lo"))
		})
		for _, name := range c.auto {
			p.Printf("%s\n", name)
		}
	case len(o.Args) == 1 && len(c.of(o.Args[0])) > 0:
		for _, t := range c.of(o.Args[0]) {
			for _, opt := range t.derive() {
				p.Printf("%s: %s\n", opt[0], opt[1])
			}
		}
	case len(o.Args) == 1:
		p.Errorf("ifquery: unknown interface %s\n", o.Args[0])
		return 1
	default:
		return p.Unknown("form of ifquery")
	}
	return 0
}

// derive returns the options of a stanza with what ifupdown makes of them: an address
// with its prefix length becomes an address, a mask and, of IPv4, a broadcast.
func (t *stanza) derive() [][2]string {
	options := slices.Clone(t.options)
	for i, opt := range options {
		p, err := netip.ParsePrefix(opt[1])
		switch {
		case opt[0] != "address" || err != nil:
		case p.Addr().Is4():
			options[i][1] = p.Addr().String()
			options = append(options, [2]string{"broadcast", Broadcast(p)}, [2]string{"netmask", netmask(p.Bits()).String()})
		default:
			options[i][1] = p.Addr().String()
			options = append(options, [][2]string{{"preferred-lifetime", ""}, {"dad-attempts", "60"}, {"dad-interval", "0.1"},
				{"netmask", strconv.Itoa(p.Bits())}}...)
		}
	}
	return options
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
