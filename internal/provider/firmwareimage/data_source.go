package firmwareimage

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// DataSource is the data source infiniband_firmware_image. It needs no host and
// no configured provider.
type DataSource struct{}

// NewDataSource returns the data source.
func NewDataSource() datasource.DataSource { return &DataSource{} }

// Metadata implements datasource.DataSource.
func (s *DataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_firmware_image"
}

// Read verifies the file and shows what it says of itself.
func (s *DataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m dataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	f, found := readFile(ctx, &imageFiles{}, m.asked())
	if diagnostic.AddFindings(ctx, &resp.Diagnostics, "use firmware image "+m.Source.ValueString(), found) {
		return
	}
	m.ID = types.StringValue(f.sha256)
	given := m.title
	m.facts = factsOf(f)
	m.title = given
	m.take(f)
	if m.SHA256.IsNull() {
		m.SHA256 = attribute.HashText(f.sha256)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
