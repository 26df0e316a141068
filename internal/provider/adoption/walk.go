package adoption

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// Walk is one run of the provider. An engine starts one for each of its walks. The
// provider is asked by the engine's own protocol, so that its answers on imports and
// plans need no second judgement here.
type Walk struct {
	server tfprotov6.ProviderServer
	schema *tfprotov6.GetProviderSchemaResponse
}

// said is what the provider has to say, by severity.
type said struct{ errors, warnings []Problem }

func (s *said) add(diags []*tfprotov6.Diagnostic) {
	for _, d := range diags {
		p := Problem{Summary: d.Summary, Detail: d.Detail}
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			s.errors = append(s.errors, p)
		} else {
			s.warnings = append(s.warnings, p)
		}
	}
}

// err is the first error; nil if there is none.
func (s *said) err() error {
	if len(s.errors) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", s.errors[0].Summary, s.errors[0].Detail)
}

// Start configures a new provider.
func Start(ctx context.Context, server tfprotov6.ProviderServer, config any) (*Walk, error) {
	w := &Walk{server: server}
	var err error
	if w.schema, err = w.server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{}); err != nil {
		return nil, fmt.Errorf("the schema of the provider: %w", err)
	}
	value, err := encode(w.schema.Provider.ValueType(), config)
	if err != nil {
		return nil, err
	}
	var all said
	checked, err := w.server.ValidateProviderConfig(ctx, &tfprotov6.ValidateProviderConfigRequest{Config: value})
	if err != nil {
		return nil, fmt.Errorf("the provider block: %w", err)
	}
	all.add(checked.Diagnostics)
	if err = all.err(); err != nil {
		return nil, err
	}
	done, err := w.server.ConfigureProvider(ctx,
		&tfprotov6.ConfigureProviderRequest{TerraformVersion: engine, Config: value})
	if err != nil {
		return nil, fmt.Errorf("the provider block: %w", err)
	}
	all.add(done.Diagnostics)
	return w, all.err()
}

// engine is the oldest engine that the configuration works with.
const engine = "1.11.0"

// encode makes a value of the protocol from Go data. What an object leaves out is null.
func encode(typ tftypes.Type, data any) (*tfprotov6.DynamicValue, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("encode a configuration: %w", err)
	}
	value, err := tfprotov6.DynamicValue{JSON: text}.Unmarshal(typ)
	if err != nil {
		return nil, fmt.Errorf("encode a configuration: %w", err)
	}
	return dynamic(typ, value)
}

func dynamic(typ tftypes.Type, value tftypes.Value) (*tfprotov6.DynamicValue, error) {
	d, err := tfprotov6.NewDynamicValue(typ, value)
	if err != nil {
		return nil, fmt.Errorf("encode a value: %w", err)
	}
	return &d, nil
}

// data reads a data source.
func (w *Walk) data(ctx context.Context, name string, config map[string]any) (map[string]tftypes.Value, error) {
	typ := w.schema.DataSourceSchemas[name].ValueType()
	value, err := encode(typ, config)
	if err != nil {
		return nil, err
	}
	resp, err := w.server.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{TypeName: name, Config: value})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var all said
	all.add(resp.Diagnostics)
	if err = all.err(); err != nil {
		return nil, err
	}
	return attributes(resp.State, typ)
}

func attributes(from *tfprotov6.DynamicValue, typ tftypes.Type) (map[string]tftypes.Value, error) {
	value, err := from.Unmarshal(typ)
	if err != nil {
		return nil, fmt.Errorf("an answer of the provider: %w", err)
	}
	var out map[string]tftypes.Value
	if err = value.As(&out); err != nil {
		return nil, fmt.Errorf("an answer of the provider: %w", err)
	}
	return out, nil
}

// adopt imports an object and reads it, as an engine does for an import block. An object
// that is not there has no state afterwards.
func (w *Walk) adopt(ctx context.Context, o *Object) (all said, err error) {
	typ := w.schema.ResourceSchemas[o.Type].ValueType()
	imported, err := w.server.ImportResourceState(ctx,
		&tfprotov6.ImportResourceStateRequest{TypeName: o.Type, ID: o.ID})
	if err != nil {
		return all, fmt.Errorf("import %s %s: %w", o.Type, o.ID, err)
	}
	all.add(imported.Diagnostics)
	if len(all.errors) > 0 || len(imported.ImportedResources) != 1 {
		return all, nil
	}
	first := imported.ImportedResources[0]
	read, err := w.server.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: o.Type, CurrentState: first.State,
		Private: first.Private, CurrentIdentity: first.Identity})
	if err != nil {
		return all, fmt.Errorf("read %s %s: %w", o.Type, o.ID, err)
	}
	all.add(read.Diagnostics)
	if len(all.errors) > 0 {
		return all, nil
	}
	state, err := read.NewState.Unmarshal(typ)
	if err != nil {
		return all, fmt.Errorf("read %s %s: %w", o.Type, o.ID, err)
	}
	o.state, o.private, o.identity = state, read.Private, read.NewIdentity
	if state.IsNull() {
		return all, nil
	}
	return all, state.As(&o.attrs)
}

