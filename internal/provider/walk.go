package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// walker is the provider for a walk of its own over hosts that are known already: what
// can be adopted is found out by imports and plans.
type walker struct {
	Provider
	data *session.Data
}

// walk serves the objects of the provider with other data than those of a configuration.
func walk(data *session.Data) tfprotov6.ProviderServer { return Server(&walker{data: data}) }

// Configure hands over the data; the configuration is empty.
func (w *walker) Configure(_ context.Context, _ provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	resp.ResourceData, resp.DataSourceData = w.data, w.data
}
