// Command schemadump writes what the documentation is generated from: the
// provider's schema in the form of `terraform providers schema -json`, or, with
// -guides, the pages of all findings and of symptoms, and the tables of hosts, of
// cards and of what is supported in the pages that are its arguments.
//
// It must not configure the provider or need a Terraform.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
)

func main() {
	guides := flag.String("guides",
		"", "directory to write the pages of findings and of symptoms to, instead of the schema to standard output")
	flag.Parse()
	run := printSchema
	if *guides != "" {
		run = func() error {
			err := errors.Join(writeFindings(filepath.Join(*guides, "findings.md")),
				writeSymptoms(filepath.Join(*guides, "troubleshooting.md")))
			for _, page := range flag.Args() {
				err = errors.Join(err, writeSections(page))
			}
			return err
		}
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "schemadump:", err)
		os.Exit(1)
	}
}

func printSchema() error {
	server, err := providerserver.NewProtocol6WithError(provider.New("dev")())()
	if err != nil {
		return err
	}
	resp, err := server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return err
	}
	for _, d := range resp.Diagnostics {
		return fmt.Errorf("%s: %s", d.Summary, d.Detail)
	}
	identities, err := server.GetResourceIdentitySchemas(context.Background(),
		&tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return err
	}
	all := map[string]any{
		"resource_identity_schemas": identitySchemas(identities.IdentitySchemas),
		"provider":                  schema(resp.Provider),
		"resource_schemas":          schemas(resp.ResourceSchemas),
		"data_source_schemas":       schemas(resp.DataSourceSchemas),
		"list_resource_schemas":     schemas(resp.ListResourceSchemas),
		"action_schemas":            actions(resp.ActionSchemas),
		"functions":                 functions(resp.Functions),
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(map[string]any{"format_version": "1.0", "provider_schemas": map[string]any{"infiniband": all}})
}

func schemas(all map[string]*tfprotov6.Schema) map[string]any {
	out := make(map[string]any, len(all))
	for name, s := range all {
		out[name] = schema(s)
	}
	return out
}

func actions(all map[string]*tfprotov6.ActionSchema) map[string]any {
	out := make(map[string]any, len(all))
	for name, s := range all {
		out[name] = schema(s.Schema)
	}
	return out
}

func identitySchemas(all map[string]*tfprotov6.ResourceIdentitySchema) map[string]any {
	out := make(map[string]any, len(all))
	for name, s := range all {
		attrs := make(map[string]any, len(s.IdentityAttributes))
		for _, a := range s.IdentityAttributes {
			attrs[a.Name] = map[string]any{
				"type": a.Type, "description": a.Description, "required_for_import": a.RequiredForImport,
				"optional_for_import": a.OptionalForImport,
			}
		}
		out[name] = map[string]any{"version": s.Version, "attributes": attrs}
	}
	return out
}

func schema(s *tfprotov6.Schema) map[string]any {
	return map[string]any{"version": s.Version, "block": map[string]any{
		"attributes": attributes(s.Block.Attributes), "description": s.Block.Description,
		"description_kind": kind(s.Block.DescriptionKind),
	}}
}

func attributes(attrs []*tfprotov6.SchemaAttribute) map[string]any {
	out := make(map[string]any, len(attrs))
	for _, a := range attrs {
		one := map[string]any{"description": a.Description, "description_kind": kind(a.DescriptionKind)}
		if a.NestedType != nil {
			one["nested_type"] = map[string]any{"attributes": attributes(a.NestedType.Attributes),
				"nesting_mode": nesting(a.NestedType.Nesting)}
		} else {
			one["type"] = a.Type
		}
		for name, set := range map[string]bool{
			"required": a.Required, "optional": a.Optional, "computed": a.Computed, "sensitive": a.Sensitive,
			"write_only": a.WriteOnly,
		} {
			if set {
				one[name] = true
			}
		}
		out[a.Name] = one
	}
	return out
}

func kind(k tfprotov6.StringKind) string {
	if k == tfprotov6.StringKindMarkdown {
		return "markdown"
	}
	return "plain"
}

func nesting(m tfprotov6.SchemaObjectNestingMode) string {
	return strings.ToLower(m.String())
}

func functions(all map[string]*tfprotov6.Function) map[string]any {
	out := make(map[string]any, len(all))
	for name, f := range all {
		params := make([]any, 0, len(f.Parameters))
		for _, p := range f.Parameters {
			params = append(params, map[string]any{"name": p.Name, "description": p.Description, "type": p.Type})
		}
		out[name] = map[string]any{
			"summary": f.Summary, "description": f.Description, "return_type": f.Return.Type, "parameters": params,
		}
	}
	return out
}
