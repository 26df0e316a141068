package acctest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Validate checks a configuration without a configured provider.
func (w *Workspace) Validate(ctx context.Context, cfg Config) (Diags, error) {
	p, err := newProcess(w.factory)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, r := range cfg {
		values[r.Address()] = Unknown
	}
	var found Diags
	for _, r := range cfg {
		_, typ, err := p.resourceType(r.Type)
		if err != nil {
			return found, err
		}
		config, _, err := ready(r, typ, values)
		if err != nil {
			return found, err
		}
		resp, err := p.server.ValidateResourceConfig(ctx,
			&tfprotov6.ValidateResourceConfigRequest{TypeName: r.Type, Config: dynamic(typ, config),
				ClientCapabilities: canWriteOnly})
		if err != nil {
			return found, err
		}
		found = append(found, diagsOf(PhaseValidate, r.Address(), resp.Diagnostics)...)
	}
	return found, nil
}

// Plan validates, refreshes the state and plans. A problem of one resource keeps
// those from being planned that refer to it, and no others.
func (w *Workspace) Plan(ctx context.Context, cfg Config) (*Plan, error) {
	plan := &Plan{}
	var err error
	if plan.Diags, err = w.Validate(ctx, cfg); err != nil || plan.Diags.HasError() {
		return plan, err
	}
	defer w.Ended()
	p, diags, err := w.start(ctx)
	plan.Diags = append(plan.Diags, diags...)
	if err != nil || diags.HasError() {
		return plan, err
	}
	read, err := w.refresh(ctx, p)
	plan.Diags = append(plan.Diags, read...)
	if err != nil || read.HasError() {
		return plan, err
	}
	values := map[string]any{}
	err = w.walk(cfg, w.Together, func(r Resource) error {
		change, diags, failed := w.planOne(ctx, p, r, w.known(values))
		if failed != nil {
			return failed
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		plan.Diags = append(plan.Diags, diags...)
		if change == nil || diags.HasError() {
			return nil
		}
		schema := p.schema.ResourceSchemas[r.Type]
		for _, text := range liberties(schema, change.config, change.Prior, change.Planned) {
			plan.Broken = append(plan.Broken, r.Address()+": "+text)
		}
		values[r.Address()] = Decode(change.Planned)
		plan.Changes = append(plan.Changes, change)
		return nil
	})
	if err != nil {
		return plan, err
	}
	return plan, w.planDeletes(ctx, p, cfg, plan)
}

// walk calls do for resources, in their order, one after the other, until an error.
// Together it begins each as soon as those have ended that it waits for.
func (w *Workspace) walk(resources []Resource, together bool, do func(Resource) error) error {
	var (
		wg     sync.WaitGroup
		failed error
	)
	ended := map[string]chan struct{}{}
	for _, r := range resources {
		var waits []chan struct{}
		for _, address := range r.waitsFor() {
			if other := ended[address]; other != nil {
				waits = append(waits, other)
			}
		}
		over := make(chan struct{})
		ended[r.Address()] = over
		wg.Go(func() {
			defer close(over)
			for _, other := range waits {
				<-other
			}
			if err := do(r); err != nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				failed = errors.Join(failed, err)
			}
		})
		if together {
			continue
		}
		if wg.Wait(); failed != nil {
			break
		}
	}
	wg.Wait()
	return failed
}

// known is what others may see of values for now.
func (w *Workspace) known(values map[string]any) map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(values)
}

func (w *Workspace) planDeletes(ctx context.Context, p *process, cfg Config, plan *Plan) error {
	for address, obj := range w.State {
		if slices.ContainsFunc(cfg, func(r Resource) bool { return r.Address() == address }) {
			continue
		}
		_, typ, err := p.resourceType(obj.Type)
		if err != nil {
			return err
		}
		null := tftypes.NewValue(typ, nil)
		resp, err := p.server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
			TypeName: obj.Type, PriorState: dynamic(typ, obj.Value), ProposedNewState: dynamic(typ, null), Config: dynamic(typ,
				null), PriorPrivate: obj.Private,
			PriorIdentity: obj.Identity,
		})
		if err != nil {
			return err
		}
		plan.Diags = append(plan.Diags, diagsOf(PhasePlan, address, resp.Diagnostics)...)
		name := address[len(obj.Type)+1:]
		plan.Changes = append(plan.Changes, &Change{
			Resource: Resource{Type: obj.Type,
				Name: name}, Action: Delete, Prior: obj.Value, Planned: null, config: null, private: resp.PlannedPrivate,
			identity: resp.PlannedIdentity,
		})
	}
	return nil
}

