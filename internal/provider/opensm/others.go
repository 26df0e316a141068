package opensm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
)

const (
	// comparedRivals is how many subnet managers of equal priority are told apart by what their ports show. A
	// configuration with more is one of many fabrics, and is to name them.
	comparedRivals = 8
	// namedRivals is how many of them a warning names.
	namedRivals = 3
)

// compareOthers adds what the subnet managers say that were planned before this one. Those of other fabrics
// do not count, as far as the configuration or what is seen tells fabrics apart.
func (o object) compareOthers(ctx context.Context, s *step, p *judge.PlanFacts) {
	own := ref(s.Ask)
	rivals, total := o.Planned.RivalSMs(own, comparedRivals)
	if total == len(rivals) {
		rivals = slices.DeleteFunc(rivals, func(r attribute.PortRef) bool { return o.OnTwoFabrics(ctx, own, r) })
		total = len(rivals)
	}
	for _, other := range rivals[:min(len(rivals), namedRivals)] {
		p.Rivals = append(p.Rivals, ops.Request{Host: other.Host, PortGUID: other.GUID, Priority: s.Ask.Priority})
	}
	p.MoreRivals = total - len(p.Rivals)
	o.comparePartitions(ctx, s, p)
}

// comparePartitions compares the partitions with those of the others. What is on two fabrics is said with a
// change only: it may be meant.
func (o object) comparePartitions(ctx context.Context, s *step, p *judge.PlanFacts) {
	own, mine := ref(s.Ask), partitionsOf(s.Ask)
	others := o.Planned.OtherPartitions(own, mine)
	if s.ToDo {
		p.Misplaced = o.misplaced(own, mine)
	}
	for _, port := range slices.SortedFunc(maps.Keys(others), comparePorts) {
		other := others[port]
		differs := p.OtherPartitions == nil && other.Text != mine.Text
		var twice []string
		if s.ToDo && p.OtherFabric == nil {
			twice = append(common(mine.PKeys, other.PKeys), common(mine.Ports, other.Ports)...)
		}
		if differs || len(twice) > 0 {
			o.compareWith(ctx, own, port, differs, twice, p)
		}
	}
}

// compareWith takes what differs as a finding on one fabric, and what both have as one on two.
func (o object) compareWith(ctx context.Context, own, port attribute.PortRef, differs bool, twice []string,
	p *judge.PlanFacts) {
	request := &ops.Request{Host: port.Host, PortGUID: port.GUID}
	switch apart := o.Planned.SMsApart(own, port) || o.OnTwoFabrics(ctx, own, port); {
	case !apart && differs:
		p.OtherPartitions = request
	case apart && len(twice) > 0:
		p.OtherFabric, p.OnTwoFabrics = request, twice
	}
}

// misplaced are the members that the configuration puts on another fabric than the subnet manager.
func (o object) misplaced(own attribute.PortRef, mine planned.Partitions) (all []string) {
	here := o.Fabrics.Of(own)
	for guid, fabric := range o.Fabrics.Ports {
		if text := guid.String(); here != "" && fabric != here && slices.Contains(mine.Ports, text) {
			all = append(all, fmt.Sprintf("%s (fabric %s)", text, fabric))
		}
	}
	slices.Sort(all)
	return all
}

func partitionsOf(d ops.Request) planned.Partitions {
	p := planned.Partitions{Text: ops.PartitionText(d.Partitions)}
	for _, part := range d.Partitions {
		if part.PKey != ops.DefaultPKey {
			p.PKeys = append(p.PKeys, fmt.Sprintf("0x%04x", part.PKey|0x8000))
		}
		for _, m := range part.Members {
			if strings.HasPrefix(m.Port, "0x") && !slices.Contains(p.Ports, m.Port) {
				p.Ports = append(p.Ports, m.Port)
			}
		}
	}
	return p
}

func common(a, b []string) (both []string) {
	for _, text := range a {
		if slices.Contains(b, text) {
			both = append(both, text)
		}
	}
	return both
}

func comparePorts(a, b attribute.PortRef) int {
	return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.GUID, b.GUID))
}
