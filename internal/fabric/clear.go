package fabric

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

//go:embed clear.sh
var clearScript string

// Counting are the ports whose error counters are not all zero. ends name them as those of an expected cable do; an
// end without a port is all ports of its node, and no ends are all ports of the fabric.
func (f *Fabric) Counting(ends []string) (all []*Port, err error) {
	number := map[*Node][]int{}
	for _, end := range ends {
		named := f.nodesNamed(end)
		_, port := split(end)
		// Before anything is cleared: a counter that was set to zero by mistake is lost.
		if len(named) != 1 {
			return nil, fmt.Errorf("%s names %d nodes of the fabric. It has %s", end, len(named), f.labels())
		}
		n := named[0]
		if port > 0 && !slices.ContainsFunc(n.Ports, func(p *Port) bool { return p.Number == port }) {
			return nil, fmt.Errorf("%s has no port %d on this fabric", n.Label(), port)
		}
		number[n] = append(number[n], port)
	}
	for _, n := range f.Nodes {
		asked := number[n]
		for _, p := range n.Ports {
			if len(p.Counters) > 0 && (len(ends) == 0 || slices.Contains(asked, 0) || slices.Contains(asked, p.Number)) {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// labels names the nodes.
func (f *Fabric) labels() string {
	var all []string
	for _, n := range f.Nodes {
		all = append(all, n.Label())
	}
	return strings.Join(all, ", ")
}

// Describe puts the error counters of a port into one line.
func (p *Port) Describe() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(p.Counters)) {
		all = append(all, fmt.Sprintf("%s %d", name, p.Counters[name]))
	}
	return strings.Join(all, ", ")
}

// Clear sets the error counters of ports to zero, all with one command. Counters of data stay. It names the ports
// that did not take it, with what the program said.
func Clear(ctx context.Context, h Runner, t Through, ports []*Port) (failed []string, err error) {
	args, byWay := []string{t.Device, strconv.Itoa(t.Port)}, map[string]*Port{}
	for _, p := range ports {
		lid := p.LID
		// A switch answers at the LID of its port 0 for all its ports.
		if p.Node.Switch {
			lid = p.Node.LID
		}
		way := []string{strconv.Itoa(lid), strconv.Itoa(p.Number)}
		args, byWay[strings.Join(way, " ")] = append(args, way...), p
	}
	res, err := h.Run(ctx, shellcmd.Script("fabric-clear", answer.Functions+clearScript,
		args...).AsRoot().Changes().WithTimeout(timeout))
	if err != nil {
		return nil, err
	}
	err = answer.Read(string(res.Stdout), func(i answer.Item) error {
		p := byWay[i.Name]
		// What is left over at the end had no answer at all.
		if delete(byWay, i.Name); p != nil && i.Status != 0 {
			failed = append(failed, fmt.Sprintf("%s: perfquery ended with status %d: %s", p.Label(), i.Status,
				shorten(strings.Join(strings.Fields(Printable(i.Text)), " "))))
		}
		return nil
	})
	if err == nil && len(byWay) > 0 {
		err = fmt.Errorf("%d ports have no answer", len(byWay))
	}
	if err != nil {
		err = &host.OutputError{Host: h.Name(), Command: "fabric-clear", Problem: err.Error(), Output: string(res.Stdout)}
	}
	return failed, err
}