// planOne plans one resource with the values that are known of others; nil if
// something that it needs failed.
func (w *Workspace) planOne(ctx context.Context, p *process, r Resource,
	values map[string]any) (*Change, Diags, error) {
	schema, typ, err := p.resourceType(r.Type)
	if err != nil {
		return nil, nil, err
	}
	config, ok, err := ready(r, typ, values)
	if err != nil || !ok {
		return nil, nil, err
	}
	change := &Change{Resource: r, Prior: tftypes.NewValue(typ, nil), config: config, Action: Create}
	var private []byte
	var identity *tfprotov6.ResourceIdentityData
	if obj := w.object(r.Address()); obj != nil && !obj.Tainted {
		change.Prior, private, identity = obj.Value, obj.Private, obj.Identity
	}
	// Core validates each configuration once more when all that is known is known.
	checked, err := p.server.ValidateResourceConfig(ctx,
		&tfprotov6.ValidateResourceConfigRequest{TypeName: r.Type, Config: dynamic(typ, config),
			ClientCapabilities: canWriteOnly})
	if err != nil {
		return nil, nil, err
	}
	diags := diagsOf(PhaseValidate, r.Address(), checked.Diagnostics)
	if diags.HasError() {
		return change, diags, nil
	}
	resp, err := p.server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: r.Type, PriorState: dynamic(typ, change.Prior), Config: dynamic(typ, config), PriorPrivate: private,
		ProposedNewState: dynamic(typ, proposedState(schema, typ, config, change.Prior)), PriorIdentity: identity,
	})
	if err != nil {
		return nil, nil, err
	}
	diags = append(diags, diagsOf(PhasePlan, r.Address(), resp.Diagnostics)...)
	if diags.HasError() {
		return change, diags, nil
	}
	if change.Planned, err = resp.PlannedState.Unmarshal(typ); err != nil {
		return nil, diags, err
	}
	change.private, change.identity = resp.PlannedPrivate, resp.PlannedIdentity
	change.Action = w.action(change, slices.ContainsFunc(resp.RequiresReplace, change.changes))
	return change, diags, nil
}

// object is what the state has of a resource; nil if nothing.
func (w *Workspace) object(address string) *Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.State[address]
}

// changes reports whether a planned value differs from the prior one. Core takes no
// notice of a path to be replaced whose value stays.
func (c *Change) changes(at *tftypes.AttributePath) bool {
	was, _, errWas := tftypes.WalkAttributePath(c.Prior, at)
	is, _, errIs := tftypes.WalkAttributePath(c.Planned, at)
	prior, okWas := was.(tftypes.Value)
	planned, okIs := is.(tftypes.Value)
	return errWas != nil || errIs != nil || !okWas || !okIs || !prior.Equal(planned)
}

// action is what core makes of a planned value.
func (w *Workspace) action(c *Change, replace bool) Action {
	obj := w.object(c.Resource.Address())
	switch {
	case replace, obj != nil && obj.Tainted:
		return Replace
	case c.Prior.IsNull():
		return Create
	case c.Planned.Equal(c.Prior):
		return NoOp
	}
	return Update
}

// Apply carries out a plan in a new provider. It plans each resource again just
// before, as core does, and keeps going past failures of others.
func (w *Workspace) Apply(ctx context.Context, plan *Plan) (Diags, error) {
	defer w.Ended()
	p, found, err := w.start(ctx)
	if err != nil || found.HasError() {
		return found, err
	}
	values := map[string]any{}
	for address, obj := range w.State {
		values[address] = Decode(obj.Value)
	}
	for _, c := range plan.Changes {
		if c.Action != NoOp {
			delete(values, c.Resource.Address())
		}
	}
	changed, err := w.applyAll(ctx, p, orderedChanges(plan.Changes), values)
	return append(found, changed...), err
}

