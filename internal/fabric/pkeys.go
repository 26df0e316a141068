package fabric

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ibnetdiscover"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/smpquery"
)

// pkeysTimeout bounds PKeyTables: a port that does not answer costs 3 seconds,
// and eight are asked at once.
const pkeysTimeout = 2 * time.Minute

// AdapterPort is a port of an adapter that a walk over the fabric met.
type AdapterPort struct {
	GUID   ib.GUID
	LID    int // 0 before a subnet manager gave it one
	Number int
	Name   string // description of its node, printable
}

// AdapterPorts walks the fabric behind a port for the adapters' ports.
func AdapterPorts(ctx context.Context, h Runner, t Through) ([]AdapterPort, error) {
	report, err := walk(ctx, h, t)
	if err != nil {
		return nil, err
	}
	var all []AdapterPort
	for _, n := range report.Nodes {
		for _, l := range n.Links {
			// Only the tables of adapters say who reaches whom.
			if n.Type == "Ca" {
				all = append(all, AdapterPort{l.PortGUID, l.LID, l.Port, Printable(n.Name)})
			}
		}
	}
	return all, nil
}

// LIDs walks the fabric behind a port for the LIDs that adapters' ports and switches have, by their GUIDs.
func LIDs(ctx context.Context, h Runner, t Through) (map[ib.GUID]int, error) {
	report, err := walk(ctx, h, t)
	all := map[ib.GUID]int{}
	for _, n := range report.Nodes {
		if n.Type != "Ca" {
			all[n.GUID] = n.LID
			continue
		}
		for _, l := range n.Links {
			all[l.PortGUID] = l.LID
		}
	}
	return all, err
}

// walk reads the nodes of a fabric and nothing else.
func walk(ctx context.Context, h Runner, t Through) (ibnetdiscover.Report, error) {
	res, err := h.Run(ctx, ibnetdiscover.Query(t.Device, t.Port))
	if err != nil {
		return ibnetdiscover.Report{}, explainWalk(h, t, err)
	}
	report, err := ibnetdiscover.Parse(string(res.Stdout))
	if err != nil {
		err = &host.OutputError{Host: h.Name(), Command: "ibnetdiscover", Problem: err.Error(), Output: string(res.Stdout)}
	}
	return report, err
}

// PKeyTables asks ports for their P_Key tables, all with one command. A port that
// does not answer is not in the result. The ports need LIDs.
func PKeyTables(ctx context.Context, h Runner, t Through, ports []AdapterPort) (map[ib.GUID][]uint16, error) {
	if len(ports) == 0 {
		return nil, nil
	}
	args := []string{t.Device, strconv.Itoa(t.Port)}
	asked := map[string]ib.GUID{}
	for _, p := range ports {
		args = append(args, "pkeys", strconv.Itoa(p.LID), strconv.Itoa(p.Number))
		asked[fmt.Sprintf("%d %d", p.LID, p.Number)] = p.GUID
	}
	res, err := h.Run(ctx, askPorts(args).WithTimeout(pkeysTimeout))
	if err != nil {
		return nil, err
	}
	tables, err := readTables(string(res.Stdout), asked)
	if err != nil {
		err = &host.OutputError{Host: h.Name(), Command: "smpquery", Problem: err.Error(), Output: string(res.Stdout)}
	}
	return tables, err
}

func readTables(output string, asked map[string]ib.GUID) (map[ib.GUID][]uint16, error) {
	tables := map[ib.GUID][]uint16{}
	err := answer.Read(output, func(i answer.Item) error {
		guid, known := asked[i.Name]
		// What is not a table is the complaint of a program that got no answer.
		if keys, bad := smpquery.ParsePKeys(i.Text); bad == nil && known {
			tables[guid] = keys
		}
		return nil
	})
	return tables, err
}

// explainWalk explains why ibnetdiscover gave nothing.
func explainWalk(h Runner, t Through, err error) error {
	var exit *host.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	return lookError(h.Name(), t, fmt.Sprintf("ibnetdiscover ended with status %d.", exit.Status),
		"Run it on the host: sudo ibnetdiscover.", exit.Stdout+exit.Stderr)
}
