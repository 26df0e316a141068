package acctest

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Listed is one result of a list resource.
type Listed struct {
	Name     string
	Identity map[string]any
	Resource any // nil if it was not asked for
}

// listServer is what list resources are asked by. plugin-go has it apart from the other
// methods of a provider.
type listServer interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
}

// List lists objects of one type, as an engine does for a list block. What takes one
// result and returns false ends it.
func (w *Workspace) List(ctx context.Context, kind string, attrs map[string]any, whole bool, limit int64,
	take func(Listed) bool) (Diags, error) {
	defer w.Ended()
	p, found, err := w.start(ctx)
	if err != nil || found.HasError() {
		return found, err
	}
	stream, said, err := p.list(ctx, kind, attrs, whole, limit)
	if found = append(found, said...); err != nil || found.HasError() {
		return found, err
	}
	for result := range stream.Results {
		found = append(found, diagsOf(PhasePlan, "list."+kind, result.Diagnostics)...)
		if result.Identity == nil {
			continue
		}
		one, err := p.listed(kind, result)
		if err != nil || !take(one) {
			return found, err
		}
	}
	return found, nil
}

// list validates a list block and begins it.
func (p *process) list(ctx context.Context, kind string, attrs map[string]any, whole bool,
	limit int64) (*tfprotov6.ListResourceServerStream, Diags, error) {
	server, ok := p.server.(listServer)
	schema := p.schema.ListResourceSchemas[kind]
	if !ok || schema == nil {
		return nil, nil, fmt.Errorf("there is no list resource %q", kind)
	}
	typ := schema.ValueType()
	config, err := Encode(typ, attrs)
	if err != nil {
		return nil, nil, err
	}
	if attrs == nil { // the block has no config
		config = tftypes.NewValue(typ, nil)
	}
	checked, err := server.ValidateListResourceConfig(ctx,
		&tfprotov6.ValidateListResourceConfigRequest{TypeName: kind, Config: dynamic(typ, config)})
	if err != nil {
		return nil, nil, err
	}
	said := diagsOf(PhaseValidate, "list."+kind, checked.Diagnostics)
	if said.HasError() {
		return nil, said, nil
	}
	stream, err := server.ListResource(ctx, &tfprotov6.ListResourceRequest{TypeName: kind,
		Config: dynamic(typ, config), IncludeResource: whole, Limit: limit})
	return stream, said, err
}

func (p *process) listed(kind string, result tfprotov6.ListResourceResult) (Listed, error) {
	one := Listed{Name: result.DisplayName, Identity: identityOf(kind, result.Identity)}
	if result.Resource == nil {
		return one, nil
	}
	value, err := result.Resource.Unmarshal(p.schema.ResourceSchemas[kind].ValueType())
	one.Resource = Decode(value)
	return one, err
}
