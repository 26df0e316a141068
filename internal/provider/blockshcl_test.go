package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
)

// hclJudge does without an engine what `terraform validate` does: it holds
// configurations to the schemas, and asks the provider to validate them.
type hclJudge struct {
	t       *testing.T
	server  tfprotov6.ProviderServer
	schemas *tfprotov6.GetProviderSchemaResponse
}

func newHCLJudge(t *testing.T) *hclJudge {
	t.Helper()
	server, err := providerserver.NewProtocol6WithError(provider.New("test")())()
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(schemas.Diagnostics) > 0 {
		t.Fatal(err, schemas)
	}
	return &hclJudge{t, server, schemas}
}

// problems are what is wrong with a block: a configuration, the variables of an
// example, or a single argument of a resource. An ellipsis stands for what is left out.
func (j *hclJudge) problems(b block, files map[string]string) []string {
	body, err := parseHCL(b.text)
	if err != nil {
		return []string{err.Error()}
	}
	if len(body.Blocks) > 0 {
		return j.configuration(body, strings.Contains(b.text, "# …"))
	}
	variables, ok := files[path.Join(path.Dir(b.file), "variables.tf")]
	if ok {
		return assignments(body, variables)
	}
	var found []string
	for name, a := range body.Attributes {
		found = append(found, j.argument(name, a)...)
	}
	return found
}

func parseHCL(text string) (*hclsyntax.Body, error) {
	file, diags := hclsyntax.ParseConfig([]byte(text), "block", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		return nil, fmt.Errorf("%T", file.Body)
	}
	return body, nil
}

// assignments holds the values of variables to their declarations.
func assignments(body *hclsyntax.Body, declared string) (found []string) {
	variables, err := parseHCL(declared)
	if err != nil {
		return []string{err.Error()}
	}
	types := map[string]cty.Type{}
	for _, v := range variables.Blocks {
		kind, _, diags := typeexpr.TypeConstraintWithDefaults(v.Body.Attributes["type"].Expr)
		if diags.HasErrors() {
			return []string{diags.Error()}
		}
		types[v.Labels[0]] = kind
	}
	for name, a := range body.Attributes {
		kind, ok := types[name]
		if !ok {
			found = append(found, "no variable "+name)
			continue
		}
		_, problems := valueOf(a.Expr, kind)
		found = append(found, problems...)
	}
	return found
}

// argument holds one line to the resources that have such an argument.
func (j *hclJudge) argument(name string, a *hclsyntax.Attribute) []string {
	var found []string
	for _, schema := range j.schemas.ResourceSchemas {
		if of := attributesOf(schema)[name]; of != nil && (of.Optional || of.Required) {
			_, problems := valueOf(a.Expr, typeOf(of))
			if len(problems) == 0 {
				return nil
			}
			found = append(found, problems...)
		}
	}
	if len(found) == 0 {
		return []string{"no resource has an argument " + name}
	}
	return found
}

// configuration holds blocks to what they configure, and references to what there is.
func (j *hclJudge) configuration(body *hclsyntax.Body, partial bool) (found []string) {
	for _, b := range body.Blocks {
		var schema *tfprotov6.Schema
		switch b.Type {
		case "provider":
			schema = j.schemas.Provider
		case "resource":
			schema = j.schemas.ResourceSchemas[b.Labels[0]]
		case "data":
			schema = j.schemas.DataSourceSchemas[b.Labels[0]]
		case "list":
			found = append(found, config(b, j.schemas.ListResourceSchemas[b.Labels[0]], "provider", "limit",
				"include_resource")...)
			continue
		case "action":
			var of *tfprotov6.Schema
			if named := j.schemas.ActionSchemas[b.Labels[0]]; named != nil {
				of = named.Schema
			}
			found = append(append(found, j.references(b.Body)...), config(b, of, metaArguments...)...)
			continue
		case "module":
			found = append(append(found, j.references(b.Body)...), j.module(b)...)
			continue
		case "output", "terraform", "variable":
			found = append(found, j.references(b.Body)...)
			continue
		}
		if schema == nil {
			found = append(found, fmt.Sprintf("no schema for %s %q", b.Type, b.Labels))
			continue
		}
		found = append(found, j.references(b.Body)...)
		value, problems := objectOf(b.Body, attributesOf(schema), partial)
		if found = append(found, problems...); len(problems) == 0 {
			found = append(found, j.validate(b, value)...)
		}
	}
	return found
}

