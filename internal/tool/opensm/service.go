// Package opensm reads and writes the files of opensm 3.3.23: its options, its
// partitions, its log, and those by which distributions start it. Of Debian and
// Ubuntu /etc/default/opensm lists the ports, and each has an instance of
// opensm@.service.
//
// It must not run anything.
package opensm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
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
//
// With keys of a fabric nobody but root reads what it writes: it logs to the system, at the level info, every key that
// it loads, and has those of all ports in its cache, and of other subnet managers in its log.
func DropIn(header string, port ib.GUID, keys bool) string {
	quiet := ""
	if keys {
		quiet = "LogLevelMax=notice\nUMask=0077\n"
	}
	return header + "[Unit]\nStartLimitIntervalSec=0\n\n[Service]\nExecStart=\n" +
		"ExecStart=/usr/sbin/opensm --config " + ConfPath(port) + " --guid %I --log_file /var/log/opensm.%I.log\n" +
		"Restart=always\nRestartSec=5\n" + quiet
}

// Ports is the list of /etc/default/opensm.
type Ports struct {
	All   bool // PORTS=ALL, the package's default: every port that ibstat lists
	GUIDs []ib.GUID
}

// Has reports whether a port is listed by its GUID.
func (p Ports) Has(port ib.GUID) bool { return slices.Contains(p.GUIDs, port) }

// ParseDefault reads the list. Without a PORTS line nothing is listed: the unit of Debian's 3.3.23 asks systemctl
// to start no unit then, which fails. Only ALL in capitals is all ports: of another word it makes an instance.
//
// No shell reads the file: it is an EnvironmentFile of systemd.exec(5). A line "export PORTS=ALL" sets nothing.
func ParseDefault(text string) (Ports, error) {
	value := "NONE"
	for line := range strings.Lines(text) {
		v, ok := portsOf(line)
		if !ok {
			continue
		}
		if n := len(v); n > 1 && (v[0] == '"' || v[0] == '\'') && v[n-1] == v[0] {
			v = v[1 : n-1]
		}
		if strings.ContainsAny(v, "\"'\\#") {
			return Ports{}, fmt.Errorf("%s: PORTS: %s cannot be taken for a list: it must stand on one line, and systemd takes "+
				"a comment only on a line of its own", DefaultPath, strings.TrimSpace(line))
		}
		value = strings.TrimSpace(v)
	}
	switch value {
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

// portsOf gives the value of a line that sets PORTS. Of such a line systemd drops the spaces around name and value.
func portsOf(line string) (value string, ok bool) {
	name, value, ok := strings.Cut(line, "=")
	return strings.TrimSpace(value), ok && strings.TrimSpace(name) == "PORTS"
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
		if _, ok := portsOf(line); ok {
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

// Stale is the exit status of ReplaceDefault if the list is not any more what was read.
const Stale = 17

// listLock keeps two processes from editing the list at one time.
const listLock = flock.Dir + "/opensm-ports"

// NewDefaultPath is where a list is put before it takes the place of the one that is there; id is drawn for each.
func NewDefaultPath(id string) string { return path.Dir(DefaultPath) + "/.opensm." + id }

// ReplaceDefault puts a new list into its place, as long as the present one is what was read: was is its text,
// and there is false if there was no file. It ends with status Stale if it is not, and with flock.Taken
// while another process does the same: then the new list stays.
func ReplaceDefault(newList, was string, there bool) shellcmd.Command {
	sum := ""
	if there {
		h := sha256.Sum256([]byte(was))
		sum = hex.EncodeToString(h[:])
	}
	argv := flock.Under(listLock, []string{"/bin/sh", "-c", replaceScript, "replace-port-list", DefaultPath,
		newList, sum})
	return shellcmd.New(argv[0], argv[1:]...).AsRoot().Changes()
}

// The rename is within the directory, so that the list is never half of one.
const replaceScript = `# $1 the list, $2 what takes its place, $3 the hash of what it is to be; empty for no file
trap 'rm -f -- "$2"' EXIT
sum=
[ ! -e "$1" ] || sum=$(sha256sum <"$1" | cut -d ' ' -f 1) || exit 1
[ "$sum" = "$3" ] || exit 17
mv -f -- "$2" "$1"
`

// LogPath is the log file of an instance.
func LogPath(port ib.GUID) string { return "/var/log/opensm." + port.String() + ".log" }

// Tail prints the last lines of the log file of an instance.
func Tail(port ib.GUID, lines int) shellcmd.Command {
	return shellcmd.New("tail", "-n", strconv.Itoa(lines), "--", LogPath(port)).AsRoot()
}

// KeyCache has the M_Key of each port as an opensm of the host saw it last. It counts before m_key of the file
// (opensm 3.3.23, req_determine_mkey), so that one which is older than a change keeps opensm out.
const KeyCache = "/var/cache/opensm/guid2mkey"

// BeforeKeys is at the end of the name that SetAsideLog gives to a log.
const BeforeKeys = ".before-keys"

// SetAsideLog has an instance write a new log file at its next start. The old one stays beside it, for root alone.
func SetAsideLog(port ib.GUID) shellcmd.Command {
	return shellcmd.Script("set-aside-log", setAsideScript, LogPath(port), BeforeKeys).AsRoot().Changes()
}

const setAsideScript = `# $1 path of the log, $2 what its new name ends with
[ -e "$1" ] || exit 0
chmod 0600 "$1" && mv -f -- "$1" "$1$2"
`
