package acctest

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Data reads a data source.
func (w *Workspace) Data(ctx context.Context, name string, attrs map[string]any) (any, Diags, error) {
	defer w.Ended()
	p, found, err := w.start(ctx)
	if err != nil || found.HasError() {
		return nil, found, err
	}
	schema, ok := p.schema.DataSourceSchemas[name]
	if !ok {
		return nil, found, fmt.Errorf("there is no data source %q", name)
	}
	typ := schema.ValueType()
	config, err := Encode(typ, attrs)
	if err != nil {
		return nil, found, err
	}
	checked, err := p.server.ValidateDataResourceConfig(ctx,
		&tfprotov6.ValidateDataResourceConfigRequest{TypeName: name, Config: dynamic(typ, config)})
	if err != nil {
		return nil, found, err
	}
	found = append(found, diagsOf(PhaseValidate, "data."+name, checked.Diagnostics)...)
	if found.HasError() {
		return nil, found, nil
	}
	resp, err := p.server.ReadDataSource(ctx,
		&tfprotov6.ReadDataSourceRequest{TypeName: name, Config: dynamic(typ, config)})
	if err != nil {
		return nil, found, err
	}
	found = append(found, diagsOf(PhasePlan, "data."+name, resp.Diagnostics)...)
	if found.HasError() {
		return nil, found, nil
	}
	value, err := resp.State.Unmarshal(typ)
	if err != nil {
		return nil, found, err
	}
	return Decode(value), found, nil
}
