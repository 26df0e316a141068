package ipoib

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
)

// nmBackend is NetworkManager with a profile of its own. It makes P_Key children
// by itself, and sets the mode at each activation.
type nmBackend struct{}

func (nmBackend) way() netundo.Stack { return netundo.NetworkManager }

func profilePath(t target) string {
	return nmcli.Dir + "/infiniband-" + t.id() + ".nmconnection"
}

// uuid is that of the profile: one that was taken over keeps its own, by which
// NetworkManager goes on with what is active.
func (t target) uuid() string { return cmp.Or(t.profile, nmcli.UUID(t.id())) }

// profileOf reads the UUID of our profile.
func profileOf(s *inventory.Snapshot, t target) string {
	content := s.Files[profilePath(t)].Content
	p, err := nmcli.Parse(content)
	if err != nil || !ownProfile(content) {
		return ""
	}
	return p.UUID
}

func profileID(t target) string { return "infiniband-" + t.id() }

func (nmBackend) files(t target, want Config) []file {
	p := nmcli.Profile{Interface: settings(t, want), ID: profileID(t), UUID: t.uuid()}
	// NetworkManager ignores profiles that others can read.
	return []file{{profilePath(t), 0o600, nmcli.Render(platform.OwnedHeader(resourceName), p), nmcli.Added,
		nmcli.Settings}}
}

// ownProfile reports whether a profile is ours: by its first line, or, after
// NetworkManager has rewritten it, by its user data.
func ownProfile(content string) bool {
	if platform.IsOurs(content) {
		return true
	}
	p, err := nmcli.Parse(content)
	return err == nil && p.Ours
}

func (nmBackend) own(s *inventory.Snapshot, t target) (p StoredConfig) {
	at := profilePath(t)
	f, ok := s.Files[at]
	if !ok || !ownProfile(f.Content) {
		return p
	}
	p.Found, p.Sources = true, []string{at}
	profile, err := nmcli.Parse(f.Content)
	if err != nil || !profile.Autoconnect || f.Mode != "600" && f.Mode != "" {
		return p // there, and of no use at boot
	}
	p.Config = readBack(profile.Interface)
	p.Interface = profile.Name
	if t.pkey == 0 && profile.PortGUID() == t.port && profile.Name == "" {
		p.Interface = t.name // whatever it is called at boot
	}
	return p
}

func (b nmBackend) take(ctx context.Context, c *change, want Config) error {
	if err := b.load(ctx, c); err != nil {
		return err
	}
	up := nmcli.Up(c.t.uuid(), c.t.name)
	if c.t.pkey != 0 {
		up = nmcli.UpVirtual(c.t.uuid())
	}
	if err := c.runOrSay(ctx, up, "NetworkManager does not activate the profile of "+c.t.name); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

// load has NetworkManager read our profile. To find out that another file of the same
// profile has gone it has to read all.
func (nmBackend) load(ctx context.Context, c *change) error {
	cmd := nmcli.Load(profilePath(c.t))
	if len(c.taken) > 0 {
		cmd = nmcli.Reload()
	}
	return c.runOrSay(ctx, cmd, "NetworkManager does not load the profile of "+c.t.name)
}

// note leaves alone what is active: with the UUID that it has our profile is another
// text of the same profile. A reload would disconnect the interface of any other.
func (b nmBackend) note(ctx context.Context, c *change) error { return b.load(ctx, c) }

func (nmBackend) release(ctx context.Context, c *change) error {
	_, err := c.run(ctx, nmcli.Reload())
	return err
}

// unmanagedProfiles are the unmanaged profiles for an interface. Those that netplan
// generates count as netplan's.
func unmanagedProfiles(s *inventory.Snapshot, t target) (all []Unmanaged) {
	for _, dir := range []string{nmcli.Dir, "/run/NetworkManager/system-connections", nmcli.IfcfgDir} {
		for _, at := range s.FilesUnder(dir) {
			content := s.Files[at].Content
			parse := nmcli.Parse
			if dir == nmcli.IfcfgDir {
				parse = nmcli.ParseIfcfg
			}
			if strings.HasPrefix(path.Base(at), "netplan-") || ofThisPort(s, t, at) {
				continue
			}
			p, err := parse(content)
			if !profileCovers(p, t) {
				continue
			}
			found := definition(t, at, fmt.Sprintf("%s is a profile for it%s%s", at, describe(p.Interface), misread(err)),
				p.Interface)
			found.id, found.Unkept, found.Obstacle = p.UUID, p.Unkept, profileObstacle(at, p, err)
			found.noteEarlier(s, t, at)
			if DetectStack(s) != StackNM {
				found = found.ofOtherStack()
			}
			if n, ok := s.Netdev(t.name); ok && found.id == "" {
				found.id = n.NMProfile // NetworkManager draws one for a file without
			}
			all = append(all, found)
		}
	}
	return all
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
func profileCovers(p nmcli.Profile, t target) bool {
	if p.Type != "" && !strings.EqualFold(p.Type, "infiniband") || t.name == "" {
		return false
	}
	if t.pkey != 0 || p.PKey != 0 {
		return p.PKey|0x8000 == t.pkey && t.pkey != 0 && (p.Parent == t.parent || p.Name == t.name)
	}
	guid := p.PortGUID() // zero also of an address that is not understood
	byAddress := guid.IsZero() || guid == t.port
	return byAddress && (p.Name == "" || p.Name == t.name)
}
