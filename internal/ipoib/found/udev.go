package found

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/udev"
)

const udevDir = "/etc/udev/rules.d"

const ResourceName = "infiniband_ipoib_interface"

// UdevRule sets the modes of the interfaces of ports when they appear: see udev.ModeRule.
func UdevRule(mode ib.IPoIBMode, ports ...ib.GUID) string {
	return udev.ModeRule(platform.OwnedHeader(ResourceName), mode, ports...)
}

// UdevPath names the file by the GUID: the name of an interface changes with its place.
func UdevPath(port ib.GUID) string {
	return udevDir + "/70-infiniband-" + port.Hex() + ".rules"
}

// ruleFile is compared as a whole, and not by its settings: see RuleMode.
func ruleFile(t Target, mode ib.IPoIBMode) File {
	added := func(text string) []tool.Setting { return udev.Added(text, t.guids()...) }
	return File{UdevPath(t.PortGUID), 0o644, UdevRule(mode, t.guids()...), added, nil}
}

// withRule completes what is persisted by our rule, which decides the mode where
// networkd configures the interface.
func withRule(h *hostFacts, t Target, p StoredConfig) StoredConfig {
	p.Config.Mode = ""
	if path := UdevPath(t.PortGUID); h.marked(path) && (p.Found || h.stack.Service() == ipoib.NetworkdUnit) {
		p.Found, p.Sources = true, append(p.Sources, path)
		p.Config.Mode = RuleMode(h.content(path), t.guids()...)
	}
	return p
}

// RuleMode reads the mode back from a rule of ours.
func RuleMode(text string, ports ...ib.GUID) ib.IPoIBMode {
	return udev.Mode(text, platform.OwnedHeader(ResourceName), ports...)
}
