// Package sminfo builds the command lines of sminfo of infiniband-diags and
// reads what it prints about the master subnet manager.
//
// It must not run anything.
package sminfo

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// timeout bounds the tool: without a subnet manager it gives up after three
// tries of a second.
const timeout = 30 * time.Second

// Query asks which subnet manager a port's fabric has. Without device and port
// the tool takes the first port whose link is up, which may be another fabric.
func Query(device string, port int) shellcmd.Command {
	return shellcmd.New("sminfo", "-C", device, "-P", strconv.Itoa(port)).AsRoot().WithTimeout(timeout)
}

// State is what a subnet manager says that it is.
type State int

// The states of a subnet manager, as IBA numbers them.
const (
	NotActive   State = 0
	Discovering State = 1
	Standby     State = 2
	Master      State = 3
)

// Info is the answer of a subnet manager.
type Info struct {
	LID       uint16
	GUID      ib.GUID // of the port that it is bound to
	Activity  uint64  // counts; an SM whose count stands still hangs
	Priority  int
	State     State
	StateName string // "SMINFO_MASTER"
}

var infoLine = regexp.MustCompile(`(?m)^sminfo: sm lid (\d+) sm guid (0x[0-9a-f]+), activity count (\d+) priority (\d+) state (\d) (\S+)\s*$`)

// Parse reads the answer. The tool prints GUIDs without leading zeros.
func Parse(output string) (Info, error) {
	m := infoLine.FindStringSubmatch(output)
	if m == nil {
		line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
		return Info{}, fmt.Errorf("no answer of a subnet manager in %q", line)
	}
	lid, err1 := strconv.ParseUint(m[1], 10, 16)
	guid, err2 := ib.ParseGUID(m[2])
	activity, err3 := strconv.ParseUint(m[3], 10, 64)
	priority, err4 := strconv.Atoi(m[4])
	state, err5 := strconv.Atoi(m[5])
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return Info{}, fmt.Errorf("answer %q: %w", strings.TrimSpace(m[0]), err)
	}
	return Info{LID: uint16(lid), GUID: guid, Activity: activity, Priority: priority, State: State(state),
		StateName: m[6]}, nil
}

// NoManager reports whether sminfo proves that the fabric has no subnet manager. The
// port then has no SM LID, the question went along a route of length 0 to the port
// itself, and no subnet manager is there. If nobody answered at a LID ("dport (Lid
// 7)"), that is no proof: the subnet manager may hang, or the way to it may be bad.
func NoManager(output string) bool {
	return strings.Contains(output, "_do_madrpc failed; dport (DR path") &&
		strings.Contains(output, "iberror: failed: query")
}

// NoAnswer reports whether sminfo asked at the SM LID of the port and nobody
// answered there.
func NoAnswer(output string) bool {
	return strings.Contains(output, "_do_madrpc failed; dport (Lid") && strings.Contains(output, "iberror: failed: query")
}

// Failure says in one sentence why sminfo gave no answer, from its status and what
// it printed.
func Failure(status int, output string) string {
	var last string
	for line := range strings.Lines(output) {
		if t := strings.TrimSpace(line); t != "" {
			last = t
		}
	}
	switch {
	case status == 127:
		return "sminfo is not on the PATH of the host"
	case NoAnswer(output):
		return "nobody answers sminfo at the SM LID of the port"
	case last == "":
		return fmt.Sprintf("sminfo ended with status %d and said nothing", status)
	}
	return fmt.Sprintf("sminfo ended with status %d: %s", status, last)
}
