package found

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ifupdown"
)

// detectStack finds what configures the network of a host. netplan is a front
// end, so it goes before the services that it writes for. Where several services
// run, the one that configures the interface which leads to the host decides.
func (h *hostFacts) detectStack() ipoib.Stack {
	s := h.snap
	switch {
	case s.TrueNAS != nil || s.OS.ID == "truenas":
		return ipoib.StackMiddleware
	case s.Commands["netplan"] && len(s.FilesUnder(netplanDir)) > 0:
		return h.netplanStack("")
	}
	candidates, known := h.running.Get()
	if !known || len(candidates) == 0 {
		return ipoib.StackUnknown
	}
	if n, ok := s.Netdev(managementInterface(s)); ok && len(candidates) > 1 {
		for _, m := range managersOf(s, n) {
			if slices.Contains(candidates, m.Stack) {
				return m.Stack
			}
		}
	}
	return candidates[0]
}

// runningStacks are the services that could configure an interface, in the order of
// preference. If systemd did not answer they are unknown: the one that was not seen may
// have the network.
func runningStacks(s *inventory.Snapshot) fact.Of[[]ipoib.Stack] {
	networking, known := s.Unit(ipoib.NetworkingUnit).Get()
	if !known {
		return fact.Unknown[[]ipoib.Stack](s.Unit(ipoib.NetworkingUnit).Why())
	}
	var all []ipoib.Stack
	if fact.Yes(s.Runs(ipoib.NMUnit)) {
		all = append(all, ipoib.StackNM)
	}
	if fact.Yes(s.Runs(ipoib.NetworkdUnit)) {
		all = append(all, ipoib.StackNetworkd)
	}
	if _, ok := s.Files[ifupdown.MainFile]; ok && s.Commands["ifup"] && networking.UnitFileState != "masked" {
		all = append(all, ifupdownStack(s))
	}
	return fact.Known(all)
}

// ifupdownStack tells ifupdown2, which has ifreload, from the older one: they differ in what they
// read of an InfiniBand address.
func ifupdownStack(s *inventory.Snapshot) ipoib.Stack {
	if s.Commands["ifreload"] {
		return ipoib.StackIfupdown2
	}
	return ipoib.StackIfupdown
}

// Manager is a service that configures an interface now.
type Manager struct {
	Stack ipoib.Stack
	How   string
}

// managersOf says which services configure an interface now. NetworkManager does so
// only with a profile.
func managersOf(s *inventory.Snapshot, n *inventory.Netdev) []Manager {
	var all []Manager
	if n.NetworkdFile != "" {
		all = append(all, Manager{ipoib.StackNetworkd, "systemd-networkd by " + n.NetworkdFile})
	}
	if n.NMManaged && n.NMProfile != "" {
		all = append(all, Manager{ipoib.StackNM, "NetworkManager by its profile " + n.NMProfile})
	}
	if s.Ifstate[n.Name] {
		all = append(all, Manager{ifupdownStack(s), "ifupdown, which has taken it up"})
	}
	return all
}

// Managers are the services that configure the interface now.
func (l *Look) Managers() []Manager { return managersOf(l.host.snap, l.Netdev) }

// WhyNotRunning says why it is not known which network services run; empty if it is.
func (l *Look) WhyNotRunning() string { return l.host.running.Why() }

// Service is the unit of systemd behind the stack.
func (l *Look) Service() fact.Of[inventory.Unit] { return l.host.snap.Unit(l.Stack.Service()) }

// Package is the installed version of a package that matters here; empty if there is none.
func (l *Look) Package(name string) string { return l.host.snap.Packages[name] }

// MasterKind is the kind of the bond or bridge that has the interface, in brackets; empty if it is
// not known.
func (l *Look) MasterKind(master string) string {
	upper, ok := l.host.snap.Netdev(master)
	switch {
	case !ok || upper.Kind == "":
		return ""
	case upper.Kind == "bond":
		return " (bond, mode " + upper.Mode + ")"
	}
	return " (" + upper.Kind + ")"
}

// Netdevs are the interfaces of the host.
func (l *Look) Netdevs() []inventory.Netdev { return l.host.snap.Netdevs }

// StackedBy are the lines of unmanaged files that make the interface part of another
// one.
func (l *Look) StackedBy() []string {
	var lines []string
	for _, path := range netplanFiles(l.host) {
		devices, err := l.host.plan(path)
		if err != nil || l.host.isOwnFile(path) {
			continue
		}
		for _, d := range devices {
			if slices.Contains(d.Interfaces, l.Name) {
				lines = append(lines, fmt.Sprintf("%s has it in %s of %s", path, d.ID, d.Section))
			}
		}
	}
	for _, path := range stanzaFiles(l.host) {
		// unmanagedStanzas names the lines that are not understood.
		f, _ := l.host.stanza(path)
		for _, z := range f.Stanzas {
			for _, o := range z.Options {
				if slices.Contains(memberOptions, strings.ReplaceAll(o.Name, "_", "-")) &&
					slices.Contains(strings.Fields(o.Value), l.Name) {
					lines = append(lines, fmt.Sprintf("%s has it in %s (%s)", path, z.Name, o.Name))
				}
			}
		}
	}
	return lines
}

// memberOptions are how stanzas name the parts of a bond or bridge.
var memberOptions = []string{"bridge-ports", "bond-slaves", "slaves"}