// module holds the arguments of the module of the examples to its variables.
func (j *hclJudge) module(b *hclsyntax.Block) (found []string) {
	text, err := os.ReadFile("../../examples/modules/lab/variables.tf")
	if err != nil {
		return []string{err.Error()}
	}
	for name := range b.Body.Attributes {
		if name != "source" && !strings.Contains(string(text), "variable \""+name+"\" {") {
			found = append(found, "no argument "+name+" of module "+b.Labels[0])
		}
	}
	return found
}

// config holds a list block, or that of an action, to its schema, and what is beside its config to the arguments of
// the engine.
func config(b *hclsyntax.Block, schema *tfprotov6.Schema, engine ...string) (found []string) {
	if schema == nil {
		return []string{fmt.Sprintf("no schema for %s %q", b.Type, b.Labels)}
	}
	for name := range b.Body.Attributes {
		if !slices.Contains(engine, name) {
			found = append(found, "no argument "+name)
		}
	}
	for _, inner := range b.Body.Blocks {
		if inner.Type != "config" {
			found = append(found, "no block "+inner.Type)
			continue
		}
		_, problems := objectOf(inner.Body, attributesOf(schema), false)
		found = append(found, problems...)
	}
	return found
}

// metaArguments are those of the engine.
var metaArguments = []string{"for_each", "count", "depends_on", "provider"}

// objectOf is the value of a block. What a partial one leaves out is unknown.
func objectOf(body *hclsyntax.Body, attrs map[string]*tfprotov6.SchemaAttribute,
	partial bool) (value cty.Value, found []string) {
	values := map[string]cty.Value{}
	for name, a := range attrs {
		values[name] = cty.NullVal(typeOf(a).WithoutOptionalAttributesDeep())
		if _, given := body.Attributes[name]; !given && a.Required {
			if values[name] = cty.UnknownVal(typeOf(a).WithoutOptionalAttributesDeep()); !partial {
				found = append(found, "missing argument "+name)
			}
		}
	}
	for name, a := range body.Attributes {
		if slices.Contains(metaArguments, name) {
			continue
		}
		of := attrs[name]
		if of == nil || !of.Optional && !of.Required {
			found = append(found, "no argument "+name)
			continue
		}
		var problems []string
		values[name], problems = valueOf(a.Expr, typeOf(of))
		found = append(found, problems...)
	}
	for _, inner := range body.Blocks {
		if inner.Type != "lifecycle" {
			found = append(found, "no block "+inner.Type)
		}
	}
	return cty.ObjectVal(values), found
}

// valueOf evaluates an expression; what it refers to is unknown.
func valueOf(expr hclsyntax.Expression, kind cty.Type) (cty.Value, []string) {
	unknown := cty.UnknownVal(kind.WithoutOptionalAttributesDeep())
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{}}
	for _, v := range expr.Variables() {
		ctx.Variables[v.RootName()] = cty.DynamicVal
	}
	value, diags := expr.Value(ctx)
	if diags.HasErrors() {
		return unknown, []string{diags.Error()}
	}
	if found := surplus(value.Type(), kind); len(found) > 0 {
		return unknown, found
	}
	converted, err := convert.Convert(value, kind)
	if err != nil {
		return unknown, []string{fmt.Sprintf("%s: %v", value.GoString(), err)}
	}
	return converted, nil
}

