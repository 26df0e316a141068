package found

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Satisfies reports whether the interface is what want says, now and at boot.
func (l *Look) Satisfies(want ipoib.Config) bool {
	return l.Present && l.Live.Up && l.Persisted.Found && l.Persisted.Interface == l.Name &&
		len(l.Differences(want)) == 0
}

// Differences says in what the host differs from want, one line each; empty if
// nothing has to be done.
func (l *Look) Differences(want ipoib.Config) []string {
	if !l.Present {
		return []string{"there is no interface " + cmp.Or(l.Bond.Name, "of this port")}
	}
	diff := l.LiveDifferences(want)
	if line := l.Persisted.difference(l.Name, want); line != "" {
		diff = append(diff, line)
	}
	if l.NotAtBoot != "" {
		diff = append(diff, l.NotAtBoot)
	}
	diff = append(diff, l.Lacking...)
	for _, a := range l.Added {
		diff = append(diff, a.String()+", which this resource did not write")
	}
	return diff
}

// LiveDifferences says in what the interface differs from want now.
func (l *Look) LiveDifferences(want ipoib.Config) []string {
	diff := l.Live.Differences(l.Name, want)
	if !l.OtherGUID.IsZero() {
		diff = slices.Insert(diff, 0, fmt.Sprintf("the hardware address of %s has the GUID %s, not that of the port, so it "+
			"never gets a carrier", l.Name, l.OtherGUID))
	}
	return diff
}

// Differences says in what an interface, by the name that a message has for it, is not as wanted.
func (now Live) Differences(name string, want ipoib.Config) (diff []string) {
	add := func(format string, args ...any) { diff = append(diff, fmt.Sprintf(format, args...)) }
	if !now.Up {
		add("%s is down", name)
	}
	if now.Mode != want.Mode {
		add("mode is %s, not %s", now.Mode, want.Mode)
	}
	if now.MTU != want.MTU {
		add("MTU is %d, not %d", now.MTU, want.MTU)
	}
	if !ipconf.SameAddresses(now.Addresses, want.Addresses) {
		add("addresses are %s, not %s", ipconf.Join(now.Addresses), ipconf.Join(want.Addresses))
	}
	diff = append(diff, now.bondDifferences(want)...)
	// Routing daemons add routes too, so only ours must be there.
	if missing := ipconf.Without(want.Routes, now.Routes); len(missing) > 0 {
		add("there is no route %s", ipconf.Join(missing))
	}
	return diff
}

// LiveDiffers reports whether the interface is not as want says now.
func (l *Look) LiveDiffers(want ipoib.Config) bool {
	return !l.Present || len(l.LiveDifferences(want)) > 0
}

// UndoDiffers says in what the interface differs from our own file, which an undo takes it
// back to; empty if in nothing.
func (l *Look) UndoDiffers() string {
	stored := l.Persisted.Config
	if !l.Present || !l.Persisted.Found || l.Persisted.Interface != l.Name {
		return ""
	}
	stored.Mode, stored.MTU = cmp.Or(stored.Mode, l.Live.Mode), cmp.Or(stored.MTU, l.Live.MTU)
	return strings.Join(l.LiveDifferences(stored), "; ")
}

// difference is the first thing in which the configuration for boot differs.
func (p StoredConfig) difference(name string, want ipoib.Config) string {
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
	case p.Config.DHCP4 && !want.DHCP4:
		return "the IPv4 address at boot is one of DHCP"
	case !p.Config.DHCP4 && want.DHCP4:
		return "the IPv4 address at boot is not one of DHCP"
	case !ipconf.SameAddresses(p.Config.Addresses, want.Addresses):
		return fmt.Sprintf("addresses at boot are %s, not %s", ipconf.Join(p.Config.Addresses), ipconf.Join(want.Addresses))
	case !ipconf.SameRoutes(p.Config.Routes, want.Routes):
		return fmt.Sprintf("routes at boot are %s, not %s", ipconf.Join(p.Config.Routes), ipconf.Join(want.Routes))
	}
	return ""
}

// importedConfig is what an import finds. Routes may come from a daemon: those count that a
// definition brings back, ours or one that can be taken over.
func (l *Look) importedConfig() ipoib.Config {
	if !l.Present {
		return l.Persisted.Config
	}
	found := l.Live.Config
	found.MTU = l.importedMTU()
	found.Routes = l.Persisted.Config.Routes
	for _, f := range l.Unmanaged {
		if !l.Persisted.Found && f.Adoptable() {
			found.Routes = ipconf.SortedRoutes(slices.Concat(found.Routes, ipconf.Without(f.Config.Routes, found.Routes)))
		}
	}
	return found
}

// importedMTU is the MTU that an import finds. Until an interface in datagram mode has joined
// its broadcast group, the kernel shows what the port could carry, which nobody has set: then
// a definition counts, or else what every group carries.
func (l *Look) importedMTU() int {
	if l.Live.Carrier || l.Live.Mode != ib.ModeDatagram || l.Live.MTU <= ipoib.SafeDatagramMTU {
		return l.Live.MTU
	}
	mtu := l.Persisted.Config.MTU
	for _, f := range l.Unmanaged {
		if f.Adoptable() {
			mtu = cmp.Or(mtu, f.Config.MTU)
		}
	}
	return cmp.Or(mtu, ipoib.SafeDatagramMTU)
}

