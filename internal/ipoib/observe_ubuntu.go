package ipoib

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netplan"
)

const netplanDir = "/etc/netplan"

// netplanPath is our own file, one per port, so that several interfaces do not
// meet in one file.
func netplanPath(port ib.GUID) string {
	return netplanDir + "/60-infiniband-" + port.Hex() + ".yaml"
}

func udevPath(port ib.GUID) string {
	return "/etc/udev/rules.d/70-infiniband-" + port.Hex() + ".rules"
}

func netplanText(name string, c Config) string {
	return netplan.Render(platform.OwnedHeader(resourceName), netplan.Device{
		ID: name, Mode: c.Mode, MTU: c.MTU, Addresses: sorted(c.Addresses),
	})
}

// observeUbuntu reads our netplan file and udev rule, and looks for other files
// that define the same interface.
func observeUbuntu(s *inventory.Snapshot, port ib.GUID, o *Observed) {
	p := &o.Persisted
	if f, ok := s.Files[udevPath(port)]; ok && platform.Owned(f.Content) {
		p.Found, p.Sources = true, append(p.Sources, udevPath(port))
		// The rule decides the mode at boot, not netplan's infiniband-mode.
		p.Config.Mode = ruleMode(f.Content, port)
	}
	for _, path := range s.FilesUnder(netplanDir) {
		if path == netplanPath(port) && platform.Owned(s.Files[path].Content) {
			observeOwnPlan(path, s.Files[path].Content, p)
			continue
		}
		if path == netplanPath(port) {
			o.Foreign = append(o.Foreign, path+" was not written by this provider")
		}
		o.Foreign = append(o.Foreign, foreignPlan(path, s.Files[path].Content, o.Name)...)
	}
}

// observeOwnPlan reads our file. One that is not valid any more is there and
// says nothing; the next apply replaces it.
func observeOwnPlan(path, content string, p *Persisted) {
	p.Found, p.Sources = true, append(p.Sources, path)
	devices, err := netplan.Parse(content)
	if err != nil {
		return
	}
	for _, d := range devices {
		p.Interface, p.Config.MTU, p.Config.Addresses = d.ID, d.MTU, sorted(d.Addresses)
	}
}

// foreignPlan says what another file has to do with our interface.
func foreignPlan(path, content, name string) []string {
	devices, err := netplan.Parse(content)
	if err != nil {
		// netplan itself stops at such a file, whoever it belongs to.
		return []string{fmt.Sprintf("%s is not valid: %v", path, err)}
	}
	var lines []string
	for _, d := range devices {
		if name != "" && d.Covers(name) {
			lines = append(lines, fmt.Sprintf("%s defines %s.%s", path, d.Section, d.ID))
		}
	}
	return lines
}
