package benchmark

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/action"
	actionschema "github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

const actionDescription = "Measures bandwidth or latency between two hosts, as `infiniband_benchmark` does, and shows " +
	"the result as progress. No state keeps it. Use it to measure again after a change, by an `action_trigger` or by " +
	"`terraform apply -invoke`; use the resource to keep a result and to compare with it.\n\n" +
	"A result that misses `min_gbps`, `max_latency_us` or the matching entry of `limits` is an error. With " +
	"`on_miss = \"warn\"` it is a warning. A run that takes longer than 15 minutes fails. " +
	"A missing program is installed, and the plan says so (PF003)."

var (
	_ action.ActionWithConfigure      = &Action{}
	_ action.ActionWithModifyPlan     = &Action{}
	_ action.ActionWithValidateConfig = &Action{}
)

// Action is infiniband_run_benchmark.
type Action struct{ session.Resource }

// NewAction returns the action.
func NewAction() action.Action { return &Action{} }

// Metadata implements action.Action.
func (a *Action) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_run_benchmark"
}

// Configure implements action.ActionWithConfigure.
func (a *Action) Configure(ctx context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	var of resource.ConfigureResponse
	a.Resource.Configure(ctx, resource.ConfigureRequest{ProviderData: req.ProviderData}, &of)
	resp.Diagnostics.Append(of.Diagnostics...)
}

// Schema implements action.Action.
func (a *Action) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	attributes := map[string]actionschema.Attribute{}
	for name, of := range arguments(ctx) {
		// An action has no plan of its values, so that it can have no defaults either.
		switch of := of.(type) {
		case schema.StringAttribute:
			of.Computed, of.Default = false, nil
			attributes[name] = of
		case schema.Int64Attribute:
			of.Computed, of.Default = false, nil
			attributes[name] = of
		default:
			attributes[name] = of
		}
	}
	delete(attributes, "triggers")
	delete(attributes, "timeouts")
	attributes["on_miss"] = actionschema.StringAttribute{Optional: true, Validators: onMiss,
		MarkdownDescription: "What to do with a result that misses its limit: `error` (the default) fails the apply, " +
			"`warn` warns."}
	resp.Schema = actionschema.Schema{MarkdownDescription: actionDescription, Attributes: attributes}
}

// ValidateConfig refuses what has no meaning.
func (a *Action) ValidateConfig(ctx context.Context, req action.ValidateConfigRequest,
	resp *action.ValidateConfigResponse) {
	var m asked
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() {
		m.validate(&resp.Diagnostics)
	}
}

// ModifyPlan gives the findings against the measurement.
func (a *Action) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	var m asked
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() && a.Data != nil {
		m.plan(ctx, a.Data, &resp.Diagnostics)
	}
}

// Invoke measures.
func (a *Action) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m asked
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	d, at, err := m.request()
	if err != nil {
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root(at), "measure benchmark "+m.identity(), err)
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, standardTimeout,
		fmt.Errorf("the %s that the action has are over", standardTimeout))
	defer cancel()
	measure(ctx, a.Data, m, d, func(text string) { resp.SendProgress(action.InvokeProgressEvent{Message: text}) },
		&resp.Diagnostics)
}