// Report is what the state should show. A setting that differs from known shows the
// live value, or else the persisted one, so that a plan shows drift of either. A
// setting that agrees in both places stays as known, addresses in known's order. A nil
// known, as after an import, gives the live values, or else the persisted ones.
func (l *Look) Report(known *ipoib.Config) ipoib.Config {
	if known == nil {
		return l.importedConfig()
	}
	if !l.Present {
		// Nothing was read. What is stored for the next boot is not what the host has, and
		// would hide at the second refresh that the interface is not there.
		return l.Live.Config
	}
	report := *known
	report.DHCP4 = l.Live.DHCP4
	switch {
	case l.Live.Mode != known.Mode:
		report.Mode = l.Live.Mode
	case l.Persisted.Config.Mode != known.Mode:
		report.Mode = l.Persisted.Config.Mode
	}
	switch {
	case l.Live.MTU != known.MTU:
		report.MTU = l.Live.MTU
	case l.Persisted.Config.MTU != known.MTU:
		report.MTU = l.Persisted.Config.MTU
	}
	switch {
	case !ipconf.SameAddresses(l.Live.Addresses, known.Addresses):
		report.Addresses = l.Live.Addresses
	case !ipconf.SameAddresses(l.Persisted.Config.Addresses, known.Addresses):
		report.Addresses = ipconf.SortedAddresses(l.Persisted.Config.Addresses)
	}
	switch {
	case len(ipconf.Without(known.Routes, l.Live.Routes)) > 0:
		report.Routes = ipconf.Without(known.Routes, ipconf.Without(known.Routes, l.Live.Routes))
	case !ipconf.SameRoutes(l.Persisted.Config.Routes, known.Routes):
		report.Routes = l.Persisted.Config.Routes
	}
	return report
}

// ToDo reports whether an apply of d would change something on the host, or has to see whether
// what it has holds.
func (l *Look) ToDo(d ipoib.Request) bool {
	return !l.Satisfies(d.Config) || len(l.Adopted(d)) > 0 || l.HasLeftovers() || l.UndoDue()
}

// HasLeftovers reports whether something is left of a change that holds. An apply puts it away
// before it does anything else. What is left of a change that was undone tells that it was, until
// the next change. The middleware of TrueNAS has its own.
func (l *Look) HasLeftovers() bool { return l.Undone == UndoNever && l.Stack != ipoib.StackMiddleware }

// OnlyPutsAway reports whether an apply of d would do no more than put away what is left of an
// earlier change, or see whether that holds.
func (l *Look) OnlyPutsAway(d ipoib.Request) bool {
	return (l.HasLeftovers() || l.UndoDue()) && l.Satisfies(d.Config) && len(l.Adopted(d)) == 0
}

// KeepsLive reports whether an interface that is as want says stays so, undisturbed, while definitions of others are
// taken over.
func (l *Look) KeepsLive(taken []Unmanaged, want ipoib.Config) bool {
	touched := slices.ContainsFunc(taken, func(f Unmanaged) bool { return l.Reconfigures(f, want) != "" })
	return len(taken) > 0 && !touched && !l.LiveDiffers(want)
}

// Interrupts reports whether an apply of d configures an interface anew that is up.
func (l *Look) Interrupts(d ipoib.Request) bool {
	return l.Present && l.Live.Up && l.ToDo(d) && !l.OnlyPutsAway(d) && !l.KeepsLive(l.Adopted(d), d.Config)
}

// OnlySilence reports whether a systemd that did not answer is all that stands between the host
// and d, which the state already has. Without its stack nothing shows what configures the interface
// at boot, but what it has now must be as asked, and nobody else may define it.
func (l *Look) OnlySilence(d ipoib.Request) bool {
	if l.Silence != "" {
		return l.Present && len(l.LiveDifferences(d.Config)) == 0 && len(l.Unmanaged) == 0
	}
	return l.Stack.Service() != "" && !l.Service().Known() && l.Satisfies(d.Config) && len(l.Adopted(d)) == 0
}

// InPlace reports whether some port of the host has an interface as d wants it.
func (l *Look) InPlace(d ipoib.Request) bool {
	for i := range l.host.snap.Cards {
		for _, p := range l.host.snap.Cards[i].Ports {
			if l.Of(ipoib.Ref{PortGUID: p.PortGUID, PKey: d.PKey, Bond: d.Bond}).Satisfies(d.Config) {
				return true
			}
		}
	}
	return false
}

// Unserved reports whether the port has a link and no subnet manager.
func (l *Look) Unserved() bool {
	return l.Physical == "LinkUp" && l.LinkLayer == "InfiniBand" && l.SMLID == 0
}

// Idle reports whether the interface is up and gets no carrier, for a reason that lies outside of
// it.
func (l *Look) Idle() bool {
	return l.Present && l.Live.Up && !l.Live.Carrier && l.OtherGUID.IsZero() && l.LinkLayer == "InfiniBand"
}

// JoinedMTU is the MTU in bytes of an interface in datagram mode that has joined its broadcast group, which has room
// for it; else zero.
func (l *Look) JoinedMTU() int {
	if !l.Present || !l.Live.Carrier || l.Live.Mode != ib.ModeDatagram {
		return 0
	}
	return l.Live.MTU
}

// Outside reports whether an interface of a partition is up and gets no carrier, although the
// subnet manager serves its port.
func (l *Look) Outside() bool { return l.Parent != "" && l.Idle() && l.PortState == "Active" }