// surplus are the attributes of objects that their type does not have: a conversion
// would drop them.
func surplus(given, kind cty.Type) (found []string) {
	elements := func(of cty.Type) {
		switch {
		case given.IsTupleType():
			for _, e := range given.TupleElementTypes() {
				found = append(found, surplus(e, of)...)
			}
		case given.IsObjectType():
			for _, e := range given.AttributeTypes() {
				found = append(found, surplus(e, of)...)
			}
		}
	}
	switch {
	case kind.IsCollectionType():
		elements(kind.ElementType())
	case kind.IsObjectType() && given.IsObjectType():
		for name, e := range given.AttributeTypes() {
			if !kind.HasAttribute(name) {
				found = append(found, "no attribute "+name)
				continue
			}
			found = append(found, surplus(e, kind.AttributeType(name))...)
		}
	}
	return found
}

// references are checked as far as they name objects of the provider.
func (j *hclJudge) references(body *hclsyntax.Body) (found []string) {
	for _, a := range body.Attributes {
		for _, v := range a.Expr.Variables() {
			var names []string
			for _, step := range v {
				switch s := step.(type) {
				case hcl.TraverseRoot:
					names = append(names, s.Name)
				case hcl.TraverseAttr:
					names = append(names, s.Name)
				}
			}
			schemas := j.schemas.ResourceSchemas
			if names[0] == "data" {
				schemas, names = j.schemas.DataSourceSchemas, names[1:]
			}
			if !strings.HasPrefix(names[0], "infiniband_") || len(names) < 2 {
				continue
			}
			attrs := attributesOf(schemas[names[0]])
			if attrs == nil || len(names) > 2 && attrs[names[2]] == nil {
				found = append(found, "no "+strings.Join(names, "."))
			}
		}
	}
	for _, inner := range body.Blocks {
		found = append(found, j.references(inner.Body)...)
	}
	return found
}

// validate asks the provider.
func (j *hclJudge) validate(b *hclsyntax.Block, value cty.Value) (found []string) {
	packed, err := msgpack.Marshal(value, value.Type())
	if err != nil {
		return []string{err.Error()}
	}
	config := &tfprotov6.DynamicValue{MsgPack: packed}
	var said []*tfprotov6.Diagnostic
	switch b.Type {
	case "provider":
		resp, failed := j.server.ValidateProviderConfig(j.t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: config})
		if err = failed; err == nil {
			said = resp.Diagnostics
		}
	case "resource":
		resp, failed := j.server.ValidateResourceConfig(j.t.Context(),
			&tfprotov6.ValidateResourceConfigRequest{TypeName: b.Labels[0], Config: config,
				ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true}})
		if err = failed; err == nil {
			said = resp.Diagnostics
		}
	case "data":
		resp, failed := j.server.ValidateDataResourceConfig(j.t.Context(),
			&tfprotov6.ValidateDataResourceConfigRequest{TypeName: b.Labels[0], Config: config})
		if err = failed; err == nil {
			said = resp.Diagnostics
		}
	}
	if err != nil {
		return []string{err.Error()}
	}
	for _, d := range said {
		found = append(found, d.Summary+": "+d.Detail)
	}
	return found
}

func attributesOf(schema *tfprotov6.Schema) map[string]*tfprotov6.SchemaAttribute {
	if schema == nil {
		return nil
	}
	return byName(schema.Block.Attributes)
}

func byName(list []*tfprotov6.SchemaAttribute) map[string]*tfprotov6.SchemaAttribute {
	all := map[string]*tfprotov6.SchemaAttribute{}
	for _, a := range list {
		all[a.Name] = a
	}
	return all
}

