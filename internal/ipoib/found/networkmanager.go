package found

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
)

// nmFiles is the profile of NetworkManager.
type nmFiles struct{}

// profilePath ends as NetworkManager itself names a profile that it keeps for good.
func profilePath(t ipoib.Ref) string {
	return nmcli.Dir + "/infiniband-" + t.ID() + ".nmconnection"
}

// UUID is that of the profile: one that was taken over keeps its own, by which
// NetworkManager goes on with what is active.
func (t Target) UUID() string { return cmp.Or(t.Profile, nmcli.UUID(t.ID())) }

// profileOf reads the UUID of our profile.
func profileOf(h *hostFacts, t ipoib.Ref) string {
	at := profilePath(t)
	p, err := h.keyfile(at)
	if err != nil || !h.saysOurs(at) {
		return ""
	}
	return p.UUID
}

func profileID(t Target) string { return "infiniband-" + t.ID() }

func (nmFiles) files(t Target, want ipoib.Config) []File {
	p := nmcli.Profile{Interface: t.configured(want), ID: profileID(t), UUID: t.UUID()}
	// NetworkManager ignores profiles that others can read.
	return []File{{profilePath(t.Ref), 0o600, nmcli.Render(platform.OwnedHeader(ResourceName), p), nmcli.Added,
		nmcli.Settings}}
}

// own counts a profile as there and of no use that is not activated at boot, or that others can
// read: NetworkManager ignores the latter, with a line in its log only.
func (nmFiles) own(h *hostFacts, t Target) (p StoredConfig) {
	at := profilePath(t.Ref)
	f, ok := h.snap.Files[at]
	if !ok || !h.saysOurs(at) {
		return p
	}
	p.Found, p.Sources = true, []string{at}
	profile, err := h.keyfile(at)
	if err != nil || !profile.Autoconnect || f.Mode != "600" && f.Mode != "" {
		return p // there, and of no use at boot
	}
	p.Config = profile.Sorted()
	p.Interface = profile.Name
	if t.PKey == 0 && profile.PortGUID() == t.PortGUID && profile.Name == "" {
		p.Interface = t.Name // whatever it is called at boot
	}
	return p
}

// unmanagedProfiles are the unmanaged profiles for an interface. Those that netplan
// generates count as netplan's.
func unmanagedProfiles(h *hostFacts, t Target) (all []Unmanaged) {
	for _, dir := range []string{nmcli.Dir, "/run/NetworkManager/system-connections", nmcli.IfcfgDir} {
		read := h.keyfile
		if dir == nmcli.IfcfgDir {
			read = h.ifcfg
		}
		for _, at := range h.snap.FilesUnder(dir) {
			if strings.HasPrefix(path.Base(at), "netplan-") || ofThisPort(h, t, at) {
				continue
			}
			if p, err := read(at); t.Bond.Name != "" && p.Name == t.Name || t.Bond.Name == "" && profileCovers(p, t) {
				all = append(all, unmanagedProfile(h, t, at, p, err))
			}
		}
	}
	return all
}

// unmanagedProfile is a profile that could be used for an interface. Its UUID tells whether what the
// interface has now comes from it.
func unmanagedProfile(h *hostFacts, t Target, at string, p nmcli.Profile, bad error) Unmanaged {
	found := definition(t, at, fmt.Sprintf("%s is a profile for it%s%s", at, p.InBrackets(), misread(bad)), p.Interface)
	found.ID, found.Unkept, found.Obstacle = p.UUID, p.Unkept, profileObstacle(at, p, bad)
	found.noteLostPort(h, t, at)
	if h.stack != ipoib.StackNM {
		found = found.ofOtherStack()
	}
	if n, ok := h.snap.Netdev(t.Name); ok && found.ID == "" {
		found.ID = n.NMProfile // NetworkManager draws one for a file without
	}
	return found
}

