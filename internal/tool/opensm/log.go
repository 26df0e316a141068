package opensm

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Log is what a log of opensm says: its log file, its standard output, or the journal
// of its unit. The three differ in what precedes the message.
type Log struct {
	Versions   []string // "3.3.23", one for each start
	States     []string // "DISCOVERING", "STANDBY", "MASTER", in order
	SubnetUp   bool
	PortDown   bool // "SM port is down": it waits for a link
	Exiting    bool
	Duplicated bool      // two nodes or ports of the fabric have one GUID
	Duplicate  []ib.GUID // which, as far as it says
	ZeroGUID   bool      // a node without a GUID was met and left out
	BackToBack bool      // a port is linked to a port with its own GUID: it exits
	CannotBind bool      // no such port, or another opensm holds it
	NoClass    string    // "129": the kernel refused a management class
	NoUMAD     string    // the line that says that a device cannot be opened
	Cache      string    // "Guid-to-Lid": the file of /var/cache/opensm that cannot be read
	Partitions string    // the complaint about the partition file, which is not in force then
	Group      string    // the line about a multicast group that cannot be made
	Options    []string  // lines of the file of options that were not taken
	OtherKey   bool      // another subnet manager has another sm_key, and each ignores the other
	UnknownKey bool      // a port hides its M_Key from it: that is another one than it has
	Timeouts   int       // queries that nobody answered
	Errors     []string  // the last messages with "ERR", each number once
}

var (
	logState    = regexp.MustCompile(`Entering (\w+) state`)
	logVersion  = regexp.MustCompile(`OpenSM (\d+\.\d+\.\d+\S*)`)
	logGUID     = regexp.MustCompile(`0x[0-9a-fA-F]{1,16}\b`)
	logNodeGUID = regexp.MustCompile(`(?i)Node (0x[0-9a-f]{1,16}) port \d+ is reachable from`)
	logClass    = regexp.MustCompile(`Unable to register class (\d+)`)
	logCache    = regexp.MustCompile(`FATAL: Error restoring ([A-Za-z-]+)\b.*`)
	logError    = regexp.MustCompile(`ERR ([0-9A-F]{4}):`)
)

// ParseLog reads a log. Lines that are not known are left out.
func ParseLog(text string) Log {
	var l Log
	seen := map[string]bool{}
	// Without keys before anything is kept: lines of it get into messages and into the state.
	for line := range strings.Lines(LogWithoutKeys(text)) {
		line = strings.TrimSpace(line)
		if m := logVersion.FindStringSubmatch(line); m != nil {
			l.Versions = append(l.Versions, m[1])
		}
		if m := logState.FindStringSubmatch(line); m != nil {
			l.States = append(l.States, m[1])
		}
		// Each number once: a duplicated GUID alone makes hundreds of ERR 0D01 in a second.
		if m := logError.FindStringSubmatch(line); m != nil && !seen[m[1]] {
			seen[m[1]] = true
			l.Errors = append(l.Errors, line)
		}
		l.progress(line)
		l.start(line)
		l.fabric(line)
		l.files(line)
	}
	return l
}

func (l *Log) progress(line string) {
	l.SubnetUp = l.SubnetUp || strings.Contains(line, "SUBNET UP")
	l.PortDown = l.PortDown || strings.Contains(line, "SM port is down")
	l.Exiting = l.Exiting || strings.Contains(line, "Exiting SM")
	if strings.Contains(line, "ERR 3113") && strings.Contains(line, "TIMEOUT") || strings.Contains(line, "ERR 5411") {
		l.Timeouts++
	}
}

// start are the failures that keep opensm from starting. It ends with 0, or is started
// again and again.
func (l *Log) start(line string) {
	l.CannotBind = l.CannotBind || strings.Contains(line, "osm_opensm_bind (0x") ||
		strings.Contains(line, "Perhaps another instance of OpenSM is already running")
	if m := logClass.FindStringSubmatch(line); m != nil {
		l.NoClass = m[1]
	}
	for _, complaint := range []string{"can't open UMAD port", "is ib_umad module loaded", "ERR 5424: Unable to open port",
		"ERR 5415: Error opening UMAD"} {
		if l.NoUMAD == "" && strings.Contains(line, complaint) {
			l.NoUMAD = line
		}
	}
	if m := logCache.FindStringSubmatch(line); m != nil {
		l.Cache = m[1]
	}
}

// fabric are the failures that other nodes cause.
func (l *Log) fabric(line string) {
	if m := logNodeGUID.FindStringSubmatch(line); m != nil {
		l.duplicate(m[1])
	}
	switch {
	case strings.Contains(line, "ERR 0D15: Duplicate Port GUID"):
		_, text, _ := strings.Cut(line, "Duplicate Port GUID")
		l.duplicate(logGUID.FindString(text))
	case strings.Contains(line, "Duplicate GUID found by link from a port to itself"):
		l.BackToBack = true
	}
	// 0D01 itself does not say which; the next line does.
	l.Duplicated = l.Duplicated || strings.Contains(line, "ERR 0D01") || l.BackToBack || len(l.Duplicate) > 0
	l.UnknownKey = l.UnknownKey || strings.Contains(line, "has unknown M_Key, protection level")
	l.OtherKey = l.OtherKey || strings.Contains(line, "with non-matching sm_key")
	l.ZeroGUID = l.ZeroGUID || strings.Contains(line, "Got Zero Node GUID") || strings.Contains(line, "Got Zero Port GUID")
}

func (l *Log) duplicate(text string) {
	if g, err := ib.ParseGUID(text); err == nil && !slices.Contains(l.Duplicate, g) {
		l.Duplicate = append(l.Duplicate, g)
	}
}

// files are complaints about the files of opensm. It goes on without them.
func (l *Log) files(line string) {
	if strings.Contains(line, "PARSE ERROR") || strings.Contains(line, "Partition configuration in error") &&
		l.Partitions == "" {
		l.Partitions = line
	}
	if l.Group == "" && (strings.Contains(line, "ERR 1B26") || strings.Contains(line, "Failed to create MC group")) {
		l.Group = line
	}
	for _, complaint := range []string{"Unrecognized token", "Parsing error in field", "Invalid Cached Option Value"} {
		if strings.Contains(line, complaint) {
			l.Options = append(l.Options, line)
		}
	}
}
