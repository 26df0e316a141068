package ipoib

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/networkd"
)

// networkdBackend is systemd-networkd with files of its own: a .network file and
// a udev rule for the mode; for a P_Key child, a .netdev file that makes it, and
// a drop-in by which the interface of the port has it.
type networkdBackend struct {
	planned bool // the interface of the port is configured through netplan
}

func (networkdBackend) way() netundo.Stack { return netundo.Networkd }

func networkPath(t target) string { return networkd.Dir + "/60-infiniband-" + t.id() + ".network" }
func netdevPath(t target) string  { return networkd.Dir + "/60-infiniband-" + t.id() + ".netdev" }

// bareParentPath is for the interface of a port that nothing else configures. networkd
// takes the first file that matches, so it sorts behind all others.
func bareParentPath(t target) string {
	return networkd.Dir + "/95-infiniband-" + t.id() + "-parent.network"
}

func (b networkdBackend) files(t target, want Config) []file {
	header, i := platform.OwnedHeader(resourceName), settings(t, want)
	main := file{networkPath(t), 0o644, networkd.Render(header, i), networkd.Added, networkd.Settings}
	if t.pkey == 0 {
		return []file{main, ruleFile(t, want.Mode)}
	}
	inBare := func(text string) []tool.Setting { return networkd.AddedToBareParent(text, t.pkey) }
	all := []file{
		main,
		{netdevPath(t), 0o644, networkd.RenderNetdev(header, i), networkd.AddedToNetdev, networkd.Settings},
		{bareParentPath(t), 0o644, networkd.RenderBareParent(header, t.parent, t.name), inBare, networkd.Settings},
	}
	for _, hook := range b.hooks(t) {
		all = append(all, hookFile(t, hook))
	}
	for _, other := range t.otherChildren() {
		all = append(all, hookFile(other, hookPath(other, path.Base(bareParentPath(t)))))
	}
	return all
}

// otherChildren are the other children of the port.
func (t target) otherChildren() (all []target) {
	for _, key := range t.siblings {
		all = append(all, target{port: t.port, pkey: key, parent: t.parent, name: childName(t.parent, key)})
	}
	return all
}

// siblingsOf are the P_Keys of the other children of the port that networkd has by files of
// ours. networkd takes the first file that matches the parent, which may be that of any child
// while the parent has none of its own. So the file of each child has to name all of them.
func siblingsOf(s *inventory.Snapshot, t target) []uint16 {
	return slices.DeleteFunc(Defined(s, t.port), func(key uint16) bool {
		return key == 0 || key == t.pkey || !isOurs(s, bareParentPath(target{port: t.port, pkey: key}))
	})
}

// hookFile is the drop-in at a path.
func hookFile(t target, at string) file {
	added := func(text string) []tool.Setting { return networkd.AddedToParent(text, t.pkey) }
	return file{at, 0o644, networkd.RenderParent(platform.OwnedHeader(resourceName), t.name), added,
		networkd.Settings}
}

// hookPath is where the drop-in of the child for a .network file is.
func hookPath(t target, base string) string { return networkd.Dir + "/" + base + ".d/" + hookName(t) }

func hookName(t target) string { return "infiniband-" + t.id() + ".conf" }

// isHook reports whether a path is that of a drop-in of the child, for whatever file.
func isHook(t target, at string) bool {
	return t.pkey != 0 && path.Base(at) == hookName(t) && strings.HasSuffix(path.Dir(at), ".network.d")
}

// withHooks adds the other drop-ins of the child that the host has. They are for files that
// configured the interface of the port before. It may have another name now, or be gone.
func withHooks(s *inventory.Snapshot, t target, files []file) []file {
	for _, at := range s.FilesUnder(networkd.Dir) {
		listed := slices.ContainsFunc(files, func(f file) bool { return f.path == at })
		if isHook(t, at) && isOurs(s, at) && !listed {
			files = append(files, hookFile(t, at))
		}
	}
	return files
}

// removeHookDirs removes the directories of drop-ins that are empty now. An undo would have
// needed them.
func (c *change) removeHookDirs(ctx context.Context, removed []string) error {
	for _, at := range removed {
		if dir := path.Dir(at); strings.HasSuffix(dir, ".network.d") {
			if _, err := c.h.Run(ctx, coreutils.RemoveEmptyDirectory(dir)); err != nil {
				return err
			}
		}
	}
	return nil
}

