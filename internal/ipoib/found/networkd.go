package found

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/networkd"
)

// networkdFiles are those of systemd-networkd: a .network file and a udev rule for the mode; for a
// P_Key child, a .netdev file that makes it, and a drop-in by which the interface of the port has
// it.
type networkdFiles struct {
	planned bool // the interface of the port is configured through netplan
}

// networkPath sorts behind what netplan generates (10-netplan-…) and before what systemd brings
// (80-…): the first file that matches an interface is the only one that counts.
func networkPath(t Target) string { return networkd.Dir + "/60-infiniband-" + t.ID() + ".network" }

func (b networkdFiles) files(t Target, want ipoib.Config) []File {
	header, i := platform.OwnedHeader(ResourceName), t.configured(want)
	main := File{networkPath(t), 0o644, networkd.Render(header, i), networkd.Added, networkd.Settings}
	if t.PKey == 0 {
		return []File{main, ruleFile(t, want.Mode)}
	}
	inBare := func(text string) []tool.Setting { return networkd.AddedToBareParent(text, t.PKey) }
	all := []File{
		main,
		{netdevPath(t), 0o644, networkd.RenderNetdev(header, i), networkd.AddedToNetdev, networkd.Settings},
		{bareParentPath(t), 0o644, networkd.RenderBareParent(header, t.Parent, t.Name), inBare, networkd.Settings},
	}
	for _, hook := range b.hooks(t) {
		all = append(all, hookFile(t, hook))
	}
	for _, other := range t.otherChildren() {
		all = append(all, hookFile(other, hookPath(other, path.Base(bareParentPath(t)))))
	}
	return all
}

// own reads our files back. networkd makes a P_Key child only if all of them are there: the .netdev
// file, and for the interface of the port a line that names the child in whatever file matches it.
func (b networkdFiles) own(h *hostFacts, t Target) (p StoredConfig) {
	main := networkPath(t)
	if !h.marked(main) {
		if t.PKey == 0 {
			return withRule(h, t, p)
		}
		return p
	}
	p.Found, p.Sources = true, []string{main}
	if f, err := h.network(main); err == nil {
		p.Interface, p.Config = f.Name, f.Sorted()
	}
	if t.PKey == 0 {
		return withRule(h, t, p)
	}
	p.Config.Mode = ""
	if f, err := h.network(netdevPath(t)); err == nil && f.PKey == t.PKey {
		p.Config.Mode = f.Mode
	}
	var faults []string
	for _, also := range append([]string{netdevPath(t), bareParentPath(t)}, b.hooks(t)...) {
		if h.marked(also) {
			p.Sources = append(p.Sources, also)
		} else {
			p.Interface = "" // something of it is missing: the child is not made at boot
		}
		if fault := childFault(h, t, also); fault != "" {
			faults = append(faults, fault)
		}
	}
	p.Fault = strings.Join(faults, "; ")
	return p
}

// unmanagedNetworks are the unmanaged files by which networkd would configure an
// interface. Those that netplan generates count as netplan's.
func unmanagedNetworks(h *hostFacts, t Target) (all []Unmanaged) {
	all = unmanagedDropIns(h, t)
	for _, p := range slices.Concat(h.snap.FilesUnder(networkd.Dir), h.snap.FilesUnder("/run/systemd/network")) {
		if ofThisPort(h, t, p) || !strings.HasSuffix(p, ".network") || strings.HasPrefix(path.Base(p), "10-netplan-") {
			continue
		}
		if f, err := h.network(p); !fact.No(f.Matches(t.link())) {
			all = append(all, unmanagedNetwork(h, t, p, f, err))
		}
	}
	if n, ok := h.snap.Netdev(t.Name); ok && n.NetworkdFile != "" &&
		!strings.HasPrefix(n.NetworkdFile, "/etc/systemd/network/") &&
		!strings.Contains(n.NetworkdFile, "/10-netplan-") {
		all = append(all, Unmanaged{Line: "systemd-networkd configures it by " + n.NetworkdFile})
	}
	return all
}

