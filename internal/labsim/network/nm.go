package network

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

const (
	nmDir    = "/etc/NetworkManager/system-connections"
	nmRunDir = "/run/NetworkManager/system-connections"
)

// nmState is what the daemon of NetworkManager keeps; a reboot forgets it.
type nmState struct {
	profiles    map[string]*nmProfile // by UUID
	active      map[string]string     // interface to UUID
	owned       map[string]bool       // interfaces that it made
	checkpoints map[string]*nmCheckpoint
	next        int
}

func newNMState() *nmState {
	return &nmState{profiles: map[string]*nmProfile{}, active: map[string]string{}, owned: map[string]bool{},
		checkpoints: map[string]*nmCheckpoint{}}
}

// nmProfile is a keyfile as NetworkManager 1.42 reads it.
type nmProfile struct {
	path   string
	values map[string]string // "section.key"
}

func (p *nmProfile) get(key string) string { return p.values[key] }

func newUUID(of string) string {
	h := sha256.Sum256([]byte(of))
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// byNM says whether NetworkManager has connected an interface.
func (s *State) byNM(name string) bool { return s.nm != nil && s.nm.active[name] != "" }

func (s *State) nmLog(text string) {
	systemd.Of(s.m).Log("NetworkManager.service", "NetworkManager", text)
}

// readProfile reads a keyfile; one that others may read is ignored with a line
// in the log.
func (s *State) readProfile(file string) *nmProfile {
	info, err := s.m.FS.Stat(vfs.Root, file, true)
	if err != nil {
		return nil
	}
	if info.Mode().Perm()&0o077 != 0 {
		s.nmLog("<warn>  keyfile: load: \"" + file + "\": failed to load connection: File permissions (" + fmt.Sprintf("%06o",
			info.Mode().Perm()|0o100000) + ") are insecure")
		return nil
	}
	p := &nmProfile{path: file, values: map[string]string{}}
	for _, e := range systemd.ReadEntries(s.m.FS.Text(file), "#") {
		switch {
		case e.Key != "":
			p.values[e.Section+"."+e.Key] = e.Value
		case e.Text[0] != '[':
			s.nmLog("<warn>  keyfile: load: \"" + file + "\": failed to load connection: Key file contains line “" + e.Text +
				"” which is not a key-value pair, group, or comment")
			return nil
		}
	}
	return s.checkProfile(p)
}

// checkProfile holds the rules that make NetworkManager refuse a profile.
func (s *State) checkProfile(p *nmProfile) *nmProfile {
	refuse := func(text string) *nmProfile {
		s.nmLog("<warn>  keyfile: load: \"" + p.path + "\": failed to load connection: invalid connection: " + text)
		return nil
	}
	if p.get("connection.uuid") == "" {
		p.values["connection.uuid"] = newUUID(p.path)
	}
	if p.get("connection.type") != "infiniband" {
		return p
	}
	mode := p.get("infiniband.transport-mode")
	if mode != "" && mode != labsim.ModeDatagram && mode != labsim.ModeConnected {
		return refuse("infiniband.transport-mode: '" + mode + "' not among [datagram, connected].")
	}
	if mac := p.get("infiniband.mac-address"); mac != "" && len(mac) != 59 {
		return refuse("infiniband.mac-address: property is invalid")
	}
	key := p.pkey()
	switch {
	case key < 0:
	case key == 0 || key == 0x8000:
		return refuse("infiniband.p-key: the values 0 and 0x8000 are not allowed")
	case p.get("infiniband.parent") == "":
		return refuse("infiniband.parent: InfiniBand P_Key connection did not specify parent interface name")
	default:
		want := childOf(p)
		if name := p.get("connection.interface-name"); name != "" && name != want {
			return refuse("connection.interface-name: interface name of software infiniband device must be '" + want +
				"' or unset (instead it is '" + name + "')")
		}
	}
	return p
}

func (p *nmProfile) pkey() int {
	n, err := strconv.ParseInt(p.get("infiniband.p-key"), 0, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

func childOf(p *nmProfile) string {
	return fmt.Sprintf("%s.%04x", p.get("infiniband.parent"), p.pkey())
}

// reloadProfiles reads all keyfiles; a profile whose file is gone is forgotten
// and its interface released.
func (s *State) reloadProfiles() {
	now := map[string]*nmProfile{}
	for _, file := range append(s.m.FS.Glob(nmRunDir+"/*"), s.m.FS.Glob(nmDir+"/*")...) {
		if p := s.readProfile(file); p != nil {
			now[p.get("connection.uuid")] = p
		}
	}
	s.nm.profiles = now
	for name, uuid := range s.nm.active {
		if now[uuid] == nil {
			s.nmRelease(name)
		}
	}
}

// matches says whether a profile is for an interface. Of a hardware address of
// InfiniBand only the last 8 bytes count.
func (s *State) nmMatches(p *nmProfile, d *labsim.Netdev) bool {
	if d.Kind == labsim.KindBond {
		return p.get("connection.type") == labsim.KindBond && p.get("connection.interface-name") == d.Name
	}
	kind := map[int]string{labsim.TypeEthernet: "ethernet", labsim.TypeInfiniBand: "infiniband"}[d.Type]
	if p.get("connection.type") != kind {
		return false
	}
	if name := p.get("connection.interface-name"); name != "" && name != d.Name {
		return false
	}
	if (p.pkey() >= 0) != (d.Parent != "") {
		return false
	}
	mac := strings.ToLower(p.get("infiniband.mac-address"))
	return mac == "" || mac[36:] == d.HardwareAddress()[36:]
}

// nmAvailable says whether NetworkManager would take an interface up: it waits
// for the carrier of one that can tell.
func (s *State) nmAvailable(d *labsim.Netdev) bool {
	up := *d
	up.Up = true
	return s.m.Carrier(&up)
}

func (s *State) bootNM() {
	s.reloadProfiles()
	for _, d := range s.m.Netdevs() {
		s.nmAppeared(d.Name)
	}
	for _, p := range s.nm.profiles {
		if p.pkey() >= 0 && p.get("connection.autoconnect") != "false" {
			_ = s.nmVirtual(p)
		}
		if p.get("connection.type") == labsim.KindBond && s.nm.active[p.get("connection.interface-name")] == "" {
			_ = s.nmBond(p)
		}
	}
}

// nmAppeared connects an interface that has none with the profile that fits it.
func (s *State) nmAppeared(name string) {
	d, ok := s.m.Netdev(name)
	if !ok || d.Type == labsim.TypeLoopback || s.nm.active[name] != "" {
		return
	}
	if s.nmLeaves(name) {
		return
	}
	s.nmNote(name)
	if !s.nmAvailable(&d) {
		return
	}
	for _, u := range slices.Sorted(maps.Keys(s.nm.profiles)) {
		p := s.nm.profiles[u]
		if s.nmMatches(p, &d) && p.get("connection.autoconnect") != "false" {
			_ = s.nmActivate(name, p)
			return
		}
	}
}

// nmVirtual makes the interface of a P_Key profile and connects it.
func (s *State) nmVirtual(p *nmProfile) string {
	name := childOf(p)
	parent, ok := s.m.Netdev(p.get("infiniband.parent"))
	if !ok {
		return "Connection activation failed: No suitable device found for this connection."
	}
	if _, there := s.m.Netdev(name); !there {
		if err := s.addChild(parent.Name, name, uint64(p.pkey()), "", false); err != nil {
			return "Connection activation failed: Failed to create InfiniBand P_Key interface '" + name + "': " + errnoText(err)
		}
		s.nm.owned[name] = true
	}
	return s.nmActivate(name, p)
}

// nmActivate takes the interface down, writes the mode, takes it up, and sets
// MTU and addresses. A refused MTU is only logged.
func (s *State) nmActivate(name string, p *nmProfile) string {
	if p.get("connection.master") != "" {
		return s.nmPort(name, p)
	}
	ib := p.get("connection.type") == "infiniband"
	if ib {
		s.SetLink(name, false)
		mode := cmp.Or(p.get("infiniband.transport-mode"), labsim.ModeDatagram)
		if err := s.m.SetMode(name, mode+"\n"); err != nil {
			return "Connection activation failed: The InfiniBand device does not support connected mode"
		}
	}
	s.SetLink(name, true)
	if mtu, err := strconv.Atoi(p.get("infiniband.mtu")); err == nil && ib {
		if err := s.m.SetMTU(name, min(mtu, labsim.ConnectedMaxMTU)); err != nil {
			s.nmLog("<warn>  device (" + name + "): mtu: failure to set MTU to " + strconv.Itoa(mtu))
		}
	}
	want, routes, gateway := s.nmAddresses(name, p)
	if ib && p.get("ipv4.method") == "auto" && len(want) == 0 {
		s.dropManaged(name, want)
		return "Connection activation failed: IP configuration could not be reserved (no available address, timeout, etc.)"
	}
	s.dropManaged(name, want)
	for _, a := range want {
		_ = s.AddAddr(name, a) // one that is there is kept
	}
	s.mu.Lock()
	s.managed[name] = want
	s.mu.Unlock()
	if gateway.IsValid() {
		s.SetDefault(gateway)
	}
	s.setRoutes(name, routes)
	s.nm.active[name] = p.get("connection.uuid")
	s.nmNote(name)
	return ""
}

func (s *State) nmAddresses(name string,
	p *nmProfile) (want []netip.Prefix, routes []labsim.Route, gateway netip.Addr) {
	want = []netip.Prefix{}
	for _, family := range []string{"ipv4", "ipv6"} {
		if family == "ipv4" && p.get("ipv4.method") == "auto" {
			lease, gw := s.Lease(name)
			if lease == nil {
				lease, gw = s.fabricLease(name, cmp.Or(p.get("ipv4.dhcp-client-id"), "mac"))
				for _, p := range lease {
					s.addLeased(name, p)
				}
			}
			want = append(want, lease...)
			if p.get("ipv4.never-default") != "true" {
				gateway = gw
			}
		}
		for n := 1; p.get(fmt.Sprintf("%s.address%d", family, n)) != ""; n++ {
			text, gw, _ := strings.Cut(p.get(fmt.Sprintf("%s.address%d", family, n)), ",")
			if a, err := netip.ParsePrefix(text); err == nil {
				want = append(want, a)
			}
			if a, err := netip.ParseAddr(gw); err == nil {
				gateway = a
			}
		}
		for n := 1; p.get(fmt.Sprintf("%s.route%d", family, n)) != ""; n++ {
			words := strings.Split(p.get(fmt.Sprintf("%s.route%d", family, n)), ",")
			to, err := netip.ParsePrefix(words[0])
			if err == nil && len(words) > 1 {
				if via, err := netip.ParseAddr(words[1]); err == nil {
					routes = append(routes, labsim.Route{To: to.Masked(), Via: via, Proto: "static"})
				}
			}
		}
	}
	return want, routes, gateway
}

// nmRelease disconnects an interface; one that NetworkManager made goes.
func (s *State) nmRelease(name string) {
	delete(s.nm.active, name)
	if s.nm.owned[name] {
		delete(s.nm.owned, name)
		s.m.RemoveNetdev(name)
		return
	}
	s.dropManaged(name, []netip.Prefix{})
	s.nmNote(name)
}

// nmLeaves says whether a file of conf.d takes an interface from NetworkManager. The lab knows
// names alone, as people write them there.
func (s *State) nmLeaves(name string) bool {
	for _, file := range s.m.FS.Glob("/etc/NetworkManager/conf.d/*.conf") {
		for line := range strings.Lines(s.m.FS.Text(file)) {
			list, is := strings.CutPrefix(strings.TrimSpace(line), "unmanaged-devices=")
			for device := range strings.SplitSeq(list, ";") {
				if ok, _ := path.Match(strings.TrimPrefix(device, "interface-name:"), name); is && ok {
					return true
				}
			}
		}
	}
	return false
}

// nmNote writes what the daemon remembers of a device for its next start.
func (s *State) nmNote(name string) {
	d, ok := s.m.Netdev(name)
	if !ok || !s.m.Up() {
		return
	}
	text := "[device]\nmanaged=true\n"
	if u := s.nm.active[name]; u != "" {
		text += "connection-uuid=" + u + "\n"
	}
	s.m.FS.Put("/run/NetworkManager/devices/"+strconv.Itoa(d.Index), text, 0o644)
}
