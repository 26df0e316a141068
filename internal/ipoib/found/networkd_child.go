package found

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/networkd"
)

func netdevPath(t Target) string { return networkd.Dir + "/60-infiniband-" + t.ID() + ".netdev" }

// bareParentPath is for the interface of a port that nothing else configures. networkd
// takes the first file that matches, so it sorts behind all others.
func bareParentPath(t Target) string {
	return networkd.Dir + "/95-infiniband-" + t.ID() + "-parent.network"
}

// otherChildren are the other children of the port.
func (t Target) otherChildren() (all []Target) {
	for _, key := range t.siblings {
		all = append(all, Target{Ref: ipoib.Ref{PortGUID: t.PortGUID, PKey: key}, Parent: t.Parent,
			Name: childName(t.Parent, key)})
	}
	return all
}

// siblingsOf are the P_Keys of the other children of the port that networkd has by files of
// ours. networkd takes the first file that matches the parent, which may be that of any child
// while the parent has none of its own. So the file of each child has to name all of them.
func siblingsOf(h *hostFacts, t ipoib.Ref) []uint16 {
	return slices.DeleteFunc(Defined(h.snap, t.PortGUID), func(key uint16) bool {
		return key == 0 || key == t.PKey || !h.marked(bareParentPath(Target{Ref: ipoib.Ref{PortGUID: t.PortGUID, PKey: key}}))
	})
}

// hookFile is the drop-in at a path.
func hookFile(t Target, at string) File {
	added := func(text string) []tool.Setting { return networkd.AddedToParent(text, t.PKey) }
	return File{at, 0o644, networkd.RenderParent(platform.OwnedHeader(ResourceName), t.Name), added,
		networkd.Settings}
}

// hookPath is where the drop-in of the child for a .network file is.
func hookPath(t Target, base string) string { return networkd.Dir + "/" + base + ".d/" + hookName(t) }

// hookName has the P_Key, so that the drop-ins of several children of a port do not replace each
// other.
func hookName(t Target) string { return "infiniband-" + t.ID() + ".conf" }

// isHook reports whether a path is that of a drop-in of the child, for whatever file.
func isHook(t Target, at string) bool {
	return t.PKey != 0 && path.Base(at) == hookName(t) && strings.HasSuffix(path.Dir(at), ".network.d")
}

// withHooks adds the other drop-ins of the child that the host has. They are for files that
// configured the interface of the port before. It may have another name now, or be gone.
func withHooks(h *hostFacts, t Target, files []File) []File {
	for _, at := range h.snap.FilesUnder(networkd.Dir) {
		listed := slices.ContainsFunc(files, func(f File) bool { return f.Path == at })
		if isHook(t, at) && h.marked(at) && !listed {
			files = append(files, hookFile(t, at))
		}
	}
	return files
}

// hooks are the drop-ins that attach the child to the interface of the port: for the
// files that configure that interface, and for the one that a resource would write.
func (b networkdFiles) hooks(t Target) []string {
	own := path.Base(networkPath(Target{Ref: ipoib.Ref{PortGUID: t.PortGUID}}))
	if b.planned {
		own = "10-netplan-" + t.Parent + ".network"
	}
	all := []string{own}
	for _, other := range t.otherChildren() {
		all = append(all, path.Base(bareParentPath(other)))
	}
	for _, now := range t.hooks {
		if base := path.Base(now); base != path.Base(bareParentPath(t)) && !slices.Contains(all, base) {
			all = append(all, base)
		}
	}
	for i := range all {
		all[i] = hookPath(t, all[i])
	}
	return all
}

// hookedFiles are the files that configure the interface of the port: the one of now, and
// those by which it has the child already. networkd may not have come to the interface yet.
func hookedFiles(h *hostFacts, t Target, parent *inventory.Netdev) (all []string) {
	if parent.NetworkdFile != "" {
		all = append(all, parent.NetworkdFile)
	}
	for _, hook := range withHooks(h, t, nil) {
		if f, _ := h.network(hook.Path); slices.Contains(f.Children, t.Name) {
			all = append(all, strings.TrimSuffix(path.Dir(hook.Path), ".d"))
		}
	}
	return all
}

// childFault says why networkd does not make the child as asked at boot, as far as one of its
// files is to blame; empty if it is not.
func childFault(h *hostFacts, t Target, at string) string {
	f, err := h.network(at)
	switch {
	case t.Name == "":
		return ""
	case !h.marked(at):
		return at + " is not there, so networkd does not make the interface at boot"
	case err != nil:
		return at + " is not understood"
	case at != netdevPath(t) && !slices.Contains(f.Children, t.Name):
		return at + " has no IPoIB=" + t.Name + ", so networkd does not make the interface at boot"
	case at != netdevPath(t):
		return ""
	case f.PKey != t.PKey:
		return fmt.Sprintf("%s has P_Key 0x%04x, not 0x%04x", at, f.PKey, t.PKey)
	case f.Address != networkd.NoAddress:
		return at + " has no MACAddress=" + networkd.NoAddress + ", so networkd makes an interface at boot " +
			"that never gets a carrier"
	}
	return ""
}

// networkdBond are the files of systemd-networkd for a bond, also where netplan is its front end: its
// .network file, the .netdev file that makes it, one for each port, and the rule for the modes.
type networkdBond struct{}

func (networkdBond) files(t Target, want ipoib.Config) []File {
	if t.PKey != 0 {
		return nil
	}
	header := platform.OwnedHeader(ResourceName)
	part := func(at, text string) File {
		added := func(on string) []tool.Setting { return networkd.AddedBeside(text, on) }
		return File{at, 0o644, text, added, networkd.Settings}
	}
	all := []File{networkdFiles{}.files(t, want)[0], part(netdevPath(t), networkd.RenderBond(header, t.Name))}
	for n, p := range t.twoPorts() {
		all = append(all, part(fmt.Sprintf("%s/60-infiniband-%s-port%d.network", networkd.Dir, t.ID(), n+1),
			networkd.RenderBondPort(header, p.Name(), t.Name, n == 0)))
	}
	return append(all, ruleFile(t, want.Mode))
}

func (b networkdBond) own(h *hostFacts, t Target) (p StoredConfig) {
	files := b.files(t, ipoib.Config{})
	if at := files[0].Path; h.marked(at) {
		p.Found, p.Sources = true, []string{at}
		f, _ := h.network(at)
		p.Interface, p.Config = f.Name, f.Sorted()
		p = h.withParts(p, files[1:4], "systemd-networkd")
	}
	return withRule(h, t, p)
}
