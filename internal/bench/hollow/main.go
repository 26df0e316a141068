// Command hollow has the schemas of the real provider and does nothing: it
// reads no host and plans nothing. With the real provider's configuration and
// state it shows what the engine and the plugin library need for resources of
// this shape. It is built by the benchmark only and must never be installed.
package main

import (
	"context"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	infiniband "github.com/ibfabric/terraform-provider-infiniband/internal/provider"
)

func main() {
	// The same quiet as the real provider: SDK logs cost a third of plan time.
	for _, k := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_PROVIDER"} {
		if err := os.Setenv(k, "OFF"); err != nil {
			log.Fatal(err)
		}
	}
	err := providerserver.Serve(context.Background(),
		func() provider.Provider { return hollow{infiniband.New("hollow")()} },
		providerserver.ServeOpts{Address: infiniband.Address})
	if err != nil {
		log.Fatal(err)
	}
}

type hollow struct{ real provider.Provider }

func (h hollow) Metadata(ctx context.Context, req provider.MetadataRequest, resp *provider.MetadataResponse) {
	h.real.Metadata(ctx, req, resp)
}

func (h hollow) Schema(ctx context.Context, req provider.SchemaRequest, resp *provider.SchemaResponse) {
	h.real.Schema(ctx, req, resp)
}

func (hollow) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}
func (hollow) DataSources(context.Context) []func() datasource.DataSource                        { return nil }

func (h hollow) Resources(ctx context.Context) []func() resource.Resource {
	all := h.real.Resources(ctx)
	for i, create := range all {
		all[i] = func() resource.Resource { return idle{create()} }
	}
	return all
}

// idle is a resource of which only the schema is left.
type idle struct{ real resource.Resource }

func (r idle) Metadata(ctx context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	r.real.Metadata(ctx, req, resp)
}

func (r idle) Schema(ctx context.Context, req resource.SchemaRequest, resp *resource.SchemaResponse) {
	r.real.Schema(ctx, req, resp)
}

func (idle) Create(context.Context, resource.CreateRequest, *resource.CreateResponse) {}
func (idle) Read(context.Context, resource.ReadRequest, *resource.ReadResponse)       {}
func (idle) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}
func (idle) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
