package network

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

const (
	interfacesFile = "/etc/network/interfaces"
	ifstateFile    = "/run/network/ifstate"
)

// stanza is one "iface" of /etc/network/interfaces as ifupdown 0.8.41 reads it.
type stanza struct {
	name, family, method string
	options              [][2]string
}

func (t *stanza) get(key string) string {
	for _, o := range t.options {
		if o[0] == key {
			return o[1]
		}
	}
	return ""
}

// interfaces is the configuration of all files.
type interfaces struct {
	auto, hotplug []string
	stanzas       []*stanza
}

func (c *interfaces) of(name string) []*stanza {
	var all []*stanza
	for _, t := range c.stanzas {
		if t.name == name {
			all = append(all, t)
		}
	}
	return all
}

// readInterfaces reads the main file and what it sources; the error is ifup's.
func (s *State) readInterfaces() (*interfaces, error) {
	c := &interfaces{}
	return c, s.readInterfacesFile(c, interfacesFile)
}

func (s *State) readInterfacesFile(c *interfaces, file string) error {
	data, err := s.m.FS.ReadFile(file)
	if err != nil {
		return fmt.Errorf("couldn't open interfaces file \"%s\": No such file or directory", file)
	}
	var last *stanza
	for n, line := range strings.Split(strings.ReplaceAll(string(data), "\\\n", " "), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		where := fmt.Sprintf("%s:%d", file, n+1)
		switch words[0] {
		case "auto":
			c.auto, last = append(c.auto, words[1:]...), nil
		case "allow-hotplug":
			c.hotplug, last = append(c.hotplug, words[1:]...), nil
		case "source", "source-directory":
			last = nil
			if err := s.source(c, words); err != nil {
				return err
			}
		case "iface":
			if len(words) != 4 {
				return fmt.Errorf("%s: too few parameters for iface line", where)
			}
			last = &stanza{name: words[1], family: words[2], method: words[3]}
			if !ifMethods[last.family+" "+last.method] {
				return fmt.Errorf("%s: unknown method", where)
			}
			c.stanzas = append(c.stanzas, last)
		default:
			if last == nil {
				return fmt.Errorf("%s: misplaced option", where)
			}
			if len(words) < 2 {
				return fmt.Errorf("%s: option with empty value", where)
			}
			if !ifOptions[words[0]] {
				// ifupdown itself passes over what it does not know.
				s.m.Violate("%s: not simulated: %s", where, words[0])
			}
			last.options = append(last.options, [2]string{words[0], strings.TrimSpace(strings.TrimSpace(line)[len(words[0]):])})
		}
	}
	return nil
}

var (
	ifMethods = map[string]bool{"inet loopback": true, "inet static": true, "inet manual": true, "inet dhcp": true,
		"inet6 static": true, "inet6 manual": true}
	ifOptions = map[string]bool{
		"address": true, "gateway": true, "mtu": true, "broadcast": true, "accept_ra": true, "autoconf": true,
		"pre-up": true, "up": true, "post-up": true, "down": true, "pre-down": true, "post-down": true,
	}
)