// hooks are the drop-ins that attach the child to the interface of the port: for the
// files that configure that interface, and for the one that a resource would write.
func (b networkdBackend) hooks(t target) []string {
	own := path.Base(networkPath(target{port: t.port}))
	if b.planned {
		own = "10-netplan-" + t.parent + ".network"
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
func hookedFiles(s *inventory.Snapshot, t target, parent *inventory.Netdev) (all []string) {
	if parent.NetworkdFile != "" {
		all = append(all, parent.NetworkdFile)
	}
	for _, hook := range withHooks(s, t, nil) {
		if f, _ := networkd.Parse(s.Files[hook.path].Content); slices.Contains(f.Children, t.name) {
			all = append(all, strings.TrimSuffix(path.Dir(hook.path), ".d"))
		}
	}
	return all
}

func (b networkdBackend) own(s *inventory.Snapshot, t target) (p StoredConfig) {
	main := networkPath(t)
	if !isOurs(s, main) {
		if t.pkey == 0 {
			return withRule(s, t, p)
		}
		return p
	}
	p.Found, p.Sources = true, []string{main}
	if f, err := networkd.Parse(s.Files[main].Content); err == nil {
		p.Interface, p.Config = f.Name, readBack(f.Interface)
	}
	if t.pkey == 0 {
		return withRule(s, t, p)
	}
	p.Config.Mode = ""
	if f, err := networkd.Parse(s.Files[netdevPath(t)].Content); err == nil && f.PKey == t.pkey {
		p.Config.Mode = f.Mode
	}
	var faults []string
	for _, also := range append([]string{netdevPath(t), bareParentPath(t)}, b.hooks(t)...) {
		if isOurs(s, also) {
			p.Sources = append(p.Sources, also)
		} else {
			p.Interface = "" // something of it is missing: the child is not made at boot
		}
		if fault := childFault(s, t, also); fault != "" {
			faults = append(faults, fault)
		}
	}
	p.Fault = strings.Join(faults, "; ")
	return p
}

// childFault says why networkd does not make the child as asked at boot, as far as one of its
// files is to blame; empty if it is not.
func childFault(s *inventory.Snapshot, t target, at string) string {
	f, err := networkd.Parse(s.Files[at].Content)
	switch {
	case t.name == "":
		return ""
	case !isOurs(s, at):
		return at + " is not there, so networkd does not make the interface at boot"
	case err != nil:
		return at + " is not understood"
	case at != netdevPath(t) && !slices.Contains(f.Children, t.name):
		return at + " has no IPoIB=" + t.name + ", so networkd does not make the interface at boot"
	case at != netdevPath(t):
		return ""
	case f.PKey != t.pkey:
		return fmt.Sprintf("%s has P_Key 0x%04x, not 0x%04x", at, f.PKey, t.pkey)
	case f.Address != networkd.NoAddress:
		return at + " has no MACAddress=" + networkd.NoAddress + ", so networkd makes an interface at boot " +
			"that never gets a carrier"
	}
	return ""
}

func (networkdBackend) take(ctx context.Context, c *change, want Config) error {
	return c.takeNetworkd(ctx, want)
}

// takeNetworkd sets the mode, then makes networkd configure the interface. The mode
// decides which MTU is legal, and networkd cannot set it.
func (c *change) takeNetworkd(ctx context.Context, want Config) error {
	if c.t.pkey != 0 {
		return c.takeChild(ctx, want)
	}
	if c.before.Live.Mode != want.Mode {
		if err := c.setMode(ctx, want.Mode); err != nil {
			return err
		}
	}
	if _, err := c.run(ctx, networkd.Reload()); err != nil {
		return err
	}
	if _, err := c.run(ctx, networkd.Reconfigure(c.t.name)); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

// takeChild makes networkd create the child, which it does when it configures the
// interface of the port. A child that is there keeps its mode.
func (c *change) takeChild(ctx context.Context, want Config) error {
	if _, err := c.run(ctx, networkd.Reload()); err != nil {
		return err
	}
	if !c.before.Present {
		if _, err := c.run(ctx, networkd.Reconfigure(c.t.parent)); err != nil {
			return err
		}
		if err := c.awaitChild(ctx); err != nil {
			return err
		}
	}
	if c.before.Present && c.before.Live.Mode != want.Mode {
		if err := c.setMode(ctx, want.Mode); err != nil {
			return err
		}
	}
	if _, err := c.run(ctx, networkd.Reconfigure(c.t.name)); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

// note leaves networkd with what it has read, as that of netplan does.
func (networkdBackend) note(context.Context, *change) error { return nil }

func (networkdBackend) release(ctx context.Context, c *change) error { return c.releaseNetworkd(ctx) }

// releaseNetworkd makes networkd forget the interface. networkd does not remove a
// child.
func (c *change) releaseNetworkd(ctx context.Context) error {
	if _, err := c.run(ctx, networkd.Reload()); err != nil {
		return err
	}
	if c.t.pkey != 0 && c.before.Present {
		if _, err := c.run(ctx, iproute.DelLink(c.t.name)); err != nil {
			return fmt.Errorf("removing the P_Key child %s: %w", c.t.name, err)
		}
	}
	return nil
}

// unmanagedNetworks are the unmanaged files by which networkd would configure an
// interface. Those that netplan generates count as netplan's.
func unmanagedNetworks(s *inventory.Snapshot, t target) (all []Unmanaged) {
	for _, p := range slices.Concat(s.FilesUnder(networkd.Dir), s.FilesUnder("/run/systemd/network")) {
		content := s.Files[p].Content
		if ofThisPort(s, t, p) || !strings.HasSuffix(p, ".network") || strings.HasPrefix(path.Base(p), "10-netplan-") {
			continue
		}
		if f, err := networkd.Parse(content); !fact.No(f.Matches(t.link())) {
			all = append(all, unmanagedNetwork(s, t, p, f, err))
		}
	}
	if n, ok := s.Netdev(t.name); ok && n.NetworkdFile != "" &&
		!strings.HasPrefix(n.NetworkdFile, "/etc/systemd/network/") &&
		!strings.Contains(n.NetworkdFile, "/10-netplan-") {
		all = append(all, Unmanaged{Line: "systemd-networkd configures it by " + n.NetworkdFile})
	}
	return all
}

// unmanagedNetwork is a file that matches an interface, or may.
func unmanagedNetwork(s *inventory.Snapshot, t target, at string, f networkd.File, bad error) Unmanaged {
	if matches := f.Matches(t.link()); !matches.Known() {
		found := Unmanaged{Line: fmt.Sprintf("%s may match it: %s%s%s", at, matches.Why(), describe(f.Interface),
			misread(bad))}
		found.noteEarlier(s, t, at)
		found.Awaited = !found.earlier.PortGUID.IsZero() && t.name == ""
		return found
	}
	found := definition(t, at, fmt.Sprintf("%s matches it%s%s", at, describe(f.Interface), misread(bad)), f.Interface)
	found.Obstacle, found.Unkept = networkObstacle(s, t, at, f, bad), f.Unkept
	found.noteEarlier(s, t, at)
	if DetectStack(s) != StackNetworkd {
		return found.ofOtherStack()
	}
	return found
}

// dropIns gives the directories with drop-ins of others for a .network file. networkd reads
// them below each of its directories, wherever the file itself is (systemd.network(5)).
func dropIns(s *inventory.Snapshot, at string) []string {
	var found []string
	for _, dir := range []string{networkd.Dir, "/run/systemd/network", "/usr/local/lib/systemd/network",
		"/usr/lib/systemd/network"} {
		dir += "/" + path.Base(at) + ".d"
		if slices.ContainsFunc(s.FilesUnder(dir), func(p string) bool { return !isOwnFile(s, p) }) {
			found = append(found, dir)
		}
	}
	return found
}

// networkObstacle says why a .network file cannot be taken over; empty if it can.
func networkObstacle(s *inventory.Snapshot, t target, at string, f networkd.File, bad error) string {
	switch {
	case path.Dir(at) != networkd.Dir:
		return writtenBy("another program", at)
	case bad != nil:
		return notUnderstood
	case t.pkey != 0:
		return "A P_Key interface of systemd-networkd consists of several files. Remove it there (.netdev, .network and " +
			"the line IPoIB= of the port's interface), then apply."
	case !f.Exactly(t.link()):
		return matchesMore(at, "its [Match]", "with Name="+t.name)
	case len(f.Children) > 0:
		return "It also makes P_Key interfaces (IPoIB=). Move those lines to a drop-in, " + networkd.Dir + "/" +
			path.Base(networkPath(t)) + ".d/children.conf, then plan again."
	case len(dropIns(s, at)) > 0:
		return fmt.Sprintf("It has drop-ins below %s. Put their lines into the file, remove them, then plan again.",
			strings.Join(dropIns(s, at), " and "))
	case f.DHCP:
		return byDHCP
	}
	return ""
}