// typeOf is the type that a value of an attribute is converted to.
func typeOf(a *tfprotov6.SchemaAttribute) cty.Type {
	if a.NestedType == nil {
		text, err := json.Marshal(a.Type)
		if err != nil {
			panic(err) // every type of the protocol has its form in JSON
		}
		kind, err := ctyjson.UnmarshalType(text)
		if err != nil {
			panic(err)
		}
		return kind
	}
	kinds, optional := map[string]cty.Type{}, []string(nil)
	nested := byName(a.NestedType.Attributes)
	for _, name := range slices.Sorted(maps.Keys(nested)) {
		if kinds[name] = typeOf(nested[name]); !nested[name].Required {
			optional = append(optional, name)
		}
	}
	object := cty.ObjectWithOptionalAttrs(kinds, optional)
	switch a.NestedType.Nesting {
	case tfprotov6.SchemaObjectNestingModeList:
		return cty.List(object)
	case tfprotov6.SchemaObjectNestingModeSet:
		return cty.Set(object)
	case tfprotov6.SchemaObjectNestingModeMap:
		return cty.Map(object)
	case tfprotov6.SchemaObjectNestingModeSingle, tfprotov6.SchemaObjectNestingModeInvalid:
	}
	return object
}

// What `terraform validate` refuses, the judge refuses, too.
func TestBlocks_judge_refuses(t *testing.T) {
	t.Parallel()
	j := newHCLJudge(t)
	variables := map[string]string{"x/variables.tf": "variable \"mtu\" {\n  type = number\n}\n"}
	for text, says := range map[string]string{
		"resource \"infiniband_card\" \"x\" {\n  host = \"a\"\n":                                 "Unclosed configuration block",
		"resource \"infiniband_card\" \"x\" {\n  host = \"a\"\n}\n":                              "missing argument pci_address",
		"module \"lab\" {\n  source = \"x\"\n  mtu = 2044\n}\n":                                  "no argument mtu of module lab",
		"resource \"infiniband_cart\" \"x\" {\n}\n":                                              "no schema for",
		"resource \"infiniband_guids\" \"x\" {\n  # …\n  base = \"a\"\n}\n":                      "no argument base",
		"resource \"infiniband_guids\" \"x\" {\n  # …\n  id = \"a\"\n}\n":                        "no argument id",
		"resource \"infiniband_guids\" \"x\" {\n  # …\n  base_mac = [1]\n}\n":                    "string required",
		"resource \"infiniband_guids\" \"x\" {\n  # …\n  base_mac = \"a\"\n}\n":                  "MAC",
		"resource \"infiniband_guids\" \"x\" {\n  # …\n  base_mac = infiniband_card.x.mac\n}\n":  "no infiniband_card.x.mac",
		"resource \"infiniband_guids\" \"x\" {\n  # …\n  setting {\n  }\n}\n":                    "no block setting",
		"provider \"infiniband\" {\n  hosts = { a = { address = \"b\", place = \"c\" } }\n}\n":   "no attribute place",
		"provider \"infiniband\" {\n  hosts = { a = { address = \"b\", mode = \"look\" } }\n}\n": "mode",
		"output \"x\" {\n  value = data.infiniband_cards.x.card\n}\n":                            "no infiniband_cards.x.card",
		"list \"infiniband_fabric\" \"x\" {\n}\n":                                                "no schema for list",
		"list \"infiniband_card\" \"x\" {\n  hosts = []\n}\n":                                    "no argument hosts",
		"list \"infiniband_card\" \"x\" {\n  config {\n    host = \"a\"\n  }\n}\n":               "no argument host",
		"allow_everything = true\n":                                                              "no resource has an argument allow_everything",
		"allow = { psid_change = { from = \"a\" } }\n":                                           "\"to\"",
		"allow = { psid_change = { from = \"…\", to = \"…\" } }\n":                               "",
	} {
		found := strings.Join(j.problems(block{text: text}, nil), "\n")
		if !strings.Contains(found, says) || (found == "") != (says == "") {
			t.Errorf("%s: %q, want %q", text, found, says)
		}
	}
	for text, says := range map[string]string{"mtu = 4\n": "", "mtu = []\n": "number", "mut = 4\n": "no variable mut"} {
		found := strings.Join(j.problems(block{file: "x/README.md", text: text}, variables), "\n")
		if !strings.Contains(found, says) || (found == "") != (says == "") {
			t.Errorf("%s: %q, want %q", text, found, says)
		}
	}
}