// profileObstacle says why a profile cannot be taken over; empty if it can.
func profileObstacle(at string, p nmcli.Profile, bad error) string {
	switch {
	case strings.HasPrefix(at, "/run/"):
		return writtenBy("another program", at)
	case bad != nil || p.Type == "":
		return notUnderstood
	case p.Name == "" && p.PortGUID().IsZero():
		return matchesMore(at, "its type", "with its interface-name or mac-address")
	case p.DHCP:
		return byDHCP
	}
	return ""
}

// profileCovers reports whether a profile could be used for an interface; one
// that names none, or whose type or address is not understood, could be used for
// every one.
func profileCovers(p nmcli.Profile, t Target) bool {
	if p.Type != "" && !strings.EqualFold(p.Type, "infiniband") || t.Name == "" {
		return false
	}
	if t.PKey != 0 || p.PKey != 0 {
		return p.PKey|0x8000 == t.PKey && t.PKey != 0 && (p.Parent == t.Parent || p.Name == t.Name)
	}
	guid := p.PortGUID() // zero also of an address that is not understood
	byAddress := guid.IsZero() || guid == t.PortGUID
	return byAddress && (p.Name == "" || p.Name == t.Name)
}

// NMRules are what NetworkManager's own configuration says of an interface. Of an interface that
// is listed there the daemon leaves no note, and it refuses the profile only when a change
// activates it. A note that it does manage the interface may be of a run before the list was
// written, and ends with the next restart of the host.
type NMRules struct {
	Denied string // a file of it that could not be read; the rest is empty then
	// List is unmanaged-devices, By the files that say it, and Listed whether the interface is in it.
	List, By []string
	Listed   fact.Bool
	// Managed is what the section at a path says last of the interface.
	Managed     fact.Bool
	At, Section string
}

// NMRules reads them of the interface.
func (l *Look) NMRules() NMRules {
	s, device := l.host.snap, nmcli.Device{Name: l.Netdev.Name, Hardware: l.Netdev.Address}
	r := NMRules{Managed: fact.Known(true)}
	paths := slices.Concat(slices.Collect(maps.Keys(s.Files)), slices.Collect(maps.Keys(s.Denied)))
	for _, path := range nmcli.Confs(paths) {
		if s.Denied[path] {
			return NMRules{Denied: path}
		}
		var says bool
		if r.List, says = nmcli.AddUnmanaged(r.List, l.host.content(path)); says {
			r.By = append(r.By, path)
		}
		if m, name := nmcli.ManagedBy(l.host.content(path), device); name != "" {
			r.Managed, r.At, r.Section = m, path, name // the last file counts
		}
	}
	r.Listed = nmcli.Lists(r.List, device)
	return r
}

// nmBond are the profiles of NetworkManager for a bond and its ports, also where netplan is its front
// end.
type nmBond struct{}

func (nmBond) files(t Target, want ipoib.Config) []File {
	if t.PKey != 0 {
		return nil
	}
	header := platform.OwnedHeader(ResourceName)
	profile := func(at, text string) File {
		added := func(on string) []tool.Setting { return nmcli.AddedBeside(text, on) }
		return File{at, 0o600, text, added, nmcli.Settings}
	}
	i := t.configured(want)
	all := []File{profile(profilePath(t.Ref), nmcli.RenderBond(header,
		nmcli.Profile{Interface: i, ID: profileID(t), UUID: t.UUID()}, t.twoPorts()[0].Name()))}
	for n, p := range t.twoPorts() {
		name := fmt.Sprintf("%s-port%d", profileID(t), n+1)
		if i.Address = ""; p.Netdev != nil {
			i.Address = p.Netdev.Address
		}
		all = append(all, profile(nmcli.Dir+"/"+name+".nmconnection", nmcli.RenderBondPort(header,
			nmcli.Profile{Interface: i, ID: name, UUID: nmcli.UUID(name)}, t.Name)))
	}
	return all
}

func (b nmBond) own(h *hostFacts, t Target) StoredConfig {
	files := b.files(t, ipoib.Config{})
	p := nmFiles{}.own(h, t)
	if !p.Found {
		return p
	}
	port, _ := h.keyfile(files[1].Path)
	p.Config.Mode = port.Mode
	return h.withParts(p, files[1:], "NetworkManager")
}
