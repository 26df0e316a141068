package ipoib

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Observe reads from a snapshot what is on the host for one port.
func Observe(s *inventory.Snapshot, port ib.GUID, pkey uint16) Observation {
	t := targetOf(s, port, pkey)
	o := Observation{Stack: DetectStack(s), Parent: t.parent, Undone: s.Undos[t.id()]}
	card, p, ok := s.CardByPortGUID(port)
	if ok {
		o.Driver, o.LinkLayer, o.PortState, o.Physical, o.SMLID = card.Driver, p.LinkLayer, p.State, p.Physical, p.SMLID
	} else if sleeping, ok := platform.FindSleepingPort(s, port); ok {
		o.Sleeping, o.Driver, o.LinkLayer, card = true, sleeping.Card.Driver, sleeping.LinkLayer, sleeping.Card
	}
	if parent, ok := s.NetdevByPortGUID(port); ok {
		o.Capable = parent.Connected
	}
	o.Name = t.name
	if n, ok := s.Netdev(t.name); ok && n.IB {
		o.Present, o.Up, o.Carrier = true, n.Up, n.Carrier
		o.Live = Config{Mode: ib.IPoIBMode(n.Mode), MTU: n.MTU, Addresses: global(n.Addresses), Routes: liveRoutes(n)}
		o.OtherGUID = t.otherGUID(n)
	}
	if s.TrueNAS != nil {
		observeTrueNAS(s, port, &o)
		o.modules(s, card)
		return o
	}
	if o.Stack == StackUnknown {
		o.Silence = runningStacks(s).Why()
	}
	o.Persisted = backendOf(o.Stack, t).own(s, t)
	o.modules(s, card)
	o.observeFiles(s, t)
	for _, find := range []func(*inventory.Snapshot,
		target) []Unmanaged{unmanagedPlans, unmanagedProfiles, unmanagedNetworks, unmanagedStanzas, unread} {
		o.Unmanaged = append(o.Unmanaged, find(s, t)...)
	}
	for i := range o.Unmanaged {
		if f := &o.Unmanaged[i]; f.Adoptable() && slices.Contains(s.Saved, f.Saved) {
			f.Obstacle = nameTaken(f.Saved)
		}
	}
	return o
}

