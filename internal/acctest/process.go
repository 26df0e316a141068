package acctest

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
)

// process is one life of the provider: Terraform starts a new one for every
// walk, so that nothing may be remembered from a plan to its apply.
type process struct {
	server tfprotov6.ProviderServer
	schema *tfprotov6.GetProviderSchemaResponse
}

var providerSchema = sync.OnceValues(func() (*tfprotov6.GetProviderSchemaResponse, error) {
	return provider.Server(provider.New("test")()).GetProviderSchema(context.Background(),
		&tfprotov6.GetProviderSchemaRequest{})
})

// newProcess starts a provider; it is not configured yet.
func newProcess(factory Factory) (*process, error) {
	schema, err := providerSchema()
	if err != nil {
		return nil, err
	}
	server, err := factory()
	return &process{server: server, schema: schema}, err
}

func (p *process) configure(ctx context.Context, config map[string]any) (Diags, error) {
	typ := p.schema.Provider.ValueType()
	value, err := Encode(typ, config)
	if err != nil {
		return nil, fmt.Errorf("provider configuration: %w", err)
	}
	dynamic, err := tfprotov6.NewDynamicValue(typ, value)
	if err != nil {
		return nil, err
	}
	checked, err := p.server.ValidateProviderConfig(ctx, &tfprotov6.ValidateProviderConfigRequest{Config: &dynamic})
	if err != nil {
		return nil, err
	}
	found := diagsOf(PhaseValidate, "provider", checked.Diagnostics)
	if found.HasError() {
		return found, nil
	}
	done, err := p.server.ConfigureProvider(ctx,
		&tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.11.4", Config: &dynamic})
	if err != nil {
		return found, err
	}
	return append(found, diagsOf(PhasePlan, "provider", done.Diagnostics)...), nil
}

// canWriteOnly is what an engine since 1.11 says of itself.
var canWriteOnly = &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true}

// resourceType gives the object type of a resource's values.
func (p *process) resourceType(name string) (*tfprotov6.Schema, tftypes.Object, error) {
	schema, ok := p.schema.ResourceSchemas[name]
	if !ok {
		return nil, tftypes.Object{}, fmt.Errorf("there is no resource type %q", name)
	}
	typ, ok := schema.ValueType().(tftypes.Object)
	if !ok {
		return nil, tftypes.Object{}, fmt.Errorf("%s is no object", name)
	}
	return schema, typ, nil
}

// proposedState merges a configuration with what is computed in the prior state, as
// core does before it asks for a plan.
func proposedState(schema *tfprotov6.Schema, typ tftypes.Object, config, prior tftypes.Value) tftypes.Value {
	given := decodeAs[map[string]tftypes.Value](config)
	had := map[string]tftypes.Value{}
	if !prior.IsNull() {
		had = decodeAs[map[string]tftypes.Value](prior)
	}
	out := map[string]tftypes.Value{}
	for _, a := range schema.Block.Attributes {
		out[a.Name] = given[a.Name]
		if a.WriteOnly {
			out[a.Name] = tftypes.NewValue(given[a.Name].Type(), nil)
		}
		if old, ok := had[a.Name]; ok && a.Computed && given[a.Name].IsNull() {
			out[a.Name] = old
		}
	}
	return tftypes.NewValue(typ, out)
}

// keeps reports whether a provider keeps the prior value, which core allows
// wherever something is configured or computed.
func keeps(had map[string]tftypes.Value, a *tfprotov6.SchemaAttribute, want, is tftypes.Value) bool {
	old, existed := had[a.Name]
	return existed && is.Equal(old) && (!want.IsNull() || a.Computed)
}

// liberties lists where a plan takes liberties with the configuration.
func liberties(schema *tfprotov6.Schema, config, prior, planned tftypes.Value) []string {
	if planned.IsNull() {
		return []string{"the plan of an object that is configured is null"}
	}
	given, got := decodeAs[map[string]tftypes.Value](config), decodeAs[map[string]tftypes.Value](planned)
	had := map[string]tftypes.Value{}
	if !prior.IsNull() {
		had = decodeAs[map[string]tftypes.Value](prior)
	}
	var out []string
	for _, a := range schema.Block.Attributes {
		if is := got[a.Name]; !keeps(had, a, given[a.Name], is) {
			out = append(out, liberty(a, given[a.Name], is)...)
		}
	}
	return out
}

// liberty says what is wrong with one planned value; nothing if it is what is given.
func liberty(a *tfprotov6.SchemaAttribute, want, is tftypes.Value) []string {
	switch {
	case a.WriteOnly && !is.IsNull():
		return []string{a.Name + " is write-only, and in the plan"}
	case a.WriteOnly:
	case want.IsNull() && !a.Computed && !is.IsNull():
		return []string{fmt.Sprintf("%s is not configured, and planned as %v", a.Name, Decode(is))}
	case !want.IsNull() && !is.Equal(want):
		return []string{fmt.Sprintf("%s is configured as %v, and planned as %v", a.Name, Decode(want), Decode(is))}
	}
	return nil
}

func dynamic(typ tftypes.Type, v tftypes.Value) *tfprotov6.DynamicValue {
	d, err := tfprotov6.NewDynamicValue(typ, v)
	if err != nil {
		panic("acctest: " + err.Error())
	}
	return &d
}
