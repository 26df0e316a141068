package opensm

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
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

// comparePartitions names the first of the others on the same fabric whose partitions differ.
func (o object) comparePartitions(ctx context.Context, s *step, p *judge.PlanFacts) {
	own, mine := ref(s.Ask), ops.PartitionText(s.Ask.Partitions)
	others := o.Planned.OtherPartitions(own, mine)
	for _, port := range slices.SortedFunc(maps.Keys(others), comparePorts) {
		if others[port] != mine && !o.Planned.SMsApart(own, port) && !o.OnTwoFabrics(ctx, own, port) {
			p.OtherPartitions = &ops.Request{Host: port.Host, PortGUID: port.GUID}
			return
		}
	}
}

func comparePorts(a, b attribute.PortRef) int {
	return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.GUID, b.GUID))
}