// unmanagedDropIns are the drop-ins of others for our file that set what this resource has arguments for: networkd
// merges them into it, and the interface never shows what is asked for.
func unmanagedDropIns(h *hostFacts, t Target) (all []Unmanaged) {
	if h.stack.Service() != ipoib.NetworkdUnit {
		return nil
	}
	ours := networkPath(t)
	if n, ok := h.snap.Netdev(t.Name); ok && strings.Contains(n.NetworkdFile, "/10-netplan-") {
		ours = n.NetworkdFile
	}
	own, _ := h.network(ours)
	for _, dir := range dropIns(h, ours) {
		for _, at := range h.snap.FilesUnder(dir) {
			f, bad := h.network(at)
			if h.isOwnFile(at) || bad == nil && addsNothing(f, own) {
				continue
			}
			all = append(all, Unmanaged{
				Line:     fmt.Sprintf("%s adds to %s%s%s", at, ours, f.InBrackets(), misread(bad)),
				Obstacle: "Write what is wanted of it into this resource, move " + at + " away, and plan again.",
			})
		}
	}
	return all
}

// addsNothing reports whether a drop-in sets nothing that a file does not set as well.
func addsNothing(f, own networkd.File) bool {
	if f.DHCP || own.DHCP4 && f.UsesMore {
		return false
	}
	return (f.MTU == 0 || f.MTU == own.MTU) && len(ipconf.Without(f.Addresses, own.Addresses)) == 0 &&
		len(ipconf.Without(f.Routes, own.Routes)) == 0
}

// unmanagedNetwork is a file that matches an interface, or may.
func unmanagedNetwork(h *hostFacts, t Target, at string, f networkd.File, bad error) Unmanaged {
	if matches := f.Matches(t.link()); !matches.Known() {
		found := Unmanaged{Line: fmt.Sprintf("%s may match it: %s%s%s", at, matches.Why(), f.InBrackets(),
			misread(bad))}
		found.noteLostPort(h, t, at)
		found.Awaited = !found.LostPort.PortGUID.IsZero() && t.Name == ""
		return found
	}
	found := definition(t, at, fmt.Sprintf("%s matches it%s%s", at, f.InBrackets(), misread(bad)), f.Interface)
	found.Obstacle, found.Unkept = networkObstacle(h, t, at, f, bad), f.Unkept
	found.noteLostPort(h, t, at)
	if h.stack != ipoib.StackNetworkd {
		return found.ofOtherStack()
	}
	return found
}

// dropIns gives the directories with drop-ins of others for a .network file. networkd reads
// them below each of its directories, wherever the file itself is (systemd.network(5)).
func dropIns(h *hostFacts, at string) []string {
	var found []string
	for _, dir := range []string{networkd.Dir, "/run/systemd/network", "/usr/local/lib/systemd/network",
		"/usr/lib/systemd/network"} {
		dir += "/" + path.Base(at) + ".d"
		if slices.ContainsFunc(h.snap.FilesUnder(dir), func(p string) bool { return !h.isOwnFile(p) }) {
			found = append(found, dir)
		}
	}
	return found
}

// networkObstacle says why a .network file cannot be taken over; empty if it can.
func networkObstacle(h *hostFacts, t Target, at string, f networkd.File, bad error) string {
	switch {
	case path.Dir(at) != networkd.Dir:
		return writtenBy("another program", at)
	case bad != nil:
		return notUnderstood
	case t.PKey != 0:
		return "A P_Key interface of systemd-networkd consists of several files. Remove it there (.netdev, .network and " +
			"the line IPoIB= of the port's interface), then apply."
	case !f.Exactly(t.link()):
		return matchesMore(at, "its [Match]", "with Name="+t.Name)
	case len(f.Children) > 0:
		return "It also makes P_Key interfaces (IPoIB=). Move those lines to a drop-in, " + networkd.Dir + "/" +
			path.Base(networkPath(t)) + ".d/children.conf, then plan again."
	case len(dropIns(h, at)) > 0:
		return fmt.Sprintf("It has drop-ins below %s. Put their lines into the file, remove them, then plan again.",
			strings.Join(dropIns(h, at), " and "))
	case f.DHCP:
		return byDHCP
	}
	return ""
}