// Defined are the P_Keys of the interfaces on a port for which names of files of ours are on the
// host, in order. 0, the port's own interface, is always among them: on TrueNAS no file has it.
func Defined(s *inventory.Snapshot, port ib.GUID) []uint16 {
	keys := map[uint16]bool{0: true}
	for at := range s.Files {
		_, rest, ours := strings.Cut(path.Base(at), "infiniband-"+port.Hex()+"-")
		if key, err := strconv.ParseUint(rest[:min(4, len(rest))], 16, 16); ours && err == nil {
			keys[uint16(key)] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// modules reads whether the boot makes the interface that our configuration is for.
func (o *Observation) modules(s *inventory.Snapshot, card *inventory.Card) {
	if o.Persisted.Found {
		o.NotAtBoot = platform.NotAtBoot(s, card, "ib_ipoib")
	}
}

// otherGUID is the GUID in the hardware address of a P_Key child, if it is not that of the
// port; else zero.
func (t target) otherGUID(n *inventory.Netdev) ib.GUID {
	if t.pkey == 0 || n.PortGUID == t.port {
		return 0
	}
	return n.PortGUID
}

// unread are the files and directories of network stacks that could not be read; what
// they configure is not known.
func unread(s *inventory.Snapshot, _ target) (all []Unmanaged) {
	for _, path := range slices.Sorted(maps.Keys(s.Denied)) {
		if slices.ContainsFunc(stackDirs, func(dir string) bool { return strings.HasPrefix(path+"/", dir) }) {
			all = append(all, Unmanaged{Line: path + " cannot be read, so that it is not known whether it configures the " +
				"interface"})
		}
	}
	return all
}

// stackDirs are where network stacks keep definitions of interfaces.
var stackDirs = []string{
	"/etc/netplan/", "/run/netplan/", "/lib/netplan/", "/etc/systemd/network/", "/run/systemd/network/", "/etc/network/",
	"/etc/NetworkManager/", "/run/NetworkManager/system-connections/", "/etc/sysconfig/network-scripts/",
}

// misread adds to the line on a file which parts of the file were not understood.
func misread(err error) string {
	if err == nil {
		return ""
	}
	return "; not understood: " + strings.ReplaceAll(err.Error(), "\n", "; ")
}

// liveRoutes are the routes of an interface that have a gateway.
func liveRoutes(n *inventory.Netdev) []ipconf.Route {
	all := make([]ipconf.Route, 0, len(n.Routes))
	for _, r := range n.Routes {
		all = append(all, ipconf.Route{To: r.To, Via: r.Via})
	}
	return ipconf.SortedRoutes(all)
}

func sameRoutes(a, b []ipconf.Route) bool {
	return slices.Equal(ipconf.SortedRoutes(a), ipconf.SortedRoutes(b))
}

func joinRoutes(routes []ipconf.Route) string {
	if len(routes) == 0 {
		return "none"
	}
	words := make([]string, len(routes))
	for i, r := range routes {
		words[i] = r.String()
	}
	return strings.Join(words, ", ")
}

// global drops link-local addresses, which the kernel adds and removes itself, and
// sorts the rest.
func global(addresses []netip.Prefix) []netip.Prefix {
	var all []netip.Prefix
	for _, a := range addresses {
		if !a.Addr().IsLinkLocalUnicast() {
			all = append(all, a)
		}
	}
	return sortPrefixes(all)
}

func sortPrefixes(addresses []netip.Prefix) []netip.Prefix {
	all := slices.Clone(addresses)
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	return all
}

func sameAddresses(a, b []netip.Prefix) bool { return slices.Equal(sortPrefixes(a), sortPrefixes(b)) }

// Same reports whether two configurations say the same.
func (c Config) Same(other Config) bool {
	return c.Mode == other.Mode && c.MTU == other.MTU && sameAddresses(c.Addresses, other.Addresses) &&
		sameRoutes(c.Routes, other.Routes)
}

// Satisfies reports whether the interface is what want says, now and at boot.
func (o Observation) Satisfies(want Config) bool {
	return o.Present && o.Up && o.Persisted.Found && o.Persisted.Interface == o.Name &&
		len(o.Differences(want)) == 0
}

// Differences says in what the host differs from want, one line each; empty if
// nothing has to be done.
func (o Observation) Differences(want Config) []string {
	if !o.Present {
		return []string{"there is no interface of this port"}
	}
	diff := o.liveDifferences(want)
	if line := o.Persisted.difference(o.Name, want); line != "" {
		diff = append(diff, line)
	}
	if o.NotAtBoot != "" {
		diff = append(diff, o.NotAtBoot)
	}
	diff = append(diff, o.Lacking...)
	for _, a := range o.Added {
		diff = append(diff, a.String()+", which this resource did not write")
	}
	return diff
}

// liveDifferences says in what the interface differs from want now.
func (o Observation) liveDifferences(want Config) []string {
	var diff []string
	add := func(format string, args ...any) { diff = append(diff, fmt.Sprintf(format, args...)) }
	if !o.OtherGUID.IsZero() {
		add("the hardware address of %s has the GUID %s, not that of the port, so it never gets a carrier", o.Name,
			o.OtherGUID)
	}
	if !o.Up {
		add("%s is down", o.Name)
	}
	if o.Live.Mode != want.Mode {
		add("mode is %s, not %s", o.Live.Mode, want.Mode)
	}
	if o.Live.MTU != want.MTU {
		add("MTU is %d, not %d", o.Live.MTU, want.MTU)
	}
	if !sameAddresses(o.Live.Addresses, want.Addresses) {
		add("addresses are %s, not %s", joinPrefixes(o.Live.Addresses), joinPrefixes(want.Addresses))
	}
	// Routing daemons add routes too, so only ours must be there.
	if missing := routesWithout(want.Routes, o.Live.Routes); len(missing) > 0 {
		add("there is no route %s", joinRoutes(missing))
	}
	return diff
}

// undoDiffers says in what the interface differs from our own file, which an undo takes it
// back to; empty if in nothing.
func (o Observation) undoDiffers() string {
	stored := o.Persisted.Config
	if !o.Present || !o.Persisted.Found || o.Persisted.Interface != o.Name {
		return ""
	}
	stored.Mode, stored.MTU = cmp.Or(stored.Mode, o.Live.Mode), cmp.Or(stored.MTU, o.Live.MTU)
	return strings.Join(o.liveDifferences(stored), "; ")
}

// difference is the first thing in which the configuration for boot differs.
func (p StoredConfig) difference(name string, want Config) string {
	switch {
	case !p.Found:
		return "nothing brings this back at boot"
	case p.Fault != "":
		return p.Fault
	case p.Interface != name:
		return fmt.Sprintf("the configuration for boot is for interface %q, but the port's interface is %s now", p.Interface,
			name)
	case p.Config.Mode != want.Mode:
		return fmt.Sprintf("mode at boot is %q, not %s", p.Config.Mode, want.Mode)
	case p.Config.MTU != want.MTU:
		return fmt.Sprintf("MTU at boot is %d, not %d", p.Config.MTU, want.MTU)
	case !sameAddresses(p.Config.Addresses, want.Addresses):
		return fmt.Sprintf("addresses at boot are %s, not %s", joinPrefixes(p.Config.Addresses), joinPrefixes(want.Addresses))
	case !sameRoutes(p.Config.Routes, want.Routes):
		return fmt.Sprintf("routes at boot are %s, not %s", joinRoutes(p.Config.Routes), joinRoutes(want.Routes))
	}
	return ""
}

func joinPrefixes(prefixes []netip.Prefix) string {
	if len(prefixes) == 0 {
		return "none"
	}
	words := make([]string, len(prefixes))
	for i, p := range prefixes {
		words[i] = p.String()
	}
	return strings.Join(words, ", ")
}

// importedConfig is what an import finds. Routes may come from a daemon: those count that a
// definition brings back, ours or one that can be taken over.
func (o Observation) importedConfig() Config {
	if !o.Present {
		return o.Persisted.Config
	}
	found := o.Live
	found.MTU = o.importedMTU()
	found.Routes = o.Persisted.Config.Routes
	for _, f := range o.Unmanaged {
		if !o.Persisted.Found && f.Adoptable() {
			found.Routes = ipconf.SortedRoutes(slices.Concat(found.Routes, routesWithout(f.Config.Routes, found.Routes)))
		}
	}
	return found
}

// importedMTU is the MTU that an import finds. Until an interface in datagram mode has joined
// its broadcast group, the kernel shows what the port could carry, which nobody has set: then
// a definition counts, or else what every group carries.
func (o Observation) importedMTU() int {
	if o.Carrier || o.Live.Mode != ib.ModeDatagram || o.Live.MTU <= safeDatagramMTU {
		return o.Live.MTU
	}
	mtu := o.Persisted.Config.MTU
	for _, f := range o.Unmanaged {
		if f.Adoptable() {
			mtu = cmp.Or(mtu, f.Config.MTU)
		}
	}
	return cmp.Or(mtu, safeDatagramMTU)
}

// Report is what the state should show. A setting that differs from known shows the
// live value, or else the persisted one, so that a plan shows drift of either. A
// setting that agrees in both places stays as known, addresses in known's order. A nil
// known, as after an import, gives the live values, or else the persisted ones.
func (o Observation) Report(known *Config) Config {
	if known == nil {
		return o.importedConfig()
	}
	if !o.Present {
		// Nothing was read. What is stored for the next boot is not what the host has, and
		// would hide at the second refresh that the interface is not there.
		return o.Live
	}
	report := *known
	switch {
	case o.Live.Mode != known.Mode:
		report.Mode = o.Live.Mode
	case o.Persisted.Config.Mode != known.Mode:
		report.Mode = o.Persisted.Config.Mode
	}
	switch {
	case o.Live.MTU != known.MTU:
		report.MTU = o.Live.MTU
	case o.Persisted.Config.MTU != known.MTU:
		report.MTU = o.Persisted.Config.MTU
	}
	switch {
	case !sameAddresses(o.Live.Addresses, known.Addresses):
		report.Addresses = o.Live.Addresses
	case !sameAddresses(o.Persisted.Config.Addresses, known.Addresses):
		report.Addresses = sortPrefixes(o.Persisted.Config.Addresses)
	}
	switch {
	case len(routesWithout(known.Routes, o.Live.Routes)) > 0:
		report.Routes = routesWithout(known.Routes, routesWithout(known.Routes, o.Live.Routes))
	case !sameRoutes(o.Persisted.Config.Routes, known.Routes):
		report.Routes = o.Persisted.Config.Routes
	}
	return report
}

// managementInterface is the interface that leads to the host: that of the SSH
// session, or else of the default route.
func managementInterface(s *inventory.Snapshot) string {
	if devs := s.SSH.Devs.Or(nil); len(devs) > 0 {
		return devs[0]
	}
	for _, r := range s.Routes.Default {
		if r.Dev != "" {
			return r.Dev
		}
	}
	return ""
}

// ownerMark is how a database row of the middleware says that it is ours.
func ownerMark(port ib.GUID) string {
	return strings.TrimPrefix(platform.Owner, "# ") + " " + port.String()
}
