// Package nodenames is the resource infiniband_node_names: the names of node_name_map in the files of a host that
// infiniband-diags and opensm read.
//
// It must not run commands; the operations of internal/nodenames do.
package nodenames

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/nodenames"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

const standardTimeout = 5 * time.Minute

var kind = managed.Kind{
	Name: "infiniband_node_names", Thing: "node names of host", Change: "write", Remove: "remove",
	Removed: "node names of host", HostIn: "host", By: session.HostNamed(), Timeout: standardTimeout,
	Live: []string{"files"},
}

type step = managed.Step[model, ops.Request, ops.Look]

// object is what only node names do.
type object struct{ *session.Resource }

// New returns the resource.
func New() resource.Resource {
	return managed.New(kind, func(r *session.Resource) managed.Object[model, ops.Request, ops.Look, ops.Seen] {
		return object{r}
	})
}

func (o object) Request(_ context.Context, m, _ *model) (ops.Request, error) { return m.request(), nil }

func (o object) Place(q ops.Request) managed.Place { return managed.Place{Host: q.Host, ID: q.Host} }

func (o object) Key(q ops.Request) string { return o.HostKey(q.Host) + "/" }

func (o object) Ready(_ context.Context, s *step) bool {
	host := s.Plan.Host
	switch {
	case !o.HostReady(host) || o.NamesOpen:
		diagnostic.AddPostponed(s.Diags, "node names of host "+host.ValueString(),
			"the host or a name comes from something that does not exist yet")
	case len(o.NodeNames) == 0:
		s.Diags.AddAttributeError(path.Root("host"), "Unable to plan node names of host "+host.ValueString(),
			"node_name_map of the provider block has no names. Write some there, or take this resource out.")
	default:
		s.Plan.Names = stringMap(o.NodeNames)
		return true
	}
	return false
}

func (o object) Find(s *inventory.Snapshot, _ *ops.Request) ops.Look { return ops.Find(s) }

// Look refuses systems that cannot have the files.
func (o object) Look(_ context.Context, _ *hosts.Host, _ ops.Request, l ops.Look) (ops.Look, error) {
	return l, l.Err()
}

func (o object) Presence(_ ops.Request, l ops.Look, _ *diag.Diagnostics) session.Presence {
	if l.Names == nil {
		return session.Absent
	}
	return session.Present
}

func (o object) Differences(q ops.Request, l ops.Look) []string { return l.Differences(q) }

func (o object) ToDo(q ops.Request, l ops.Look, _ bool) bool { return len(l.Differences(q)) > 0 }

func (o object) Plan(_ context.Context, s *step) (held bool) {
	s.Plan.ID = s.Plan.Host
	return s.State.Host.Equal(s.Plan.Host) && s.State.Names.Equal(s.Plan.Names)
}

func (o object) Check(_ context.Context, s *step) []finding.Finding { return ops.Check(s.Found) }

func (o object) Foresee(_ context.Context, s *step, first ops.Look, kept ops.Seen) {
	if !s.Exists {
		s.Plan.Files = textList(first.Paths)
	} else if len(kept.Paths) > 0 {
		s.Plan.Files = textList(kept.Paths)
	}
}

func (o object) Remember(_ *model, _ ops.Request, l ops.Look, _ ops.Seen) (ops.Seen, bool) {
	return l.Seen(), true
}

func (o object) Since(s *step, before ops.Seen) []finding.Finding {
	return ops.CheckSeen(s.Found, s.Ask, before)
}

func (o object) Apply(ctx context.Context, s *step) (r ops.Result, stays string, err error) {
	r, err = ops.Apply(ctx, s.Host, s.Found, s.Ask)
	if r.Changed {
		stays = "What was written of the names"
	}
	return r, stays, err
}

func (o object) Fill(_ context.Context, m *model, q ops.Request, l ops.Look, _ ops.Seen) diag.Diagnostics {
	m.ID, m.Host = types.StringValue(q.Host), types.StringValue(q.Host)
	m.Names, m.Files = stringMap(l.Names), textList(l.Paths)
	return nil
}

// WarnRemoval has nothing to say: the files go, and nothing else is touched.
func (o object) WarnRemoval(context.Context, *model, *diag.Diagnostics) {}

func (o object) Ours(_ ops.Request, l ops.Look) bool { return l.Names != nil }

func (o object) CheckRemoval(ops.Request, ops.Look) []finding.Finding { return nil }

func (o object) SinceRemoval(q ops.Request, l ops.Look, kept *ops.Seen) []finding.Finding {
	if kept == nil {
		return nil
	}
	return ops.CheckSeen(l, ops.Request{Host: q.Host}, *kept)
}

func (o object) Remove(ctx context.Context, h *hosts.Host, _ ops.Request, l ops.Look,
	_ *model) (title string, notes []string, err error) {
	r, err := ops.Remove(ctx, h, l)
	return "Node names of host", append(r.Warnings, r.Left...), err
}

func (o object) Import(_ context.Context, id string, _ *diag.Diagnostics) (map[string]any, error) {
	return map[string]any{"id": id, "host": id}, nil
}

func textList(all []string) types.List {
	values := make([]attr.Value, len(all))
	for i, text := range all {
		values[i] = types.StringValue(text)
	}
	return types.ListValueMust(types.StringType, values)
}
