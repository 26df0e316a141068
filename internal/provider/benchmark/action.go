package benchmark

import (
	"context"

	actionschema "github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/actions"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// NewAction returns the action infiniband_run_benchmark.
var NewAction = actions.New(actions.Kind[asked]{
	Name: "infiniband_run_benchmark",
	Description: "Measures bandwidth or latency between two hosts, as `infiniband_benchmark` does, and shows " +
		"the result as progress. No state keeps it; the client notes it, and " +
		"[`report`](../guides/report.md#benchmarks-over-time) shows results over time. Use it to measure again after a " +
		"change, by an `action_trigger` or by `terraform apply -invoke`; use the resource to keep a result and to compare with it.\n\n" +
		"A result that misses `min_gbps`, `max_latency_us` or the matching entry of `limits` is an error. With " +
		"`on_miss = \"warn\"` it is a warning. A run that takes longer than 15 minutes fails. " +
		"A missing program is installed, and the plan says so (PF003).",
	Timeout:    standardTimeout,
	Attributes: actionArguments(),
	Validate:   (*asked).validate,
	Plan: func(ctx context.Context, d *session.Data, m *asked, diags *diag.Diagnostics) {
		m.plan(ctx, d, diags)
	},
	Invoke: func(ctx context.Context, data *session.Data, m *asked, tell func(string), diags *diag.Diagnostics) {
		d, at, err := m.request()
		if err != nil {
			diagnostic.AddErrorAt(diags, path.Root(at), "measure benchmark "+m.identity(), err)
			return
		}
		measure(ctx, data, *m, d, tell, diags)
	},
})

func actionArguments() map[string]actionschema.Attribute {
	attributes := map[string]actionschema.Attribute{}
	for name, of := range arguments() {
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
	attributes["on_miss"] = actionschema.StringAttribute{Optional: true, Validators: onMiss,
		MarkdownDescription: "What to do with a result that misses its limit: `error` (the default) fails the apply, " +
			"`warn` warns."}
	return attributes
}
