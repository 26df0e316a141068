package ipoib

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netplan"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
)

const (
	netplanDir     = "/etc/netplan"
	netplanRejects = "netplan does not accept the configuration"
)

// netplanPath is our own file. There is one for each port, so that two interfaces never
// share a file.
func netplanPath(t target) string { return netplanDir + "/60-infiniband-" + t.id() + ".yaml" }

func planFile(t target, want Config, renderer string) file {
	i := settings(t, want)
	return file{netplanPath(t), 0o600, netplan.Render(platform.OwnedHeader(resourceName), netplan.Device{
		ID: i.Name, Renderer: renderer, Mode: i.Mode, MTU: i.MTU, Addresses: i.Addresses, Routes: i.Routes,
	}), netplan.Added, netplan.Settings}
}

// ownPlan reads our file. A file that is not valid any more counts as there, with no
// settings; the next apply replaces it.
func ownPlan(s *inventory.Snapshot, t target, renderer string) (p StoredConfig) {
	path := netplanPath(t)
	if !isOurs(s, path) || t.pkey != 0 {
		return p
	}
	devices, err := netplan.Parse(s.Files[path].Content)
	if err == nil && len(devices) > 0 && devices[0].Renderer != renderer {
		return p
	}
	p.Found, p.Sources = true, []string{path}
	for _, d := range devices {
		p.Interface = d.ID
		p.Config = Config{Mode: d.Mode, MTU: d.MTU, Addresses: sortPrefixes(d.Addresses),
			Routes: ipconf.SortedRoutes(d.Routes)}
	}
	return p
}

// netplanNetworkd is netplan with systemd-networkd, and a udev rule for the mode.
type netplanNetworkd struct{}

func (netplanNetworkd) way() netundo.Stack { return netundo.Netplan }

func (netplanNetworkd) files(t target, want Config) []file {
	if t.pkey != 0 { // netplan has no P_Key children, and the rule of a port is not theirs
		return nil
	}
	return []file{planFile(t, want, netplan.RendererNetworkd), ruleFile(t, want.Mode)}
}

func (netplanNetworkd) own(s *inventory.Snapshot, t target) StoredConfig {
	// The rule decides the mode at boot, not netplan's infiniband-mode.
	return withRule(s, t, ownPlan(s, t, netplan.RendererNetworkd))
}

func (netplanNetworkd) take(ctx context.Context, c *change, want Config) error {
	if err := c.runOrSay(ctx, netplan.Generate(), netplanRejects); err != nil {
		return err
	}
	return c.takeNetworkd(ctx, want)
}

// note does not have networkd read its files: up to version 252 a reload takes away the
// IPv4 addresses of an interface whose file has changed, and gives them back.
func (netplanNetworkd) note(ctx context.Context, c *change) error {
	return c.runOrSay(ctx, netplan.Generate(), netplanRejects)
}

func (netplanNetworkd) release(ctx context.Context, c *change) error {
	if _, err := c.run(ctx, netplan.Generate()); err != nil {
		return err
	}
	return c.releaseNetworkd(ctx)
}

// netplanNM is netplan with NetworkManager, which sets the mode. "netplan apply" would
// disconnect every interface, so one profile is generated and activated.
type netplanNM struct{}

func (netplanNM) way() netundo.Stack { return netundo.NetplanNM }

func (netplanNM) files(t target, want Config) []file {
	if t.pkey != 0 {
		return nil
	}
	return []file{planFile(t, want, netplan.RendererNM)}
}

func (netplanNM) own(s *inventory.Snapshot, t target) StoredConfig {
	return ownPlan(s, t, netplan.RendererNM)
}