// applyAll applies changes, deletions one after the other.
func (w *Workspace) applyAll(ctx context.Context, p *process, changes []*Change,
	values map[string]any) (found Diags, err error) {
	byAddress := map[string]*Change{}
	var deleted, others []Resource
	for _, c := range changes {
		byAddress[c.Resource.Address()] = c
		if c.Action == Delete {
			deleted = append(deleted, c.Resource)
		} else {
			others = append(others, c.Resource) // also a no-op, which passes the wait on
		}
	}
	apply := func(r Resource) error {
		c := byAddress[r.Address()]
		if c.Action == NoOp {
			return nil
		}
		diags, failed := w.applyOne(ctx, p, c, values)
		w.mu.Lock()
		defer w.mu.Unlock()
		found = append(found, diags...)
		return failed
	}
	if err = w.walk(deleted, false, apply); err == nil {
		err = w.walk(others, w.Together, apply)
	}
	return found, err
}

// orderedChanges puts deletions first, last made first gone.
func orderedChanges(changes []*Change) []*Change {
	out := slices.Clone(changes)
	slices.SortStableFunc(out, func(a, b *Change) int { return rank(a) - rank(b) })
	return out
}

func rank(c *Change) int {
	if c.Action != Delete {
		return 100
	}
	return -slices.Index(teardown, c.Resource.Type)
}

// teardown lists types in the order in which they depend on each other.
var teardown = []string{
	"infiniband_card", "infiniband_firmware_image", "infiniband_firmware", "infiniband_guids", "infiniband_link_type",
	"infiniband_opensm", "infiniband_ipoib_interface",
}

func (w *Workspace) applyOne(ctx context.Context, p *process, c *Change, values map[string]any) (Diags, error) {
	r := c.Resource
	address := r.Address()
	if c.Action == Replace {
		return nil, fmt.Errorf("%s: a replace is planned, which nothing of this provider should need here", address)
	}
	_, typ, err := p.resourceType(r.Type)
	if err != nil {
		return nil, err
	}
	again := c
	var diags Diags
	if c.Action != Delete {
		again, diags, err = w.planOne(ctx, p, r, w.known(values))
		if err != nil || again == nil {
			return diags, err
		}
		if diags.HasError() {
			return diags, nil
		}
		if off := differences("", c.Planned, again.Planned); len(off) > 0 { // also if nothing is left to do
			return append(diags, Diag{Phase: PhaseApply, Address: address, Error: true,
				Summary: "Provider produced inconsistent final plan", Detail: fmt.Sprint(off)}), nil
		}
	}
	if again.Action == NoOp {
		// Core asks the provider for nothing then: the state keeps what the plan had refreshed.
		w.mu.Lock()
		defer w.mu.Unlock()
		values[address] = Decode(c.Prior)
		return diags, nil
	}
	resp, err := p.server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: r.Type, PriorState: dynamic(typ, c.Prior), PlannedState: dynamic(typ, again.Planned), Config: dynamic(typ,
			again.config), PlannedPrivate: again.private,
		PlannedIdentity: again.identity,
	})
	if err != nil {
		return diags, err
	}
	applied := diagsOf(PhaseApply, address, resp.Diagnostics)
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(diags, w.record(c, again, resp, typ, applied, values)...), nil
}

// record stores what core would store, and complains where core would.
func (w *Workspace) record(c, again *Change, resp *tfprotov6.ApplyResourceChangeResponse, typ tftypes.Object,
	applied Diags, values map[string]any) Diags {
	address := c.Resource.Address()
	state, err := resp.NewState.Unmarshal(typ)
	if err != nil {
		return append(applied, Diag{Phase: PhaseApply, Address: address, Error: true, Summary: "Unreadable state",
			Detail: err.Error()})
	}
	failed := applied.HasError()
	switch {
	case state.IsNull() && c.Action == Delete, state.IsNull() && failed && c.Action == Create:
		delete(w.State, address)
		return applied
	case state.IsNull():
		return append(applied, Diag{Phase: PhaseApply, Address: address, Error: true,
			Summary: "Missing resource state after apply"})
	}
	w.State[address] = &Object{Type: c.Resource.Type, Value: state, Private: resp.Private, Identity: resp.NewIdentity,
		Tainted: failed && c.Action == Create}
	if failed {
		return applied
	}
	values[address] = Decode(state)
	if off := differences("", again.Planned, state); len(off) > 0 {
		w.State[address].Tainted = c.Action == Create
		return append(applied, Diag{Phase: PhaseApply, Address: address, Error: true,
			Summary: "Provider produced inconsistent result after apply", Detail: fmt.Sprint(off)})
	}
	return applied
}
