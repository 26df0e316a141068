package opensm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// CheckGroups compares the MTU of broadcast groups with the ports of the fabric. The kernel shows the MTU
// of mlx4's ports only, so the others are asked. That is done where a group has more than opensm's
// default, which every port of today has, and it costs two round trips.
func CheckGroups(ctx context.Context, h host.Host, s *inventory.Snapshot, d Request,
	lab Lab) ([]finding.Finding, error) {
	large := slices.DeleteFunc(slices.Clone(d.Partitions),
		func(p opensm.Partition) bool { return !p.IPoIB || p.MTU <= defaultGroupMTU })
	card, p, ok := s.CardByPortGUID(d.PortGUID)
	// Without a link there is no fabric, and another finding says so.
	if len(large) == 0 || !ok || unready(s, d.PortGUID) != "" || p.Physical != "LinkUp" {
		return nil, nil
	}
	seen, err := fabric.Observe(ctx, h, fabric.Through{Device: card.RDMADevice, Port: p.Number}, true)
	var look *fabric.LookError
	var output *host.OutputError
	switch {
	case errors.As(err, &look), errors.As(err, &output):
		return []finding.Finding{mtuUnknown("The ports of the fabric could not be asked: " + err.Error())}, nil
	case err != nil:
		return nil, err
	}
	ports, silent := lab.unjudged(seen)
	var found []finding.Finding
	for _, group := range large {
		found = append(found, lintGroup(group, ports, d.PortGUID)...)
	}
	if len(silent) > 0 {
		found = append(found, mtuUnknown("These ports did not say their IB MTU: "+strings.Join(silent, ", ")+"."))
	}
	return found, nil
}

// unjudged are the ports of adapters on a fabric whose MTU the hosts do not show, and in words those that
// did not say it either.
func (lab Lab) unjudged(seen *fabric.Fabric) (ports map[string]MemberPort, silent []string) {
	ports = map[string]MemberPort{}
	for _, n := range seen.Nodes {
		for _, p := range n.Ports {
			guid := p.GUID.String()
			known, managed := lab.Ports[guid]
			if n.Switch || known.MTU != 0 {
				continue
			}
			if !managed {
				known.Where = p.Label()
			}
			if known.Rate, known.MTU = 0, p.MTUCap; known.MTU == 0 {
				silent = append(silent, fmt.Sprintf("%s (%s)", guid, known.Where))
				continue
			}
			ports[guid] = known
		}
	}
	return ports, silent
}

// mtuUnknown says that a group may have more than some port.
func mtuUnknown(why string) finding.Finding {
	f := finding.BroadcastGroupUnfit.Find("%s", why)
	f.Severity, f.Summary = finding.Warn, "Whether every member can join a broadcast group is not known"
	f.WayOut = "Read MtuCap of these ports with smpquery portinfo, LID and port number. If one has less than the group, " +
		"lower mtu of the partition."
	return f
}
