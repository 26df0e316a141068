package found

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netplan"
)

// Where netplan has its files.
const netplanDir = "/etc/netplan"

// netplanPath is our own file. There is one for each port, so that two interfaces never
// share a file.
func netplanPath(t Target) string { return netplanDir + "/60-infiniband-" + t.ID() + ".yaml" }

// planFile has the ID of the interface's name: netplan merges definitions of one ID, so that a
// second one of the same name shows itself as in the way.
func planFile(t Target, want ipoib.Config, renderer string) File {
	return File{netplanPath(t), 0o600, netplan.Render(platform.OwnedHeader(ResourceName), netplan.Device{
		ID: t.Name, Renderer: renderer, Interface: t.configured(want)}), netplan.Added, netplan.Settings}
}

// ownPlan reads our file. A file that is not valid any more counts as there, with no
// settings; the next apply replaces it.
func ownPlan(h *hostFacts, t Target, renderer string) (p StoredConfig) {
	path := netplanPath(t)
	if !h.marked(path) || t.PKey != 0 {
		return p
	}
	devices, err := h.plan(path)
	if err == nil && len(devices) > 0 && devices[0].Renderer != renderer {
		return p
	}
	p.Found, p.Sources = true, []string{path}
	for _, d := range devices {
		p.Interface, p.Config = d.ID, d.Sorted()
	}
	return p
}

// netplanNetworkdFiles are those of netplan with systemd-networkd: its own, and a udev rule for the
// mode.
type netplanNetworkdFiles struct{}

func (netplanNetworkdFiles) files(t Target, want ipoib.Config) []File {
	if t.PKey != 0 { // netplan has no P_Key children, and the rule of a port is not theirs
		return nil
	}
	return []File{planFile(t, want, netplan.RendererNetworkd), ruleFile(t, want.Mode)}
}

func (netplanNetworkdFiles) own(h *hostFacts, t Target) StoredConfig {
	// The rule decides the mode at boot, not netplan's infiniband-mode.
	return withRule(h, t, ownPlan(h, t, netplan.RendererNetworkd))
}

// netplanNMFiles are those of netplan with NetworkManager, which sets the mode.
type netplanNMFiles struct{}

// files is no rule of udev: NetworkManager sets the mode itself, at each activation.
func (netplanNMFiles) files(t Target, want ipoib.Config) []File {
	if t.PKey != 0 {
		return nil
	}
	return []File{planFile(t, want, netplan.RendererNM)}
}

func (netplanNMFiles) own(h *hostFacts, t Target) StoredConfig {
	return ownPlan(h, t, netplan.RendererNM)
}

// netplanStack is netplan with the renderer that the last file names for all, as if one file
// were not there.
func (h *hostFacts) netplanStack(without string) ipoib.Stack {
	stack := ipoib.StackNetplan
	for _, path := range h.snap.FilesUnder(netplanDir) {
		switch {
		case path == without:
		case h.renderer(path) == netplan.RendererNM:
			stack = ipoib.StackNetplanNM
		case h.renderer(path) == netplan.RendererNetworkd:
			stack = ipoib.StackNetplan
		}
	}
	return stack
}

// netplanFiles are the files that netplan merges.
func netplanFiles(h *hostFacts) []string {
	return slices.Concat(h.snap.FilesUnder(netplanDir), h.snap.FilesUnder("/run/netplan"),
		h.snap.FilesUnder("/lib/netplan"))
}

// unmanagedPlans are the definitions for an interface in unmanaged netplan files.
func unmanagedPlans(h *hostFacts, t Target) (all []Unmanaged) {
	for _, at := range netplanFiles(h) {
		if ofThisPort(h, t, at) {
			continue
		}
		devices, err := h.plan(at)
		if err != nil {
			// netplan stops at such a file, whoever wrote it.
			all = append(all, broken(t, at, fmt.Sprintf("is not valid: %v", err)))
		}
		if at == netplanPath(t) && err == nil && len(devices) == 0 {
			all = append(all, broken(t, at, "defines nothing"))
		}
		for i, d := range devices {
			if d.Covers(t.link()) || at == netplanPath(t) {
				all = append(all, unmanagedPlan(h, t, at, devices, i))
			}
		}
	}
	return all
}

// broken is a file that defines no interface. If it stands where ours belongs, it is in the way.
func broken(t Target, at, how string) Unmanaged {
	found := Unmanaged{Line: at + " " + how}
	if at == netplanPath(t) {
		found.Path, found.Obstacle = at, notUnderstood
	}
	return found
}

// unmanagedPlan is the definition at an index of a file.
func unmanagedPlan(h *hostFacts, t Target, at string, devices []netplan.Device, index int) Unmanaged {
	d := devices[index]
	f := definition(t, at, fmt.Sprintf("%s defines %s.%s%s", at, d.Section, d.ID, d.InBrackets()), d.Interface)
	f.ID, f.Unkept = d.ID, d.Unkept
	f.noteLostPort(h, t, at)
	if k := h.stack; k != ipoib.StackNetplan && k != ipoib.StackNetplanNM || t.Name == "" {
		return f.ofOtherStack()
	}
	f.Obstacle = planObstacle(h, t, at, d)
	if f.Obstacle == "" && len(devices) > 1 {
		var others []string
		for n, other := range devices {
			if n != index {
				others = append(others, other.Section+"."+other.ID)
			}
		}
		f.Obstacle = sharedWith(at, strings.Join(others, ", "), netplanDir+"/70-"+t.Name+".yaml")
	}
	return f
}

// planObstacle says why a definition cannot be taken over; empty if nothing but its
// neighbours can be in the way.
func planObstacle(h *hostFacts, t Target, at string, d netplan.Device) string {
	content := h.content(at)
	switch {
	case path.Dir(at) != netplanDir:
		return writtenBy("another program", at)
	case strings.Contains(path.Base(at), "cloud-init") || strings.Contains(content, "cloud-init"):
		return writtenBy("cloud-init", at) + " Or disable its network part (network: {config: disabled} in " +
			"/etc/cloud/cloud.cfg.d/99-disable-network-config.cfg) and give the file another name and no word of cloud-init."
	case d.Section != "ethernets":
		return fmt.Sprintf("%s.%s is not a definition of the interface itself. Take the name %s away from it.", d.Section,
			d.ID, t.Name)
	case d.SetName != "":
		return "It also gives the interface its name, by set-name. Name it in a .link file of systemd instead, and take " +
			"set-name out."
	case d.Match == nil && d.ID != t.Name, d.Match != nil && !d.Match.Exactly(t.link()):
		return matchesMore(at, "its match", "by its ID or by match: {name: "+t.Name+"}")
	case d.DHCP:
		return byDHCP
	}
	if alone := h.netplanStack(at); alone != h.netplanStack("") {
		return fmt.Sprintf("%s also names the renderer of all files, and without it that is another one. Name the renderer "+
			"in a file of its own, such as %s/01-renderer.yaml, then plan again.", at, netplanDir)
	}
	return ""
}
