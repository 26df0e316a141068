// Command floor is a provider that does nothing: the time that an engine needs
// for the same number of resources is what nobody can be faster than. It is
// built by the benchmark only and must never be installed.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
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

// thing has 16 attributes, as many as a resource of the real provider has on
// average (9 to 25), so that both move states of the same size.
type thing struct{}

// computed are the attributes beside id and host.
const computed = 14

func attribute(i int) string { return fmt.Sprintf("a%02d", i) }

func (thing) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "floor_thing"
}

func (thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	keep := schema.StringAttribute{Computed: true,
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{"id": keep,
		"host": schema.StringAttribute{Required: true}}}
	for i := range computed {
		resp.Schema.Attributes[attribute(i)] = keep
	}
}

func (thing) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var host types.String
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("host"), &host)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("host"), host)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), host)...)
	for i := range computed {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(attribute(i)), host)...)
	}
}

func (thing) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (thing) Update(_ context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.State.Raw = req.Plan.Raw
}

func (thing) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
