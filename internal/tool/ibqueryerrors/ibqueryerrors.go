// Package ibqueryerrors builds the command line of ibqueryerrors of
// infiniband-diags, which reads the error counters of every port of the fabric,
// and reads its report.
//
// It must not run anything.
package ibqueryerrors

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Port holds the counters of one port that are not zero.
type Port struct {
	GUID     ib.GUID // of the port; of a switch, the node's
	Number   int
	Counters map[string]uint64 // by the tool's names: "SymbolErrorCounter"
}

var (
	portLine = regexp.MustCompile(`^\s+GUID (0x[0-9a-f]+) port (\d+|ALL):(.*)$`)
	counter  = regexp.MustCompile(`\[(\w+) == (\d+)(?: \([^)]*\))?\]`)
)

// Parse reads the report. The summary is printed last; without it the report is cut.
// Headings and the sums of whole switches are passed over.
func Parse(output string) ([]Port, error) {
	var all []Port
	complete := false
	for n, line := range tool.Lines(output) {
		complete = complete || strings.HasPrefix(line, "## Summary: ")
		m := portLine.FindStringSubmatch(line)
		if m == nil || m[2] == "ALL" {
			continue
		}
		guid, err := ib.ParseGUID(m[1])
		if err != nil {
			return nil, tool.Errorf(n, line, "%v", err)
		}
		p := Port{GUID: guid, Counters: map[string]uint64{}}
		if p.Number, err = strconv.Atoi(m[2]); err != nil {
			return nil, tool.Errorf(n, line, "%v", err)
		}
		for _, c := range counter.FindAllStringSubmatch(m[3], -1) {
			if p.Counters[c[1]], err = strconv.ParseUint(c[2], 10, 64); err != nil {
				return nil, tool.Errorf(n, line, "%v", err)
			}
		}
		if len(p.Counters) == 0 {
			return nil, tool.Errorf(n, line, "a port without counters")
		}
		all = append(all, p)
	}
	if !complete {
		return nil, tool.Errorf(0, "",
			"no summary in the report of ibqueryerrors: the output is cut, or the counters were not read")
	}
	return all, nil
}
