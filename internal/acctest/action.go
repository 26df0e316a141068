package acctest

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// actionServer is what actions are asked by. plugin-go has it apart from the other methods
// of a provider.
type actionServer interface {
	tfprotov6.ProviderServer
	tfprotov6.ActionServer
}

// Invoke validates, plans and invokes an action, as an engine does: it plans in one process of the
// provider, and once more in that of the apply. It ends at the first error.
func (w *Workspace) Invoke(ctx context.Context, kind string, attrs map[string]any) (progress []string, said Diags,
	err error) {
	defer w.Ended()
	for _, invoke := range []bool{false, true} {
		p, found, startErr := w.start(ctx)
		if said = append(said, found...); startErr != nil || said.HasError() {
			return nil, said, startErr
		}
		if progress, found, err = p.act(ctx, kind, attrs, invoke); err != nil || found.HasError() {
			return progress, append(said, found...), err
		}
		said = append(said, found...)
	}
	return progress, said, nil
}

// act validates and plans an action, and invokes it if that is asked for.
func (p *process) act(ctx context.Context, kind string, attrs map[string]any,
	invoke bool) (progress []string, said Diags, err error) {
	server, ok := p.server.(actionServer)
	schema := p.schema.ActionSchemas[kind]
	if !ok || schema == nil {
		return nil, nil, fmt.Errorf("there is no action %q", kind)
	}
	typ := schema.Schema.ValueType()
	value, err := Encode(typ, attrs)
	if err != nil {
		return nil, nil, err
	}
	config, name := dynamic(typ, value), "action."+kind
	checked, err := server.ValidateActionConfig(ctx,
		&tfprotov6.ValidateActionConfigRequest{ActionType: kind, Config: config})
	if err != nil {
		return nil, nil, err
	}
	if said = diagsOf(PhaseValidate, name, checked.Diagnostics); said.HasError() {
		return nil, said, nil
	}
	planned, err := server.PlanAction(ctx, &tfprotov6.PlanActionRequest{ActionType: kind, Config: config})
	if err != nil {
		return nil, said, err
	}
	if said = append(said, diagsOf(PhasePlan, name, planned.Diagnostics)...); said.HasError() || !invoke {
		return nil, said, nil
	}
	stream, err := server.InvokeAction(ctx, &tfprotov6.InvokeActionRequest{ActionType: kind, Config: config})
	if err != nil {
		return nil, said, err
	}
	progress, done, err := follow(stream, name)
	return progress, append(said, done...), err
}

// follow takes the events of an action until it has ended.
func follow(stream *tfprotov6.InvokeActionServerStream, name string) (progress []string, said Diags, err error) {
	err = fmt.Errorf("%s did not say that it has ended", name)
	for event := range stream.Events {
		switch of := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress = append(progress, of.Message)
		case tfprotov6.CompletedInvokeActionEventType:
			said, err = diagsOf(PhaseApply, name, of.Diagnostics), nil
		}
	}
	return progress, said, err
}
