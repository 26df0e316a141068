package ipoib

import (
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

func profileID(t target) string { return "infiniband-" + t.id() }

func (nmBackend) files(t target, want Config) []file {
	p := nmcli.Profile{Interface: settings(t, want), ID: profileID(t), UUID: nmcli.UUID(t.id())}
	// NetworkManager ignores profiles that others can read.
	return []file{{profilePath(t), 0o600, nmcli.Render(platform.OwnedHeader(resourceName), p)}}
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
	if t.pkey == 0 && profile.PortGUID() == t.port {
		p.Interface = t.name // whatever it is called at boot
	}
	return p
}

func (nmBackend) take(ctx context.Context, c *change, want Config) error {
	if _, err := c.run(ctx, nmcli.Load(profilePath(c.t))); err != nil {
		return fmt.Errorf("NetworkManager does not load the profile of %s: %w", c.t.name, err)
	}
	up := nmcli.Up(nmcli.UUID(c.t.id()), c.t.name)
	if c.t.pkey != 0 {
		up = nmcli.UpVirtual(nmcli.UUID(c.t.id()))
	}
	if _, err := c.run(ctx, up); err != nil {
		return fmt.Errorf("NetworkManager does not activate the profile of %s: %w", c.t.name, err)
	}
	return c.mend(ctx, want)
}

func (nmBackend) note(ctx context.Context, c *change) error {
	_, err := c.run(ctx, nmcli.Reload())
	return err
}

func (nmBackend) release(ctx context.Context, c *change) error {
	_, err := c.run(ctx, nmcli.Reload())
	return err
}

// unmanagedProfiles are the profiles of others for an interface. Those that
// netplan generates are netplan's.
func unmanagedProfiles(s *inventory.Snapshot, t target) (all []Unmanaged) {
	for _, dir := range []string{nmcli.Dir, "/run/NetworkManager/system-connections", nmcli.IfcfgDir} {
		for _, at := range s.FilesUnder(dir) {
			content := s.Files[at].Content
			parse := nmcli.Parse
			if dir == nmcli.IfcfgDir {
				parse = nmcli.ParseIfcfg
			}
			if strings.HasPrefix(path.Base(at), "netplan-") || ownProfile(content) {
				continue
			}
			p, err := parse(content)
			if profileCovers(p, t) {
				all = append(all, Unmanaged{Line: fmt.Sprintf("%s is a profile for it%s%s", at, describe(p.Interface), misread(err))})
			}
		}
	}
	return all
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
