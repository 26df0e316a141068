// Package actions is what all actions have in common: how they are asked and planned, how long they may take, and
// how their progress is shown.
//
// It must not know one kind of action.
package actions

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// Kind is an action with the model M.
type Kind[M any] struct {
	Name        string // "infiniband_run_benchmark"
	Description string
	Attributes  map[string]schema.Attribute
	Timeout     time.Duration
	// Validate refuses what has no meaning; nil if the attributes do that.
	Validate func(m *M, diags *diag.Diagnostics)
	// On is the host that is changed, the argument that names it, and what is done: "settle jobs of card nas/…". Where
	// it is given, Plan runs only if all values are known and the host may be changed.
	On func(m *M) Target
	// Plan gives what speaks against the action.
	Plan func(ctx context.Context, d *session.Data, m *M, diags *diag.Diagnostics)
	// Invoke does it. Its time is limited.
	Invoke func(ctx context.Context, d *session.Data, m *M, tell func(string), diags *diag.Diagnostics)
}

// Target is what an action changes.
type Target struct{ Host, At, What string }

// Host is the argument that names the host of what is changed.
func Host(of string) schema.StringAttribute {
	return schema.StringAttribute{Required: true, Validators: []validator.String{attribute.HostName()},
		MarkdownDescription: "Key of the host of " + of + " in the provider's `hosts` map."}
}

// New returns the constructor of an action.
func New[M any](k Kind[M]) func() action.Action {
	return func() action.Action { return &kind[M]{Kind: k} }
}

type kind[M any] struct {
	Kind[M]
	data *session.Data // nil while Terraform only validates
}

// Metadata implements action.Action.
func (a *kind[M]) Metadata(_ context.Context, _ action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = a.Name
}

// Configure implements action.ActionWithConfigure.
func (a *kind[M]) Configure(_ context.Context, req action.ConfigureRequest, _ *action.ConfigureResponse) {
	a.data, _ = req.ProviderData.(*session.Data)
}

// Schema implements action.Action.
func (a *kind[M]) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: a.Description, Attributes: a.Attributes}
}

// ValidateConfig implements action.ActionWithValidateConfig.
func (a *kind[M]) ValidateConfig(ctx context.Context, req action.ValidateConfigRequest,
	resp *action.ValidateConfigResponse) {
	var m M
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if a.Validate != nil && !resp.Diagnostics.HasError() {
		a.Validate(&m, &resp.Diagnostics)
	}
}

// ModifyPlan gives the findings against the action.
func (a *kind[M]) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	var m M
	diags := &resp.Diagnostics
	diags.Append(req.Config.Get(ctx, &m)...)
	if diags.HasError() || a.data == nil {
		return
	}
	if a.On != nil {
		to := a.On(&m)
		if !req.Config.Raw.IsFullyKnown() || !a.data.HostReady(types.StringValue(to.Host)) {
			diagnostic.AddPostponed(diags, a.Name, "a host or another value comes from something that does not exist yet")
			return
		}
		err := a.data.InMap(to.Host)
		if diagnostic.AddErrorAt(diags, path.Root(to.At), to.What, err); err != nil ||
			diagnostic.AddPlanned(ctx, diags, to.What, a.data.OnlyRead(to.Host)) {
			return
		}
	}
	a.Plan(ctx, a.data, &m, diags)
}

// Invoke does what the action is for.
func (a *kind[M]) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m M
	diags := &resp.Diagnostics
	diags.Append(req.Config.Get(ctx, &m)...)
	if a.On != nil && !diags.HasError() {
		to := a.On(&m)
		diagnostic.AddFindings(ctx, diags, to.What, a.data.OnlyRead(to.Host))
	}
	if diags.HasError() {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.Timeout,
		fmt.Errorf("the %s that the action has are over", a.Timeout))
	defer cancel()
	a.Kind.Invoke(ctx, a.data, &m,
		func(text string) { resp.SendProgress(action.InvokeProgressEvent{Message: text}) }, diags)
}
