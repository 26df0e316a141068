package network

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// nmcli knows connection load, reload and up.
func nmcli(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], true, "wait w=")
	if bad != "" || len(o.Args) < 2 {
		return p.Unknown("form of nmcli " + bad)
	}
	s := Of(p.Machine)
	verb := o.Args[0] + " " + o.Args[1]
	args := o.Args[2:]
	switch {
	case p.UID != 0:
		p.Errorf("Error: Access denied\n")
		return 1
	case verb == "connection reload" && len(args) == 0:
		s.reloadProfiles()
	case verb == "connection load" && len(args) > 0:
		for _, file := range args {
			profile := s.readProfile(file)
			if profile == nil {
				// nmcli still ends with 0.
				p.Errorf("Could not load file '%s'\n", file)
				continue
			}
			s.nm.profiles[profile.get("connection.uuid")] = profile
		}
	case verb == "connection up" && len(args) >= 2:
		return s.nmUp(p, args)
	default:
		return p.Unknown("nmcli " + strings.Join(o.Args, " "))
	}
	return 0
}

// nmUp is "connection up uuid|id NAME [ifname IF]".
func (s *State) nmUp(p *labsim.Proc, args []string) int {
	var profile *nmProfile
	for uuid, candidate := range s.nm.profiles {
		if args[0] == "uuid" && uuid == args[1] || args[0] == "id" && candidate.get("connection.id") == args[1] {
			profile = candidate
		}
	}
	if profile == nil {
		p.Errorf("Error: unknown connection '%s'.\n", args[1])
		return 10
	}
	var problem string
	switch {
	case profile.get("connection.type") == labsim.KindBond:
		problem = s.nmBond(profile)
	case profile.pkey() >= 0:
		problem = s.nmVirtual(profile)
	case len(args) == 4 && args[2] == "ifname":
		problem = s.nmUpOn(args[3], profile)
	default:
		return p.Unknown("form of nmcli connection up")
	}
	if problem != "" {
		p.Errorf("Error: %s.\n", strings.TrimSuffix(problem, "."))
		return 4
	}
	p.Printf("Connection successfully activated (D-Bus active path: "+
		"/org/freedesktop/NetworkManager/ActiveConnection/%d)\n", len(s.nm.active))
	return 0
}

func (s *State) nmUpOn(name string, profile *nmProfile) string {
	d, ok := s.m.Netdev(name)
	unsuitable := func(why string) string {
		return fmt.Sprintf("Connection activation failed: No suitable device found for this connection (device %s not "+
			"available because %s).", name, why)
	}
	switch {
	case !ok:
		return "Connection activation failed: device '" + name + "' not found"
	case !s.nmMatches(profile, &d):
		return unsuitable("profile is not compatible with device (mismatching interface name)")
	case !s.nmAvailable(&d):
		return unsuitable("device has no carrier")
	}
	return s.nmActivate(name, profile)
}

// nmCheckpoint is the state of one device and of all profiles.
type nmCheckpoint struct {
	name     string
	profile  string
	files    map[string]string
	device   labsim.Netdev
	timer    *labsim.Timer
	deleteNw bool
}

const (
	nmService = "org.freedesktop.NetworkManager"
	nmRoot    = "/org/freedesktop/NetworkManager"
)

// busctl knows the calls for the checkpoints of NetworkManager.
func busctl(_ context.Context, p *labsim.Proc) int {
	a := p.Args[1:]
	if len(a) < 6 || a[0] != "call" || a[1] != nmService || a[2] != nmRoot || a[3] != nmService {
		return p.Unknown("form of busctl")
	}
	if p.UID != 0 {
		p.Errorf("Call failed: Access denied\n")
		return 1
	}
	s := Of(p.Machine)
	switch method, args := a[4]+" "+a[5], a[6:]; {
	case method == "GetDeviceByIpIface s" && len(args) == 1:
		d, ok := s.m.Netdev(args[0])
		if !ok {
			p.Errorf("Call failed: No device found for the requested iface.\n")
			return 1
		}
		p.Printf("o \"%s/Devices/%d\"\n", nmRoot, d.Index)
	case method == "CheckpointCreate aouu" && len(args) == 4 && args[0] == "1":
		return s.checkpointCreate(p, args[1], args[2], args[3])
	case method == "CheckpointDestroy o" && len(args) == 1, method == "CheckpointRollback o" && len(args) == 1:
		c := s.nm.checkpoints[args[0]]
		if c == nil {
			p.Errorf("Call failed: checkpoint %s does not exist\n", args[0])
			return 1
		}
		c.timer.Stop()
		delete(s.nm.checkpoints, args[0])
		if strings.HasPrefix(method, "CheckpointRollback") {
			s.rollback(c)
			p.Printf("a{su} 1 \"%s/Devices/%d\" 0\n", nmRoot, c.device.Index)
		}
	default:
		return p.Unknown("busctl call " + method)
	}
	return 0
}

func (s *State) checkpointCreate(p *labsim.Proc, device, timeout, flags string) int {
	seconds, err := strconv.Atoi(timeout)
	number, flagErr := strconv.Atoi(flags)
	if err != nil || flagErr != nil || number&^2 != 0 {
		return p.Unknown("arguments of CheckpointCreate")
	}
	index, _ := strconv.Atoi(path.Base(device))
	c := &nmCheckpoint{files: s.profileFiles(), deleteNw: number&2 != 0}
	for _, d := range s.m.Netdevs() {
		if d.Index == index {
			c.name, c.profile, c.device = d.Name, s.nm.active[d.Name], d
		}
	}
	if c.name == "" {
		p.Errorf("Call failed: device %s does not exist\n", device)
		return 1
	}
	for at, other := range s.nm.checkpoints {
		if other.name == c.name {
			p.Errorf("Call failed: device '%s' is already included in checkpoint %s\n", c.name, at)
			return 1
		}
	}
	s.nm.next++
	at := fmt.Sprintf("%s/Checkpoint/%d", nmRoot, s.nm.next)
	boot := s.m.BootContext()
	c.timer = s.m.Lab.Clock.AfterFunc(time.Duration(seconds)*time.Second, func() {
		if boot.Err() == nil && s.nm.checkpoints[at] == c {
			delete(s.nm.checkpoints, at)
			s.rollback(c)
		}
	})
	s.nm.checkpoints[at] = c
	p.Printf("o \"%s\"\n", at)
	return 0
}

func (s *State) profileFiles() map[string]string {
	all := map[string]string{}
	for _, file := range append(s.m.FS.Glob(nmRunDir+"/*"), s.m.FS.Glob(nmDir+"/*")...) {
		all[file] = s.m.FS.Text(file)
	}
	return all
}

// rollback puts profiles and device back. A profile that NetworkManager writes
// has no comments any more.
func (s *State) rollback(c *nmCheckpoint) {
	now := s.profileFiles()
	for file, text := range c.files {
		if now[file] != text {
			s.m.FS.Put(file, withoutComments(text), 0o600)
		}
	}
	for file := range now {
		if _, before := c.files[file]; !before && c.deleteNw {
			s.m.FS.Drop(file)
		}
	}
	changed := !maps.Equal(now, c.files)
	s.reloadProfiles()
	if p := s.nm.profiles[c.profile]; p != nil {
		if changed || s.nm.active[c.name] != c.profile {
			_ = s.nmActivate(c.name, p)
		}
		return
	}
	// It was not connected: what the device had comes back.
	if s.nm.active[c.name] != "" {
		s.nmRelease(c.name)
	}
}

func withoutComments(text string) string {
	var kept []string
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "#") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
