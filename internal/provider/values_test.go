package provider

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// hostile answers with what a host printed, in each shape that a value has.
type hostile struct{ tfprotov6.ProviderServer }

const (
	title   = "\x1b]0;pwned\x07name"
	erase   = "one\n\ttwo\x1b[2J\u202ethree\u009b"
	written = "from the configuration\x1b[0m"
)

var hostileSchema = &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{
	Attributes: []*tfprotov6.SchemaAttribute{
		{Name: "text", Type: tftypes.String, Computed: true}, {Name: "lines", Type: tftypes.List{ElementType: tftypes.String},
			Computed: true},
		{Name: "asked", Type: tftypes.String, Optional: true}, {Name: "number", Type: tftypes.Number, Computed: true},
		{Name: "later", Type: tftypes.String, Computed: true}, {Name: "none", Type: tftypes.String, Computed: true},
		{Name: "map", Type: tftypes.Map{ElementType: tftypes.String}, Computed: true},
	},
	BlockTypes: []*tfprotov6.SchemaNestedBlock{{TypeName: "block", Nesting: tfprotov6.SchemaNestedBlockNestingModeSingle,
		Block: &tfprotov6.SchemaBlock{
			Attributes: []*tfprotov6.SchemaAttribute{{Name: "text", Type: tftypes.String, Computed: true}},
		}}},
}}

// hostileValue is a value of that schema with those texts.
func hostileValue(t *testing.T, text, line, asked string) *tfprotov6.DynamicValue {
	t.Helper()
	typ, ok := hostileSchema.ValueType().(tftypes.Object)
	if !ok {
		t.Fatal("no object")
	}
	str := func(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
	v := tftypes.NewValue(typ, map[string]tftypes.Value{
		"text": str(text), "lines": tftypes.NewValue(tftypes.List{ElementType: tftypes.String},
			[]tftypes.Value{str(line), str("plain")}),
		"asked": str(asked), "number": tftypes.NewValue(tftypes.Number, 27),
		"later": tftypes.NewValue(tftypes.String, tftypes.UnknownValue), "none": tftypes.NewValue(tftypes.String, nil),
		"map":   tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, map[string]tftypes.Value{text: str(text)}),
		"block": tftypes.NewValue(typ.AttributeTypes["block"], map[string]tftypes.Value{"text": str(line)}),
	})
	dv, err := tfprotov6.NewDynamicValue(typ, v)
	if err != nil {
		t.Fatal(err)
	}
	return &dv
}

func (hostile) GetProviderSchema(context.Context,
	*tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	all := map[string]*tfprotov6.Schema{"infiniband_x": hostileSchema}
	return &tfprotov6.GetProviderSchemaResponse{ResourceSchemas: all, DataSourceSchemas: all}, nil
}

// TestServer_keeps_control_characters_of_hosts_out_of_values: an output is printed raw by
// terraform output -raw, and a multi-line text by every plan.
func TestServer_keeps_control_characters_of_hosts_out_of_values(t *testing.T) {
	ctx := t.Context()
	const plainTitle, plainErase = `\x1b]0;pwned\x07name`, "one\n\ttwo\\x1b[2J\\u202ethree\\u009b"
	want := hostileValue(t, plainTitle, plainErase, written)
	s := &plainServer{ProviderServer: answering{value: func() *tfprotov6.DynamicValue { return hostileValue(t, title, erase, written) }}}
	for name, answer := range map[string]func() (*tfprotov6.DynamicValue, error){
		"read": func() (*tfprotov6.DynamicValue, error) {
			r, err := s.ReadResource(ctx, &tfprotov6.ReadResourceRequest{TypeName: "infiniband_x", CurrentState: want})
			return r.NewState, err
		},
		"plan": func() (*tfprotov6.DynamicValue, error) {
			r, err := s.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{TypeName: "infiniband_x", Config: want})
			return r.PlannedState, err
		},
		"apply": func() (*tfprotov6.DynamicValue, error) {
			r, err := s.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{TypeName: "infiniband_x", Config: want})
			return r.NewState, err
		},
		"import": func() (*tfprotov6.DynamicValue, error) {
			r, err := s.ImportResourceState(ctx, &tfprotov6.ImportResourceStateRequest{TypeName: "infiniband_x", ID: written})
			return r.ImportedResources[0].State, err
		},
		"data source": func() (*tfprotov6.DynamicValue, error) {
			r, err := s.ReadDataSource(ctx, &tfprotov6.ReadDataSourceRequest{TypeName: "infiniband_x", Config: want})
			return r.State, err
		},
	} {
		got, err := answer()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		typ := hostileSchema.ValueType()
		have, err := got.Unmarshal(typ)
		if err != nil {
			t.Fatal(err)
		}
		expected, err := want.Unmarshal(typ)
		if name == "import" { // nothing is configured yet
			expected, err = hostileValue(t, plainTitle, plainErase, `from the configuration\x1b[0m`).Unmarshal(typ)
		}
		if err != nil {
			t.Fatal(err)
		}
		if !have.Equal(expected) {
			t.Errorf("%s:\n%s", name, cmp.Diff(expected.String(), have.String()))
		}
	}
}

// answering gives one value to every question.
type answering struct {
	hostile
	value func() *tfprotov6.DynamicValue
}

func (a answering) ReadResource(context.Context,
	*tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{NewState: a.value()}, nil
}

func (a answering) PlanResourceChange(context.Context,
	*tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	return &tfprotov6.PlanResourceChangeResponse{PlannedState: a.value()}, nil
}

func (a answering) ApplyResourceChange(context.Context,
	*tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return &tfprotov6.ApplyResourceChangeResponse{NewState: a.value()}, nil
}

func (a answering) ImportResourceState(context.Context,
	*tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	return &tfprotov6.ImportResourceStateResponse{ImportedResources: []*tfprotov6.ImportedResource{{TypeName: "infiniband_x", State: a.value()}}}, nil
}

func (a answering) ReadDataSource(context.Context,
	*tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	return &tfprotov6.ReadDataSourceResponse{State: a.value()}, nil
}