// canWriteOnly is what engines since 1.11 say of themselves.
var canWriteOnly = &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true}

// plan plans an imported object with a configuration, and lists what would change.
func (w *Walk) plan(ctx context.Context, o *Object, given form) (c changes, all said, err error) {
	schema := w.schema.ResourceSchemas[o.Type]
	typ := schema.ValueType()
	values := map[string]tftypes.Value{}
	for _, a := range schema.Block.Attributes {
		values[a.Name] = tftypes.NewValue(a.ValueType(), nil)
	}
	for _, a := range given {
		values[a.name] = a.value
	}
	config, err := dynamic(typ, tftypes.NewValue(typ, values))
	if err != nil {
		return c, all, err
	}
	checked, err := w.server.ValidateResourceConfig(ctx, &tfprotov6.ValidateResourceConfigRequest{TypeName: o.Type,
		Config: config, ClientCapabilities: canWriteOnly})
	if err != nil {
		return c, all, fmt.Errorf("validate %s %s: %w", o.Type, o.ID, err)
	}
	if all.add(checked.Diagnostics); len(all.errors) > 0 {
		return c, all, nil
	}
	prior, err := dynamic(typ, o.state)
	if err != nil {
		return c, all, err
	}
	proposed, err := dynamic(typ, tftypes.NewValue(typ, propose(schema, values, o.attrs)))
	if err != nil {
		return c, all, err
	}
	resp, err := w.server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{TypeName: o.Type,
		PriorState: prior, ProposedNewState: proposed, Config: config, PriorPrivate: o.private, PriorIdentity: o.identity})
	if err != nil {
		return c, all, fmt.Errorf("plan %s %s: %w", o.Type, o.ID, err)
	}
	if all.add(resp.Diagnostics); len(all.errors) > 0 {
		return c, all, nil
	}
	planned, err := attributes(resp.PlannedState, typ)
	if err != nil {
		return c, all, err
	}
	return differences(schema, o.attrs, planned), all, nil
}

// propose fills what is computed and not configured from the state, as engines do.
func propose(schema *tfprotov6.Schema, config, state map[string]tftypes.Value) map[string]tftypes.Value {
	out := map[string]tftypes.Value{}
	for _, a := range schema.Block.Attributes {
		out[a.Name] = config[a.Name]
		if a.Computed && config[a.Name].IsNull() {
			out[a.Name] = state[a.Name]
		}
	}
	return out
}

// changes are what a plan would change.
type changes struct {
	told []string // by attribute
	any  bool     // also if all of it is known after the apply only
}

// differences compares a plan with the state. What follows from a change, and is known after
// the apply, is not told.
func differences(schema *tfprotov6.Schema, state, planned map[string]tftypes.Value) (c changes) {
	for _, a := range schema.Block.Attributes {
		is, was := planned[a.Name], state[a.Name]
		if is.Equal(was) {
			continue
		}
		c.any = true
		if is.IsFullyKnown() && a.Name != "change" { // which says what the others do to the host
			c.told = append(c.told, fmt.Sprintf("%s: %s -> %s", a.Name, oneLine(was), oneLine(is)))
		}
	}
	return c
}

// consents are what findings ask for if somebody's definition is to be taken over. Other
// consents are for people.
func (w *Walk) consents(kind string, errs []Problem) form {
	types, _ := w.schema.ResourceSchemas[kind].ValueType().(tftypes.Object)
	for _, p := range errs {
		lines := slices.DeleteFunc(finding.LinesAllowed(p.Detail), func(l string) bool {
			return !strings.HasPrefix(l, "adopt_")
		})
		if len(lines) == 0 {
			continue
		}
		v, err := literal("{\n"+strings.Join(lines, "\n")+"\n}", types.AttributeTypes[finding.Allow])
		if err == nil {
			return form{{name: finding.Allow, value: v}} // each finding on an object has all of them
		}
	}
	return nil
}

// literal reads a value as HCL writes it.
func literal(expression string, typ tftypes.Type) (tftypes.Value, error) {
	parsed, diags := hclsyntax.ParseExpression([]byte(expression), "", hcl.InitialPos)
	if diags.HasErrors() {
		return tftypes.Value{}, diags
	}
	v, diags := parsed.Value(nil)
	if diags.HasErrors() {
		return tftypes.Value{}, diags
	}
	data, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return tftypes.Value{}, fmt.Errorf("encode a consent: %w", err)
	}
	return tfprotov6.DynamicValue{JSON: data}.Unmarshal(typ)
}

func oneLine(v tftypes.Value) string {
	return strings.Join(strings.Fields(expression(v)), " ")
}

// Starter gives a new walk.
type Starter func(context.Context) (*Walk, error)

func (o *Object) take(ctx context.Context, w *Walk) error {
	all, err := w.adopt(ctx, o)
	if err != nil {
		return err
	}
	switch {
	case len(all.errors) > 0:
		o.Reason = &all.errors[0]
	case o.attrs != nil && !o.worth() && len(all.warnings) > 0: // it could not be read
		o.Reason = &all.warnings[0]
		o.Reason.Detail = strings.Replace(o.Reason.Detail, "The state keeps the values that were read last. ", "", 1)
	}
	return nil
}
