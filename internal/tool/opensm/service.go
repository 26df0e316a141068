// Package opensm reads and writes the files of opensm 3.3.23: its options, its
// partitions, its log, and those by which distributions start it. Of Debian and
// Ubuntu /etc/default/opensm lists the ports, and each has an instance of
// opensm@.service.
//
// It must not run anything.
package opensm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// Files and units of the package.
const (
	DefaultPath = "/etc/default/opensm"
	Service     = "opensm.service"
)

// Unit is the instance of one port.
func Unit(port ib.GUID) string { return "opensm@" + port.String() + ".service" }

const (
	systemUnits = "/etc/systemd/system/"
	dropInName  = ".d/terraform-infiniband.conf"
)

// DropInPath is our own file of options of one instance.
func DropInPath(port ib.GUID) string { return systemUnits + Unit(port) + dropInName }

// UnitOfDropIn is the inverse of DropInPath.
func UnitOfDropIn(path string) (unit string, ok bool) {
	name, below := strings.CutPrefix(path, systemUnits)
	unit, ok = strings.CutSuffix(name, dropInName)
	return unit, ok && below && IsInstance(unit)
}

// PortOfUnit is the inverse of Unit.
func PortOfUnit(unit string) (ib.GUID, bool) {
	if !IsInstance(unit) {
		return 0, false
	}
	g, err := ib.ParseGUID(strings.TrimSuffix(strings.TrimPrefix(unit, "opensm@"), ".service"))
	return g, err == nil
}

// IsInstance reports whether a unit is an instance of opensm@.service, for whatever port.
func IsInstance(unit string) bool {
	return strings.HasPrefix(unit, "opensm@") && strings.HasSuffix(unit, ".service") && unit != "opensm@.service"
}

// TemplatePath is our template unit where the package has none.
const TemplatePath = systemUnits + "opensm@.service"

// BootLink is what enables an instance of our template unit.
func BootLink(port ib.GUID) string {
	return systemUnits + "multi-user.target.wants/" + Unit(port)
}

// Template is a template unit like Debian's. RHEL's package starts opensm on one
// port from a script, others have no unit at all.
func Template(header string) string {
	return header + "[Unit]\nDescription=OpenSM subnet manager on port %I\nDocumentation=man:opensm(8)\n" +
		"Before=network.target remote-fs-pre.target\nConditionPathExists=/sys/class/infiniband_mad/abi_version\n\n" +
		"[Service]\nType=simple\nExecStart=/usr/sbin/opensm --guid %I --log_file /var/log/opensm.%I.log\n\n" +
		"[Install]\nWantedBy=multi-user.target\n"
}

// DropIn gives an instance its own file of options. Without it all instances share one
// opensm.conf. opensm exits with 0 if it cannot bind, for example because the port is
// not there yet while the host boots. So it is started again, whatever its exit status.
func DropIn(header string, port ib.GUID) string {
	return header + "[Unit]\nStartLimitIntervalSec=0\n\n[Service]\nExecStart=\n" +
		"ExecStart=/usr/sbin/opensm --config " + ConfPath(port) + " --guid %I --log_file /var/log/opensm.%I.log\n" +
		"Restart=always\nRestartSec=5\n"
}

// Ports is the list of /etc/default/opensm.
type Ports struct {
	All   bool // PORTS=ALL, the package's default: every port that ibstat lists
	GUIDs []ib.GUID
}

// Has reports whether a port is listed by its GUID.
func (p Ports) Has(port ib.GUID) bool { return slices.Contains(p.GUIDs, port) }

// ParseDefault reads the list; without a PORTS line it is ALL, as the package
// has it.
func ParseDefault(text string) (Ports, error) {
	value := "ALL"
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PORTS="); ok {
			value = strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	switch strings.ToUpper(value) {
	case "ALL":
		return Ports{All: true}, nil
	case "NONE", "":
		return Ports{}, nil
	}
	var p Ports
	for _, w := range strings.Fields(value) {
		g, err := ib.ParseGUID(w)
		if err != nil {
			return Ports{}, fmt.Errorf("%s: PORTS: %w", DefaultPath, err)
		}
		p.GUIDs = append(p.GUIDs, g)
	}
	return p, nil
}

// defaultNote stands above a list that says nothing of itself.
const defaultNote = "# Ports with a subnet manager; Terraform (ibfabric/infiniband) adds and removes its own.\n"

// EditDefault replaces the list and leaves everything else as it is. A list that becomes NONE
// gets a remark on who wrote it.
func EditDefault(text string, ports []ib.GUID) string {
	value := "NONE"
	if len(ports) > 0 {
		words := make([]string, len(ports))
		for i, g := range ports {
			words[i] = g.String()
		}
		value = `"` + strings.Join(words, " ") + `"`
	}
	var b strings.Builder
	written := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "PORTS=") {
			if !written {
				if len(ports) == 0 && !strings.Contains(text, defaultNote) {
					b.WriteString(defaultNote)
				}
				b.WriteString("PORTS=" + value + "\n")
			}
			written = true
			continue
		}
		b.WriteString(line)
	}
	if !written {
		if text != "" && !strings.HasSuffix(text, "\n") {
			b.WriteString("\n")
		}
		b.WriteString(defaultNote + "PORTS=" + value + "\n")
	}
	return b.String()
}

// logPath is the log file of an instance.
func logPath(port ib.GUID) string { return "/var/log/opensm." + port.String() + ".log" }

// Tail prints the last lines of the log file of an instance.
func Tail(port ib.GUID, lines int) shellcmd.Command {
	return shellcmd.New("tail", "-n", strconv.Itoa(lines), "--", logPath(port)).AsRoot()
}
