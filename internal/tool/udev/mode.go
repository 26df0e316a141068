package udev

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// ModeRule sets the mode of a port's interface when it appears; that of a bond has a line for each of its ports.
// networkd cannot: it ignores the [IPoIB] section that netplan writes (systemd 252 to 257). The
// rule matches the last 8 bytes of the hardware address, the port GUID, because
// the bytes before it change with every load of the driver. The shell's echo
// adds the newline that the kernel wants. The shell runs when the interface has been
// renamed (ib0 to ibp1s0) and gets its new path in DEVPATH; what the rule itself
// substitutes is the old one (seen with systemd 252 and Linux 6.1).
func ModeRule(header string, mode ib.IPoIBMode, ports ...ib.GUID) string {
	var b strings.Builder
	b.WriteString(header)
	for _, port := range ports {
		b.WriteString(modeLine(port, mode, "$$DEVPATH") + "\n")
	}
	return b.String()
}

// modeLine is the line of a port, with the expression for the path of the interface.
func modeLine(port ib.GUID, mode ib.IPoIBMode, path string) string {
	return fmt.Sprintf("ACTION==\"add\", SUBSYSTEM==\"net\", ATTR{type}==\"32\", ATTR{address}==\"?*%s\", "+
		"RUN+=\"/bin/sh -c 'echo %s > /sys%s/mode'\"", port.Colons(), mode, path)
}

// formerPath is what rules had that earlier versions of the provider wrote. They failed
// at boot wherever udev renames the interface, so the next apply replaces them.
const formerPath = "$devpath"

// Mode reads the mode back from a rule; empty if the text is not exactly what a version of
// ModeRule writes for these ports.
func Mode(text, header string, ports ...ib.GUID) ib.IPoIBMode {
	for _, m := range []ib.IPoIBMode{ib.ModeDatagram, ib.ModeConnected} {
		switch strings.TrimSpace(text) {
		case strings.TrimSpace(ModeRule(header, m, ports...)):
			return m
		case header + modeLine(ports[0], m, formerPath):
			return ib.ModeDatagram // what the kernel starts with, as that rule does nothing
		}
	}
	return ""
}

// Added are the lines of a rule of ours that no version of ModeRule writes for these ports.
func Added(text string, ports ...ib.GUID) (added []tool.Setting) {
	var ours []string
	for _, port := range ports {
		for _, mode := range []ib.IPoIBMode{ib.ModeDatagram, ib.ModeConnected} {
			ours = append(ours, modeLine(port, mode, "$$DEVPATH"), modeLine(port, mode, formerPath))
		}
	}
	for n, line := range tool.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && line[0] != '#' && !slices.Contains(ours, line) {
			added = append(added, tool.Setting{Line: n, Name: "another rule", Value: line})
		}
	}
	return added
}
