// Package firmwareimage is the resource and the data source
// infiniband_firmware_image: a verified firmware file, and its copy on a host.
//
// It must not write to a card.
package firmwareimage

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/image"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

var _ session.WithImport = &Resource{}

// Resource is infiniband_firmware_image.
type Resource struct{ session.Importable }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.NewResource("infiniband_firmware_image", session.ImageNamed())}
}

// Create stages the image on the host.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	defer r.Identify(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
	r.stage(ctx, req.Plan, &resp.State, &resp.Diagnostics)
}

// Update stages the new content; the old copy stays.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	defer r.Identify(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
	r.stage(ctx, req.Plan, &resp.State, &resp.Diagnostics)
}

func (r *Resource) stage(ctx context.Context, from tfsdk.Plan, to *tfsdk.State, diags *diag.Diagnostics) {
	var plan model
	diags.Append(from.Get(ctx, &plan)...)
	if diags.HasError() {
		return
	}
	f := r.usable(ctx, plan, diags)
	if f == nil {
		return
	}
	content, err := os.Open(f.path)
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root("source"), "read firmware image "+f.path, err)
		return
	}
	defer content.Close() //nolint:errcheck // only read
	err = r.WithHost(ctx, plan.Host.ValueString(), func(h *hosts.Host) error {
		return image.Stage(ctx, h, content, f.size, f.sha256)
	})
	if err != nil {
		diagnostic.AddError(diags, "stage firmware image on host "+plan.Host.ValueString(), err)
		return
	}
	plan.fill(*f)
	plan.StagedPath = stagedPath(f.sha256)
	diags.Append(to.Set(ctx, &plan)...)
}

// usable reads the file and checks that it may be staged; nil if not. It
// remembers the image for the resources that burn it.
func (r *Resource) usable(ctx context.Context, m model, diags *diag.Diagnostics) *file {
	what := fmt.Sprintf("use firmware image %s for host %s", m.Source.ValueString(), m.Host.ValueString())
	if _, _, err := r.Host(m.Host.ValueString()); err != nil {
		diagnostic.AddErrorAt(diags, path.Root("host"), what, err)
		return nil
	}
	f, found := readFile(ctx, &r.ImageFiles, m.asked())
	if diagnostic.AddFindings(ctx, diags, what, found) {
		return nil
	}
	r.Planned.SetImage(attribute.ImageRef{Host: m.Host.ValueString(), SHA256: f.sha256},
		planned.Image{Name: f.name, SHA256: f.sha256, Size: f.size, Parsed: f.image})
	return &f
}

// stagedPath is where a staged image is on a host.
func stagedPath(sha256 string) types.String {
	return types.StringValue(image.Path(sha256))
}

// Read checks that the copy is on the host. After an import it also reads the
// local file, which says what the copy is called.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.Readable(state.Host) {
		return
	}
	if state.SHA256.IsNull() {
		f := r.usable(ctx, state, &resp.Diagnostics)
		if f == nil {
			return
		}
		state.fill(*f)
	}
	_, _, snap, err := r.Look(ctx, state.Host.ValueString())
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, "read firmware image "+state.ID.ValueString(), err)
		return
	}
	sum := strings.ToLower(state.SHA256.ValueString())
	if !snap.Staged[sum] {
		resp.State.RemoveResource(ctx)
		return
	}
	state.StagedPath = stagedPath(sum)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Delete forgets the copy. It is named by its hash, so that another resource
// may be using it, and a later one finds it there.
func (r *Resource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// ImportState takes host/path/of/the/file; the first slash splits, so that an
// absolute path has two.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	id, ok := r.ImportID(ctx, "import firmware image", req, resp)
	if !ok {
		return
	}
	host, source, _ := strings.Cut(id, "/")
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("host"), types.StringValue(host))...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("source"), types.StringValue(source))...)
}
