// Package ibnodes builds the command lines of ibhosts, ibswitches and ibnodes of
// infiniband-diags and reads the lists of nodes that they print.
//
// It must not run anything.
package ibnodes

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

const timeout = 2 * time.Minute

// Hosts lists the adapters of the fabric of a port of this host.
func Hosts(device string, port int) shellcmd.Command { return list("ibhosts", device, port) }

// Query lists adapters and switches. The program is a script that walks the
// fabric twice.
func Query(device string, port int) shellcmd.Command { return list("ibnodes", device, port) }

func list(program, device string, port int) shellcmd.Command {
	return shellcmd.New(program, "-C", device, "-P", strconv.Itoa(port)).AsRoot().WithTimeout(timeout)
}

// Node is one line of a list.
type Node struct {
	Type  string // "Ca", "Switch"
	GUID  ib.GUID
	Ports int
	Name  string
	LID   int // of a switch
}

var line = regexp.MustCompile(`^(Ca|Switch|Rt)\s*: (0x[0-9a-f]{16}) ports (\d+) "(.*?)"(?: (?:base|enhanced) port 0 lid (\d+) lmc \d+)?\s*$`)

// Parse reads a list. Warnings of the MAD library are passed over; any other
// line that is not understood is a *tool.LineError. An empty list is none: who
// asks is on the fabric.
func Parse(output string) ([]Node, error) {
	var all []Node
	for n, text := range tool.Lines(output) {
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "ibwarn: ") {
			continue
		}
		m := line.FindStringSubmatch(text)
		if m == nil {
			return nil, tool.Errorf(n, text, "not a node")
		}
		node := Node{Type: m[1], GUID: ib.MustParseGUID(m[2]), Name: m[4]}
		var err error
		if node.Ports, err = strconv.Atoi(m[3]); err != nil {
			return nil, tool.Errorf(n, text, "%v", err)
		}
		if m[5] != "" {
			if node.LID, err = strconv.Atoi(m[5]); err != nil {
				return nil, tool.Errorf(n, text, "%v", err)
			}
		}
		all = append(all, node)
	}
	if len(all) == 0 {
		return nil, tool.Errorf(0, "", "no node in the list: the output is cut, or the fabric was not walked")
	}
	return all, nil
}
