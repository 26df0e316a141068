package session

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// ReadOnly is a data source with the model M.
type ReadOnly[M any] struct {
	DataSource
	Name     string // "infiniband_host"
	Describe func() schema.Schema
	// Fill reads what the model asks for into it. It is false if nothing is to be stored.
	Fill func(ctx context.Context, s *DataSource, m *M, diags *diag.Diagnostics) bool
}

var _ datasource.DataSourceWithConfigure = &ReadOnly[any]{}

// Metadata implements datasource.DataSource.
func (s *ReadOnly[M]) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = s.Name
}

// Schema implements datasource.DataSource.
func (s *ReadOnly[M]) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = s.Describe()
}

// Read implements datasource.DataSource.
func (s *ReadOnly[M]) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m M
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || !s.Fill(ctx, &s.DataSource, &m, &resp.Diagnostics) || resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
