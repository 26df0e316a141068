package provider

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// A method that is not overridden would let what hosts print through.
func TestServer_overrides_all_that_answer_with_diagnostics(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "server.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	overridden := map[string]bool{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			overridden[f.Name.Name] = true
		}
	}
	protocol := reflect.TypeFor[wholeServer]()
	streams := []reflect.Type{ // their results have diagnostics
		reflect.TypeFor[*tfprotov6.ListResourceServerStream](), reflect.TypeFor[*tfprotov6.InvokeActionServerStream](),
	}
	for m := range protocol.Methods() {
		_, ok := m.Type.Out(0).Elem().FieldByName("Diagnostics")
		if ok = ok || slices.Contains(streams, m.Type.Out(0)); ok != overridden[m.Name] {
			t.Errorf("%s: answers with diagnostics: %t, overridden: %t", m.Name, ok, overridden[m.Name])
		}
	}
}

type noisy struct{ tfprotov6.ProviderServer }

func (noisy) GetProviderSchema(context.Context,
	*tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{}, nil
}

func (noisy) ReadResource(context.Context, *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return &tfprotov6.ReadResourceResponse{Diagnostics: []*tfprotov6.Diagnostic{
		{Summary: "Unable to read \x1b[2J", Detail: "Stderr: \x1b]0;pwned\x07\rall is well\n"}, nil,
	}}, nil
}

func TestServer_shows_what_hosts_print_and_does_not_do_it(t *testing.T) {
	resp, err := (&plainServer{ProviderServer: noisy{}}).ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if d := resp.Diagnostics[0]; d.Summary != `Unable to read \x1b[2J` ||
		d.Detail != `Stderr: \x1b]0;pwned\x07\x0dall is well`+"\n" {
		t.Errorf("got %q, %q", d.Summary, d.Detail)
	}
}

// reading answers with an error about a value of the state, and with a refusal at an attribute.
type reading struct{ noisy }

func (reading) ReadResource(context.Context, *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	at := tftypes.NewAttributePath().WithAttributeName("card_id")
	return &tfprotov6.ReadResourceResponse{Diagnostics: []*tfprotov6.Diagnostic{
		{Severity: tfprotov6.DiagnosticSeverityError, Summary: "Invalid value for card_id: not the id of a card", Attribute: at},
		{Severity: tfprotov6.DiagnosticSeverityError, Summary: "Refusing to read: FW080 another card", Detail: "Finding: FW080", Attribute: at},
	}}, nil
}

// Only a value that does not parse is the fault of the state: another card in the slot is not.
func TestServer_blames_the_state_for_its_values_alone(t *testing.T) {
	resp, err := (&plainServer{ProviderServer: reading{}}).ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if d := resp.Diagnostics[0]; !strings.Contains(d.Detail, "The state is not as this provider writes it") {
		t.Errorf("a value: %q", d.Detail)
	}
	if d := resp.Diagnostics[1]; d.Detail != "Finding: FW080" {
		t.Errorf("a refusal: %q", d.Detail)
	}
}
