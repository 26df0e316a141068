// Package fabricfile is the resource infiniband_fabric_file: a file on the operator's
// machine with what infiniband_fabric gives, written only when that changes.
//
// It must not reach a host, or touch a file that it has not written.
package fabricfile

import (
	"context"
	"errors"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

var (
	_ session.WithImport                = &Resource{}
	_ resource.ResourceWithUpgradeState = &Resource{}
)

// Resource is infiniband_fabric_file.
type Resource struct{ session.Importable }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.NewResource("infiniband_fabric_file", session.FileNamed())}
}

// ModifyPlan says what will be written, and refuses to replace a file of somebody else.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	diags := &resp.Diagnostics
	if req.Plan.Raw.IsNull() {
		var state model
		diags.Append(req.State.Get(ctx, &state)...)
		state.warnKept(keptOf(ctx, req.Private, state, "", diags), diags)
		return
	}
	plan, config, state, _ := planned.Models[model](ctx, req, diags)
	if diags.HasError() {
		return
	}
	if diagnostic.AddErrorAt(diags, path.Root("content"), plan.what(), plan.wants(config, state)); diags.HasError() {
		return
	}
	diags.Append(resp.Plan.Set(ctx, &plan)...)
	if plan.FilePath.IsUnknown() || !r.claim(ctx, plan, req, diags) || plan.stays(state) {
		return
	}
	diagnostic.AddErrorAt(diags, path.Root("file_path"), plan.what(), plan.free(state))
}

// claim reports whether the file is of this resource alone.
func (r *Resource) claim(ctx context.Context, plan model, req resource.ModifyPlanRequest,
	diags *diag.Diagnostics) bool {
	if r.Data == nil {
		return true
	}
	at := whole(plan.FilePath.ValueString())
	return r.Claim(ctx, "write file", planned.Claim{Key: at, Name: at}, req, diags)
}

// Create writes the file. One that is there with this content is left alone, also by a destroy.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.CreateWith(ctx, req, resp, r.apply)
}

// Update writes the new content over what the plan has seen. A file that moves is
// written at its new place first.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.UpdateWith(ctx, req, resp, r.apply)
}

func (r *Resource) apply(ctx context.Context, c session.Change) {
	var plan, config, state model
	c.Read(ctx, &plan, &config)
	exists := c.Before(ctx, &state)
	if c.Diags.HasError() {
		return
	}
	if err := plan.wants(config, state); err != nil {
		diagnostic.AddErrorAt(c.Diags, path.Root("content"), plan.what(), err)
		return
	}
	kept, stays := seen{}, plan.stays(state)
	if exists {
		kept = keptOf(ctx, c.Beside(), state, "", c.Diags)
	}
	if config.Content.IsNull() {
		c.Store(ctx, &plan)
		return
	}
	written, err := plan.put(&r.Files, config.Content.ValueString(), func() error {
		if stays {
			return plan.announced(state)
		}
		return plan.free(state)
	})
	if diagnostic.AddErrorAt(c.Diags, path.Root("file_path"), plan.what(), err); err != nil {
		return
	}
	c.Store(ctx, &plan)
	now := seen{}
	switch {
	case written:
		now.Written = plan.SHA256.ValueString()
	case stays:
		now = kept
	}
	c.NoteSeen(ctx, now)
	if exists && !stays {
		state.drop(&r.Files, kept, c.Diags)
	}
}

// Read takes what is in the file, so that a plan shows what somebody changed.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	found, err := look(state.FilePath.ValueString())
	switch {
	case errors.Is(err, os.ErrNotExist):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		diagnostic.AddErrorAt(&resp.Diagnostics, path.Root("file_path"), "read file "+state.FilePath.ValueString(), err)
		return
	}
	session.NoteSeen(ctx, resp.Private, keptOf(ctx, req.Private, state, found, &resp.Diagnostics), &resp.Diagnostics)
	state.SHA256 = types.StringValue(found)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Delete removes the file unless somebody has changed it, or the object that replaces this
// one has written it.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if !resp.Diagnostics.HasError() {
		state.drop(&r.Files, keptOf(ctx, req.Private, state, "", &resp.Diagnostics), &resp.Diagnostics)
	}
}

// ImportState takes the path of the file, as file_path has it.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	id, ok := r.ImportID(ctx, "import file", req, resp)
	if !ok {
		return
	}
	_, err := look(id)
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = errors.New("there is no such file on this machine")
	case err == nil && attribute.NamesDirectory(id):
		err = errors.New("a path that ends with / names a directory; write the path of the file")
	}
	diagnostic.AddError(&resp.Diagnostics, "import file "+id, err)
	if err == nil {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("file_path"), id)...)
	}
}
