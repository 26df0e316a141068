// Package saquery builds the command lines of saquery of infiniband-diags and
// reads the records of the subnet administrator that it prints.
//
// It must not run anything.
package saquery

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// timeout bounds a query. Without a subnet manager the tool ends by itself, with status 255 and "No
// SM/SA found on port".
const timeout = 30 * time.Second

func query(device string, port int, args ...string) shellcmd.Command {
	return shellcmd.New("saquery",
		append([]string{"-C", device, "-P", strconv.Itoa(port)}, args...)...).AsRoot().WithTimeout(timeout)
}

// Managers asks for the subnet managers of a port's fabric.
// opensm gives the records of those that it knows, standbys among them.
func Managers(device string, port int) shellcmd.Command { return query(device, port, "SMIR") }

// Groups asks for the multicast groups of a port's fabric.
func Groups(device string, port int) shellcmd.Command { return query(device, port, "-g") }

// Manager is the record of one subnet manager.
type Manager struct {
	LID      uint16
	GUID     ib.GUID // of the port that it is bound to
	Priority int
	State    int // 1 discovering, 2 standby, 3 master
}

// Group is the record of one multicast group.
type Group struct {
	MGID string // "ff12:401b:8001::ffff:ffff"
	MTU  int    // bytes; 0 if the code is not known
	Rate int    // code
	PKey uint16
}

// Broadcast reports whether it is the IPv4 broadcast group of IPoIB (RFC 4391).
func (g Group) Broadcast() bool {
	return strings.HasPrefix(g.MGID, "ff12:401b:") && strings.HasSuffix(g.MGID, "::ffff:ffff")
}

// fieldLine is "LID...................1": a name, dots, and the value.
var fieldLine = regexp.MustCompile(`^([A-Za-z_]+)\.{2,}(.*)$`)

// records splits an output into the records that begin with a line of words.
func records(output, begin string) ([]map[string]string, error) {
	var all []map[string]string
	for n, line := range tool.Lines(output) {
		text := strings.TrimSpace(line)
		if text == begin {
			all = append(all, map[string]string{})
			continue
		}
		m := fieldLine.FindStringSubmatch(text)
		// Only the heading of a record and its fields count; the tool may warn between them.
		if m == nil {
			continue
		}
		if len(all) == 0 {
			return nil, tool.Errorf(n, line, "a field before the first %q", begin)
		}
		all[len(all)-1][m[1]] = m[2]
	}
	return all, nil
}

// ParseManagers reads the answer of Managers.
func ParseManagers(output string) ([]Manager, error) {
	all, err := records(output, "SMInfoRecord dump:")
	if err != nil {
		return nil, err
	}
	managers := make([]Manager, 0, len(all))
	for _, r := range all {
		var m Manager
		numbers, err := fields(r, 16, "LID", "Priority", "SMState")
		if err != nil {
			return nil, err
		}
		m.LID, m.Priority, m.State = uint16(numbers[0]), int(numbers[1]), int(numbers[2])
		if m.GUID, err = ib.ParseGUID(r["GUID"]); err != nil {
			return nil, tool.Errorf(0, r["GUID"], "GUID of an SMInfoRecord: %v", err)
		}
		managers = append(managers, m)
	}
	return managers, nil
}

// mtus are the codes of MTUs in bytes (InfiniBand Architecture, MCMemberRecord).
var mtus = []int{0, 256, 512, 1024, 2048, 4096}

// ParseGroups reads the answer of Groups, sorted by address.
// The subnet administrator gives them in no order of its own.
func ParseGroups(output string) ([]Group, error) {
	all, err := records(output, "MCMemberRecord group dump:")
	if err != nil {
		return nil, err
	}
	groups := make([]Group, 0, len(all))
	for _, r := range all {
		numbers, err := fields(r, 16, "Mtu", "Rate", "pkey")
		if err != nil {
			return nil, err
		}
		// Two bits of selector stand before the code: 0x84 is "exactly 2048".
		g := Group{MGID: r["MGID"], Rate: int(numbers[1] & 0x3f), PKey: uint16(numbers[2])}
		if code := numbers[0] & 0x3f; int(code) < len(mtus) {
			g.MTU = mtus[code]
		}
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b Group) int { return strings.Compare(a.MGID, b.MGID) })
	return groups, nil
}

func fields(r map[string]string, bits int, names ...string) ([]uint64, error) {
	values := make([]uint64, len(names))
	for i, name := range names {
		n, err := strconv.ParseUint(r[name], 0, bits)
		if err != nil {
			return nil, tool.Errorf(0, r[name], "field %s of a record", name)
		}
		values[i] = n
	}
	return values, nil
}
