package ipoib

import (
	"context"
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netplan"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
)

const netplanDir = "/etc/netplan"

// netplanPath is our own file, one per port, so that several interfaces do not
// meet in one file.
func netplanPath(t target) string { return netplanDir + "/60-infiniband-" + t.id() + ".yaml" }

func planFile(t target, want Config, renderer string) file {
	i := settings(t, want)
	return file{netplanPath(t), 0o600, netplan.Render(platform.OwnedHeader(resourceName), netplan.Device{
		ID: i.Name, Renderer: renderer, Mode: i.Mode, MTU: i.MTU, Addresses: i.Addresses, Routes: i.Routes,
	})}
}

// ownPlan reads our file. One that is not valid any more is there and says
// nothing; the next apply replaces it.
func ownPlan(s *inventory.Snapshot, t target, renderer string) (p StoredConfig) {
	path := netplanPath(t)
	if !owned(s, path) || t.pkey != 0 {
		return p
	}
	devices, err := netplan.Parse(s.Files[path].Content)
	if err == nil && len(devices) > 0 && devices[0].Renderer != renderer {
		return p
	}
	p.Found, p.Sources = true, []string{path}
	for _, d := range devices {
		p.Interface = d.ID
		p.Config = Config{Mode: d.Mode, MTU: d.MTU, Addresses: sorted(d.Addresses), Routes: ipconf.SortedRoutes(d.Routes)}
	}
	return p
}

// netplanNetworkd is netplan with systemd-networkd, and a udev rule for the mode.
type netplanNetworkd struct{}

func (netplanNetworkd) way() netundo.Stack { return netundo.Netplan }

func (netplanNetworkd) files(t target, want Config) []file {
	return []file{planFile(t, want, netplan.RendererNetworkd), ruleFile(t, want.Mode)}
}

func (netplanNetworkd) own(s *inventory.Snapshot, t target) StoredConfig {
	// The rule decides the mode at boot, not netplan's infiniband-mode.
	return withRule(s, t, ownPlan(s, t, netplan.RendererNetworkd))
}

func (netplanNetworkd) take(ctx context.Context, c *change, want Config) error {
	if _, err := c.run(ctx, netplan.Generate()); err != nil {
		return fmt.Errorf("netplan does not accept the configuration: %w", err)
	}
	return c.takeNetworkd(ctx, want)
}

func (netplanNetworkd) release(ctx context.Context, c *change) error {
	if _, err := c.run(ctx, netplan.Generate()); err != nil {
		return err
	}
	return c.releaseNetworkd(ctx)
}

// netplanNM is netplan with NetworkManager, which sets the mode. netplan apply
// would disconnect every interface; generating and taking up one profile does not.
type netplanNM struct{}

func (netplanNM) way() netundo.Stack { return netundo.NetplanNM }

func (netplanNM) files(t target, want Config) []file {
	return []file{planFile(t, want, netplan.RendererNM)}
}

func (netplanNM) own(s *inventory.Snapshot, t target) StoredConfig {
	return ownPlan(s, t, netplan.RendererNM)
}

func (netplanNM) take(ctx context.Context, c *change, want Config) error {
	if _, err := c.run(ctx, netplan.Generate()); err != nil {
		return fmt.Errorf("netplan does not accept the configuration: %w", err)
	}
	if _, err := c.run(ctx, nmcli.Reload()); err != nil {
		return err
	}
	// netplan gives its profiles this name and no UUID.
	if _, err := c.run(ctx, nmcli.UpID("netplan-"+c.t.name, c.t.name)); err != nil {
		return fmt.Errorf("NetworkManager does not activate the profile of %s: %w", c.t.name, err)
	}
	return c.mend(ctx, want)
}

func (netplanNM) release(ctx context.Context, c *change) error {
	if _, err := c.run(ctx, netplan.Generate()); err != nil {
		return err
	}
	_, err := c.run(ctx, nmcli.Reload())
	return err
}

// netplanFiles are the files that netplan merges.
func netplanFiles(s *inventory.Snapshot) []string {
	return slices.Concat(s.FilesUnder(netplanDir), s.FilesUnder("/run/netplan"), s.FilesUnder("/lib/netplan"))
}

// unmanagedPlans are the netplan files of others for an interface.
func unmanagedPlans(s *inventory.Snapshot, t target) (lines []string) {
	for _, path := range netplanFiles(s) {
		content := s.Files[path].Content
		if path == netplanPath(t) {
			if !platform.Owned(content) {
				lines = append(lines, path+" was not written by this provider")
			}
			continue
		}
		if platform.Owned(content) {
			continue // of a port GUID that has changed: the replaced resource takes it away first
		}
		devices, err := netplan.Parse(content)
		if err != nil {
			// netplan itself stops at such a file, whoever it belongs to.
			lines = append(lines, fmt.Sprintf("%s is not valid: %v", path, err))
		}
		for _, d := range devices {
			if d.Covers(t.link()) {
				i := ipconf.Interface{Mode: d.Mode, MTU: d.MTU, Addresses: d.Addresses, Routes: d.Routes}
				lines = append(lines, fmt.Sprintf("%s defines %s.%s%s", path, d.Section, d.ID, describe(i)))
			}
		}
	}
	return lines
}