var oddName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// source reads files by pattern; of a directory only those whose name has
// letters, digits, "-" and "_".
func (s *State) source(c *interfaces, words []string) error {
	for _, pattern := range words[1:] {
		if !path.IsAbs(pattern) {
			pattern = "/etc/network/" + pattern
		}
		directory := words[0] == "source-directory"
		if directory {
			pattern += "/*"
		}
		for _, file := range s.m.FS.Glob(pattern) {
			info, _ := s.m.FS.Stat(vfs.Root, file, true)
			if info.IsDir() || directory && oddName.MatchString(path.Base(file)) {
				continue
			}
			if err := s.readInterfacesFile(c, file); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *State) ifstate() map[string]bool {
	up := map[string]bool{}
	for line := range strings.Lines(s.m.FS.Text(ifstateFile)) {
		name, _, _ := strings.Cut(line, "=")
		up[name] = true
	}
	return up
}

func (s *State) noteIfstate(name string, is bool) {
	up := s.ifstate()
	up[name] = is
	var names []string
	for n, is := range up {
		if is {
			names = append(names, n+"="+n+"\n")
		}
	}
	slices.Sort(names)
	s.m.FS.Put(ifstateFile, strings.Join(names, ""), 0o644)
}

// ifRun runs the commands of one kind of a stanza; the first that fails ends it.
func (s *State) ifRun(p *labsim.Proc, t *stanza, kind string) bool {
	for _, o := range t.options {
		if o[0] != kind {
			continue
		}
		child := &labsim.Proc{
			Machine: s.m, PPID: p.PID, Args: []string{"/bin/sh", "-c", o[1]}, User: "root", Stdout: p.Stdout, Stderr: p.Stderr,
			Env: map[string]string{"IFACE": t.name, "LOGICAL": t.name, "ADDRFAM": t.family, "METHOD": t.method,
				"PATH": systemd.UnitPath, "PHASE": kind},
		}
		if s.m.Exec(context.Background(), child) != 0 {
			return false
		}
	}
	return true
}

// takeUp is ifup of one interface.
func (s *State) takeUp(p *labsim.Proc, c *interfaces, name string) int {
	// ifup locks an interface: that of udev, for a child that this one makes, waits
	// and finds it configured.
	s.noteIfstate(name, true)
	for _, t := range c.of(name) {
		if !s.upStanza(p, t) {
			s.noteIfstate(name, false)
			p.Errorf("ifup: failed to bring up %s\n", name)
			return 1
		}
	}
	return 0
}

func (s *State) upStanza(p *labsim.Proc, t *stanza) bool {
	if t.method == "loopback" {
		return true
	}
	s.ifupChild(t.name)
	if !s.ifRun(p, t, "pre-up") {
		return false
	}
	if _, ok := s.m.Netdev(t.name); !ok {
		p.Errorf("Cannot find device \"%s\"\n", t.name)
		return false
	}
	if !s.ifAddresses(p, t) {
		return false
	}
	return s.ifRun(p, t, "up") && s.ifRun(p, t, "post-up")
}

// ifupChild makes a P_Key child: ifupdown writes the key of the name PARENT.KEY
// into create_child of an InfiniBand parent.
func (s *State) ifupChild(name string) {
	parent, key, ok := strings.Cut(name, ".")
	d, there := s.m.Netdev(parent)
	if _, exists := s.m.Netdev(name); !ok || exists || !there || d.Type != labsim.TypeInfiniBand {
		return
	}
	if pkey, err := strconv.ParseUint(key, 16, 16); err == nil {
		_ = s.addChild(parent, fmt.Sprintf("%.10s.%04x", parent, pkey), pkey, "", true)
	}
}

// ifAddresses runs what the method does: ip addr add, mtu and up, the gateway.
func (s *State) ifAddresses(p *labsim.Proc, t *stanza) bool {
	refused := func(format string, args ...any) bool {
		p.Errorf(format, args...)
		return false
	}
	switch {
	case t.method == "dhcp":
		s.SetLink(t.name, true)
		lease, gw := s.Lease(t.name)
		for _, a := range lease {
			_ = s.AddAddr(t.name, a)
		}
		s.SetDefault(gw)
		return true
	case t.method == "static" && t.family == "inet":
		a, err := netip.ParsePrefix(t.get("address"))
		if err != nil {
			return refused("Error: any valid prefix is expected rather than \"%s\".\n", t.get("address"))
		}
		if err := s.AddAddr(t.name, a); err != nil {
			return refused("RTNETLINK answers: File exists\n")
		}
	}
	if t.family == "inet" && t.get("mtu") != "" {
		mtu, _ := strconv.Atoi(t.get("mtu"))
		if err := s.m.SetMTU(t.name, mtu); err != nil && t.method == "static" {
			return refused("RTNETLINK answers: Invalid argument\n")
		}
	}
	s.SetLink(t.name, true)
	if t.family == "inet6" && t.method == "static" {
		a, err := netip.ParsePrefix(t.get("address"))
		if err != nil || s.AddAddr(t.name, a) != nil {
			return refused("RTNETLINK answers: File exists\n")
		}
	}
	if gw, err := netip.ParseAddr(t.get("gateway")); err == nil && t.method == "static" {
		s.SetDefault(gw)
	}
	return true
}
