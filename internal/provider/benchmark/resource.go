// Package benchmark is the resource infiniband_benchmark: a measurement between
// two hosts that is kept in state.
//
// It must not measure in a plan or a refresh; the operations of internal/benchmark
// run the programs.
package benchmark

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/benchmark"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

const standardTimeout = 15 * time.Minute

var (
	_ resource.ResourceWithConfigure      = &Resource{}
	_ resource.ResourceWithModifyPlan     = &Resource{}
	_ resource.ResourceWithValidateConfig = &Resource{}
)

// Resource is infiniband_benchmark.
type Resource struct{ session.Resource }

// New returns the resource.
func New() resource.Resource { return &Resource{} }

// Metadata implements resource.Resource.
func (r *Resource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_benchmark"
}

// ValidateConfig refuses what has no meaning.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest,
	resp *resource.ValidateConfigResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() {
		m.validate(&resp.Diagnostics)
	}
}

// Create measures.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.apply(ctx, attribute.Create, req.Plan, &resp.State, &resp.Diagnostics)
}

// Update measures again, unless only on_miss has changed.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if plan.same(state) {
		plan.keep(state)
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
		return
	}
	r.apply(ctx, attribute.Update, req.Plan, &resp.State, &resp.Diagnostics)
}

func (r *Resource) apply(ctx context.Context, op attribute.Operation, from tfsdk.Plan, to *tfsdk.State,
	diags *diag.Diagnostics) {
	var plan model
	diags.Append(from.Get(ctx, &plan)...)
	what := "measure benchmark " + plan.identity()
	d, _, err := plan.request()
	if err != nil || diags.HasError() {
		diagnostic.AddError(diags, what, err)
		return
	}
	ctx, cancel := op.Limit(ctx, plan.Timeouts, standardTimeout).Start(ctx)
	defer cancel()
	result, missed, ok := measure(ctx, r.Data, plan.asked, d,
		func(text string) { tflog.Info(ctx, diagnostic.Plain(text)) }, diags)
	if !ok {
		return
	}
	plan.observe(d, result, missed)
	diags.Append(to.Set(ctx, &plan)...)
}

// measure runs one benchmark; ok is false if it failed, or if its result is an error.
func measure(ctx context.Context, data *session.Data, m asked, d ops.Request, progress func(string),
	diags *diag.Diagnostics) (result ops.Result, missed, ok bool) {
	what := "measure benchmark " + m.identity()
	both := []string{m.Server.ValueString(), m.Client.ValueString()}
	err := data.WithHosts(ctx, both, func(open []*hosts.Host) error {
		server, client := open[0], open[1]
		// The plan runs before this as well, and has given the warnings.
		if found, read := assess(ctx, data, m, d, diags); !read ||
			diagnostic.AddFindings(ctx, diags, what, safety.Blockers(found)) {
			return nil
		}
		var runErr error
		if result, runErr = ops.Run(ctx, server, client, d, progress); runErr != nil {
			return runErr
		}
		if noted := ops.Note(ctx, client, server.Name(), d, result, m.limits()); noted != nil {
			diags.AddWarning("Not noted: result of benchmark "+m.identity(), "The commands history and report will not "+
				"show this result. The measurement itself is not affected.\n\nReason: "+diagnostic.Line(noted.Error()))
		}
		return nil
	})
	diagnostic.AddError(diags, what, err)
	if diags.HasError() {
		return result, false, false
	}
	misses := ops.Judge(d, result, m.limits())
	return result, len(misses) > 0, !diagnostic.AddFindings(ctx, diags, what, misses)
}

// Read leaves the state as it is: a measurement belongs to its time.
func (r *Resource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Delete forgets the measurement; the framework takes it out of the state.
func (r *Resource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// ModifyPlan gives the findings against a measurement. It plans none if nothing that
// matters has changed.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var plan, state model
	if req.Plan.Raw.IsNull() {
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		if plan.same(state) {
			plan.keep(state)
			resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
			return
		}
	}
	if resp.Diagnostics.HasError() || r.Data == nil {
		return
	}
	plan.expect()
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	plan.plan(ctx, r.Data, &resp.Diagnostics)
}

// validate refuses what has no meaning.
func (m *asked) validate(diags *diag.Diagnostics) {
	if !m.known() {
		return
	}
	// The list of tests says itself what is wrong with another word.
	if _, at, err := m.request(); err != nil && at != "test" {
		diags.AddAttributeError(path.Root(at), "Invalid value for "+at, diagnostic.Sentence(err.Error()))
	}
}

// plan gives the findings against the measurement.
func (m *asked) plan(ctx context.Context, data *session.Data, diags *diag.Diagnostics) {
	if !m.known() || !data.HostReady(m.Server) || !data.HostReady(m.Client) {
		diagnostic.AddPostponed(diags, "a benchmark",
			"a host or a part of its setting comes from something that does not exist yet")
		return
	}
	d, at, err := m.request()
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root(at), "plan benchmark "+m.identity(), err)
		return
	}
	if found, ok := assess(ctx, data, *m, d, diags); ok {
		diagnostic.AddFindings(ctx, diags, "measure benchmark "+m.identity(), found)
	}
}

// assess reads both hosts and gives the findings against the measurement; ok is false
// if one of them cannot be read.
func assess(ctx context.Context, data *session.Data, m asked, d ops.Request,
	diags *diag.Diagnostics) (found []finding.Finding, ok bool) {
	what := "measure benchmark " + m.identity()
	for _, end := range []struct{ role, host string }{{"server", m.Server.ValueString()},
		{"client", m.Client.ValueString()}} {
		_, cfg, snap, err := data.Look(ctx, end.host)
		if err != nil {
			diagnostic.AddErrorAt(diags, path.Root(end.role), what, err)
			return nil, false
		}
		found = append(found, ops.Check(snap, cfg.Observe, end.role, d.Test)...)
	}
	return found, true
}
