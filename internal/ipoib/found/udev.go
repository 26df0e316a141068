package found

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

const udevDir = "/etc/udev/rules.d"

const ResourceName = "infiniband_ipoib_interface"

// UdevRule sets the mode of a port's interface when it appears. networkd cannot:
// it ignores the [IPoIB] section that netplan writes (systemd 252 to 257). The
// rule matches the last 8 bytes of the hardware address, the port GUID, because
// the bytes before it change with every load of the driver. The shell's echo
// adds the newline that the kernel wants. The shell runs when the interface has been
// renamed (ib0 to ibp1s0) and gets its new path in DEVPATH; what the rule itself
// substitutes is the old one (seen with systemd 252 and Linux 6.1).
func UdevRule(port ib.GUID, mode ib.IPoIBMode) string {
	return platform.OwnedHeader(ResourceName) + modeRule(port, mode, "$$DEVPATH") + "\n"
}

// modeRule is the line of the rule, with the expression for the path of the interface.
func modeRule(port ib.GUID, mode ib.IPoIBMode, path string) string {
	return fmt.Sprintf("ACTION==\"add\", SUBSYSTEM==\"net\", ATTR{type}==\"32\", ATTR{address}==\"?*%s\", "+
		"RUN+=\"/bin/sh -c 'echo %s > /sys%s/mode'\"", bytePairs(port), mode, path)
}

// formerPath is what rules had that earlier versions of the provider wrote. They failed
// at boot wherever udev renames the interface, so the next apply replaces them.
const formerPath = "$devpath"

// UdevPath names the file by the GUID: the name of an interface changes with its place.
func UdevPath(port ib.GUID) string {
	return udevDir + "/70-infiniband-" + port.Hex() + ".rules"
}

// ruleFile is compared as a whole, and not by its settings: see RuleMode.
func ruleFile(t Target, mode ib.IPoIBMode) File {
	added := func(text string) []tool.Setting { return addedRules(text, t.PortGUID) }
	return File{UdevPath(t.PortGUID), 0o644, UdevRule(t.PortGUID, mode), added, nil}
}

// withRule completes what is persisted by our rule, which decides the mode where
// networkd configures the interface.
func withRule(h *hostFacts, t Target, p StoredConfig) StoredConfig {
	p.Config.Mode = ""
	if path := UdevPath(t.PortGUID); h.marked(path) && (p.Found || h.stack.Service() == ipoib.NetworkdUnit) {
		p.Found, p.Sources = true, append(p.Sources, path)
		p.Config.Mode = RuleMode(h.content(path), t.PortGUID)
	}
	return p
}

// RuleMode reads the mode back from a rule of ours; empty if the text is not
// exactly what a version of UdevRule writes for this port.
func RuleMode(text string, port ib.GUID) ib.IPoIBMode {
	for _, m := range []ib.IPoIBMode{ib.ModeDatagram, ib.ModeConnected} {
		switch strings.TrimSpace(text) {
		case strings.TrimSpace(UdevRule(port, m)):
			return m
		case platform.OwnedHeader(ResourceName) + modeRule(port, m, formerPath):
			return ib.ModeDatagram // what the kernel starts with, as that rule does nothing
		}
	}
	return ""
}

// addedRules are the lines of a rule of ours that no version of UdevRule writes for this
// port.
func addedRules(text string, port ib.GUID) (added []tool.Setting) {
	var ours []string
	for _, mode := range []ib.IPoIBMode{ib.ModeDatagram, ib.ModeConnected} {
		ours = append(ours, modeRule(port, mode, "$$DEVPATH"), modeRule(port, mode, formerPath))
	}
	for n, line := range tool.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && !slices.Contains(ours, line) {
			added = append(added, tool.Setting{Line: n, Name: "another rule", Value: line})
		}
	}
	return added
}

// bytePairs spells a GUID as in a hardware address: e4:1d:2d:03:00:e4:4e:d1.
func bytePairs(g ib.GUID) string {
	hex := g.Hex()
	pairs := make([]string, 0, 8)
	for i := 0; i+2 <= len(hex); i += 2 {
		pairs = append(pairs, hex[i:i+2])
	}
	return strings.Join(pairs, ":")
}
