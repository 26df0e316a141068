package firmwareimage

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// NewDataSource returns the data source infiniband_firmware_image. It needs no host and no configured provider.
func NewDataSource() datasource.DataSource {
	return &session.ReadOnly[dataModel]{Name: "infiniband_firmware_image", Describe: describe, Fill: fill}
}

// fill verifies the file and shows what it says of itself.
func fill(ctx context.Context, _ *session.DataSource, m *dataModel, diags *diag.Diagnostics) bool {
	f, found := readFile(ctx, &imageFiles{}, m.asked())
	if diagnostic.AddFindings(ctx, diags, "use firmware image "+m.Source.ValueString(), found) {
		return false
	}
	m.ID = types.StringValue(f.sha256)
	given := m.title
	m.facts = factsOf(f)
	m.title = given
	m.take(f)
	if m.SHA256.IsNull() {
		m.SHA256 = attribute.HashText(f.sha256)
	}
	return true
}
