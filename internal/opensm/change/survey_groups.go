package change

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// AskFabric asks a fabric about a change, through the port, and gives the findings. A fabric that cannot be
// asked now is asked again at apply.
func AskFabric(ctx context.Context, h host.Host, l *found.Look, d opensm.Request,
	lab found.Lab) ([]finding.Finding, error) {
	view, err := Survey(ctx, h, l)
	if err != nil {
		return nil, err
	}
	groups, err := surveyGroups(ctx, h, l, d.Partitions, lab)
	if err != nil {
		return nil, err
	}
	return append(judge.CheckGroups(d, groups), judge.CheckFabric(d, view, lab)...), nil
}

// askFabric refuses because of the fabric, just before the start. It installs
// infiniband-diags for the question, which opensm would need later anyway, and returns the look after that.
func askFabric(ctx context.Context, h *hosts.Host, l *found.Look, d opensm.Request, o Options) (*found.Look, error) {
	if !l.Snapshot.Commands["sminfo"] {
		err := install(ctx, h, l, platform.FeatureDiagnostics)
		if err == nil {
			l, err = renew(ctx, h, l)
		}
		if err != nil {
			return nil, err
		}
	}
	all, err := AskFabric(ctx, h, l, d, o.Lab)
	if err != nil {
		return nil, err
	}
	return l, refuse(l, all)
}

// surveyGroups asks for the ports that are to join broadcast groups of a large MTU. The kernel shows the MTU
// of mlx4's ports only, so the others are asked. That is done where a group has more than opensm's
// default, which every port of today has, and it costs two round trips.
func surveyGroups(ctx context.Context, h host.Host, l *found.Look, all []opensm.Partition,
	lab found.Lab) (found.Groups, error) {
	large := slices.ContainsFunc(all, func(p opensm.Partition) bool {
		return p.IPoIB && p.MTU > opensm.DefaultGroupMTU
	})
	// Without a link there is no fabric, and another finding says so.
	if !large || l.Unready() != "" || l.Physical != "LinkUp" {
		return found.Groups{}, nil
	}
	seen, err := fabric.Observe(ctx, h, fabric.Through{Device: l.Device, Port: l.Number}, true)
	if isUnanswered(err) {
		return found.Groups{Why: "The ports of the fabric could not be asked: " + err.Error()}, nil
	}
	if err != nil {
		return found.Groups{}, err
	}
	return findUnjudged(seen, lab), nil
}

// isUnanswered reports whether an error is that of a fabric that could not be walked, and not of the host.
func isUnanswered(err error) bool {
	var look *fabric.LookError
	var output *host.OutputError
	return errors.As(err, &look) || errors.As(err, &output)
}

// findUnjudged are the ports of adapters on a fabric whose MTU the hosts do not show, and in words those that
// did not say it either.
func findUnjudged(seen *fabric.Fabric, lab found.Lab) found.Groups {
	g := found.Groups{Ports: map[string]found.MemberPort{}}
	for _, n := range seen.Nodes {
		for _, p := range n.Ports {
			guid := p.GUID.String()
			known, managed := lab.Ports[guid]
			// A switch port forwards what it can; its own MTU is no limit of a group that it does not join.
			if n.Switch || known.MTU != 0 {
				continue
			}
			if !managed {
				known.Where = p.Label()
			}
			// MtuCap is what the port can, NeighborMTU only what its present link has.
			if known.Rate, known.MTU = 0, p.MTUCap; known.MTU == 0 {
				g.Silent = append(g.Silent, fmt.Sprintf("%s (%s)", guid, known.Where))
				continue
			}
			g.Ports[guid] = known
		}
	}
	return g
}