func (netplanNM) take(ctx context.Context, c *change, want Config) error {
	if err := c.runOrSay(ctx, netplan.Generate(), netplanRejects); err != nil {
		return err
	}
	if _, err := c.run(ctx, nmcli.Reload()); err != nil {
		return err
	}
	// netplan gives its profiles this name and no UUID.
	up := nmcli.UpID("netplan-"+c.t.name, c.t.name)
	if err := c.runOrSay(ctx, up, "NetworkManager does not activate the profile of "+c.t.name); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

// note keeps the active profile: the same ID gives it the same name.
func (b netplanNM) note(ctx context.Context, c *change) error { return b.release(ctx, c) }

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

// unmanagedPlans are the definitions for an interface in unmanaged netplan files.
func unmanagedPlans(s *inventory.Snapshot, t target) (all []Unmanaged) {
	for _, at := range netplanFiles(s) {
		content := s.Files[at].Content
		if ofThisPort(s, t, at) {
			continue
		}
		devices, err := netplan.Parse(content)
		if err != nil {
			// netplan stops at such a file, whoever wrote it.
			all = append(all, broken(t, at, fmt.Sprintf("is not valid: %v", err)))
		}
		if at == netplanPath(t) && err == nil && len(devices) == 0 {
			all = append(all, broken(t, at, "defines nothing"))
		}
		for i, d := range devices {
			if d.Covers(t.link()) || at == netplanPath(t) {
				all = append(all, unmanagedPlan(s, t, at, devices, i))
			}
		}
	}
	return all
}

// broken is a file that defines no interface. If it stands where ours belongs, it is in the way.
func broken(t target, at, how string) Unmanaged {
	found := Unmanaged{Line: at + " " + how}
	if at == netplanPath(t) {
		found.Path, found.Obstacle = at, notUnderstood
	}
	return found
}

// unmanagedPlan is the definition at an index of a file.
func unmanagedPlan(s *inventory.Snapshot, t target, at string, devices []netplan.Device, index int) Unmanaged {
	d := devices[index]
	i := ipconf.Interface{Mode: d.Mode, MTU: d.MTU, Addresses: d.Addresses, Routes: d.Routes, DHCP: d.DHCP}
	f := definition(t, at, fmt.Sprintf("%s defines %s.%s%s", at, d.Section, d.ID, describe(i)), i)
	f.id, f.Unkept = d.ID, d.Unkept
	f.noteEarlier(s, t, at)
	if k := DetectStack(s); k != StackNetplan && k != StackNetplanNM || t.name == "" {
		return f.ofOtherStack()
	}
	f.Obstacle = planObstacle(s, t, at, d)
	if f.Obstacle == "" && len(devices) > 1 {
		var others []string
		for n, other := range devices {
			if n != index {
				others = append(others, other.Section+"."+other.ID)
			}
		}
		f.Obstacle = sharedWith(at, strings.Join(others, ", "), netplanDir+"/70-"+t.name+".yaml")
	}
	return f
}

// planObstacle says why a definition cannot be taken over; empty if nothing but its
// neighbours can be in the way.
func planObstacle(s *inventory.Snapshot, t target, at string, d netplan.Device) string {
	content := s.Files[at].Content
	switch {
	case path.Dir(at) != netplanDir:
		return writtenBy("another program", at)
	case strings.Contains(path.Base(at), "cloud-init") || strings.Contains(content, "cloud-init"):
		return writtenBy("cloud-init", at) + " Or disable its network part (network: {config: disabled} in " +
			"/etc/cloud/cloud.cfg.d/99-disable-network-config.cfg) and give the file another name and no word of cloud-init."
	case d.Section != "ethernets":
		return fmt.Sprintf("%s.%s is not a definition of the interface itself. Take the name %s away from it.", d.Section,
			d.ID, t.name)
	case d.SetName != "":
		return "It also gives the interface its name, by set-name. Name it in a .link file of systemd instead, and take " +
			"set-name out."
	case d.Match == nil && d.ID != t.name, d.Match != nil && !d.Match.Exactly(t.link()):
		return matchesMore(at, "its match", "by its ID or by match: {name: "+t.name+"}")
	case d.DHCP:
		return byDHCP
	}
	if alone := planStack(lessFile(s, at)); alone != planStack(s) {
		return fmt.Sprintf("%s also names the renderer of all files, and without it that is another one. Name the renderer "+
			"in a file of its own, such as %s/01-renderer.yaml, then plan again.", at, netplanDir)
	}
	return ""
}

// lessFile is a snapshot without one file.
func lessFile(s *inventory.Snapshot, at string) *inventory.Snapshot {
	fewer := *s
	fewer.Files = maps.Clone(s.Files)
	delete(fewer.Files, at)
	return &fewer
}
