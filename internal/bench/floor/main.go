// Command floor is a provider that does nothing: the time that an engine needs
// for the same number of resources is what nobody can be faster than. It is
// built by the benchmark only and must never be installed.
package main

import (
	"context"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func main() {
	// The same quiet as the real provider: SDK logs cost a third of plan time.
	for _, k := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_PROVIDER"} {
		if err := os.Setenv(k, "OFF"); err != nil {
			log.Fatal(err)
		}
	}
	err := providerserver.Serve(context.Background(), func() provider.Provider { return floor{} },
		providerserver.ServeOpts{Address: "registry.terraform.io/ibfabric/floor"})
	if err != nil {
		log.Fatal(err)
	}
}

type floor struct{}

func (floor) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "floor"
}
func (floor) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}
func (floor) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}
func (floor) DataSources(context.Context) []func() datasource.DataSource { return nil }
func (floor) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return thing{} }}
}

// thing has as many attributes as a resource of the real provider has on
// average.
type thing struct{}

type model struct {
	ID   types.String `tfsdk:"id"`
	Host types.String `tfsdk:"host"`
	A    types.String `tfsdk:"a"`
	B    types.String `tfsdk:"b"`
	C    types.String `tfsdk:"c"`
	D    types.String `tfsdk:"d"`
}

func (thing) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "floor_thing"
}

func (thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	computed := schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id": computed, "host": schema.StringAttribute{Required: true},
		"a": computed, "b": computed, "c": computed, "d": computed,
	}}
}

func (thing) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	m.ID, m.A, m.B, m.C, m.D = m.Host, m.Host, m.Host, m.Host, m.Host
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (thing) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (thing) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (thing) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
