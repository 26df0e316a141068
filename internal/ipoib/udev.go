package ipoib

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

const udevDir = "/etc/udev/rules.d"

const resourceName = "infiniband_ipoib_interface"

// udevRule sets the mode of a port's interface when it appears. networkd cannot:
// it ignores the [IPoIB] section that netplan writes (systemd 252 to 257). The
// rule matches the last 8 bytes of the hardware address, the port GUID, because
// the bytes before it change with every load of the driver. The shell's echo
// adds the newline that the kernel wants.
func udevRule(port ib.GUID, mode ib.IPoIBMode) string {
	return platform.OwnedHeader(resourceName) + fmt.Sprintf(
		"ACTION==\"add\", SUBSYSTEM==\"net\", ATTR{type}==\"32\", ATTR{address}==\"?*%s\", RUN+=\"/bin/sh -c 'echo %s > "+
			"/sys$devpath/mode'\"\n",
		bytePairs(port), mode)
}

func udevPath(port ib.GUID) string {
	return udevDir + "/70-infiniband-" + port.Hex() + ".rules"
}

func ruleFile(t target, mode ib.IPoIBMode) file {
	added := func(text string) []tool.Setting { return addedRules(text, t.port) }
	return file{udevPath(t.port), 0o644, udevRule(t.port, mode), added}
}

// withRule completes what is persisted by our rule, which decides the mode where
// networkd configures the interface.
func withRule(s *inventory.Snapshot, t target, p StoredConfig) StoredConfig {
	p.Config.Mode = ""
	if path := udevPath(t.port); isOurs(s, path) && (p.Found || DetectStack(s).service() == networkdUnit) {
		p.Found, p.Sources = true, append(p.Sources, path)
		p.Config.Mode = ruleMode(s.Files[path].Content, t.port)
	}
	return p
}

// ruleMode reads the mode back from a rule of ours; empty if the text is not
// exactly what udevRule writes for this port.
func ruleMode(text string, port ib.GUID) ib.IPoIBMode {
	for _, m := range []ib.IPoIBMode{ib.ModeDatagram, ib.ModeConnected} {
		if strings.TrimSpace(text) == strings.TrimSpace(udevRule(port, m)) {
			return m
		}
	}
	return ""
}

// addedRules are the lines of a rule of ours that udevRule does not write for this port.
func addedRules(text string, port ib.GUID) (added []tool.Setting) {
	ours := strings.Split(udevRule(port, ib.ModeDatagram)+udevRule(port, ib.ModeConnected), "\n")
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
