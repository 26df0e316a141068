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
// the tool takes the first port whose link is up, which may be another fabric. With
// -e it prints the status of an answer that is an error: see NoManager.
func Query(device string, port int) shellcmd.Command {
	return shellcmd.New("sminfo", "-e", "-C", device, "-P", strconv.Itoa(port)).AsRoot().WithTimeout(timeout)
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

// failedQuery is what each sminfo says that got no answer, or one that is an error.
const failedQuery = "iberror: failed: query"

// NoManager reports whether sminfo proves that the fabric has no subnet manager.
// Either the port has no SM LID, the question went along a route of length 0 to the
// port itself, and no subnet manager is there. Or the port at the SM LID answered that
// it has none. If nobody answered at a LID ("dport (Lid 7)"), that is no proof: the
// subnet manager may hang, or the way to it may be bad.
func NoManager(output string) bool {
	return strings.Contains(output, "_do_madrpc failed; dport (DR path") && strings.Contains(output, failedQuery) ||
		NoneAtLID(output)
}

// unsupported is the status of IBA for a method that is not supported with an attribute. A
// kernel answers so when no program has registered for the question (Linux, mad.c:
// generate_unmatched_resp, since 3.4). A subnet manager that hangs is still registered.
const unsupported = 0xc

// NoneAtLID reports whether the port at the SM LID answered that it has no subnet manager.
func NoneAtLID(output string) bool {
	status, ok := errorStatus(output)
	return ok && status == unsupported
}

// statusLine is what libibmad prints with -e of an answer that is an error.
var statusLine = regexp.MustCompile(`MAD completed with error status (0x[0-9a-f]+); dport \(Lid \d+\)`)

// errorStatus reads the status of an answer that came from a LID and is an error.
func errorStatus(output string) (status uint64, ok bool) {
	m := statusLine.FindStringSubmatch(output)
	if m == nil || !strings.Contains(output, failedQuery) {
		return 0, false
	}
	status, err := strconv.ParseUint(m[1], 0, 16)
	return status, err == nil
}

// NoAnswer reports whether sminfo asked at the SM LID of the port and nobody
// answered there.
func NoAnswer(output string) bool {
	return strings.Contains(output, "_do_madrpc failed; dport (Lid") && strings.Contains(output, failedQuery)
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
	refusal, refused := errorStatus(output)
	switch {
	case refused:
		return fmt.Sprintf("the port at the SM LID answers sminfo with the error %#x", refusal)
	case status == 127:
		return "sminfo is not on the PATH of the host"
	case NoAnswer(output):
		return "nobody answers sminfo at the SM LID of the port"
	case last == "":
		return fmt.Sprintf("sminfo ended with status %d and said nothing", status)
	}
	return fmt.Sprintf("sminfo ended with status %d: %s", status, last)
}
