package acctest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Factory starts a provider in this process.
type Factory func() (tfprotov6.ProviderServer, error)

// Resource is one block of a configuration. Attributes are Go data as Encode
// takes it; Ref among them refers to another resource.
type Resource struct {
	Type, Name string
	Attrs      map[string]any
	After      []string // addresses, depends_on
}

// Address is "type.name".
func (r Resource) Address() string { return r.Type + "." + r.Name }

// waitsFor are the addresses of what core applies before the resource.
func (r Resource) waitsFor() []string {
	return append(references(r.Attrs), r.After...)
}

// references are the addresses that data refers to.
func references(data any) (all []string) {
	switch data := data.(type) {
	case Ref:
		all = append(all, data.Address)
	case map[string]any:
		for _, v := range data {
			all = append(all, references(v)...)
		}
	case []any:
		for _, v := range data {
			all = append(all, references(v)...)
		}
	}
	return all
}

// With gives a copy with some attributes changed; nil removes one. Consents are changed one by one.
func (r Resource) With(changes map[string]any) Resource {
	r.Attrs = with(r.Attrs, changes)
	return r
}

func with(attrs, changes map[string]any) map[string]any {
	attrs = maps.Clone(attrs)
	for key, v := range changes {
		given, has := attrs[key].(map[string]any)
		if more, ok := v.(map[string]any); ok && has && key == "allow" {
			v = with(given, more)
		}
		attrs[key] = v
		if v == nil {
			delete(attrs, key)
		}
	}
	return attrs
}

// Allow is the argument with one consent, among attributes of a resource.
func Allow(key string, v any) map[string]any {
	return map[string]any{"allow": map[string]any{key: v}}
}

// Ref is a reference to an attribute of another resource.
type Ref struct {
	Address string
	Path    []any
}

// To refers to an attribute.
func To(address string, path ...any) Ref { return Ref{Address: address, Path: path} }

// Config is a configuration; what a resource refers to comes before it.
type Config []Resource

// With gives a copy in which attributes of one resource are changed.
func (c Config) With(address string, changes map[string]any) Config {
	out := slices.Clone(c)
	for i, r := range out {
		if r.Address() == address {
			out[i] = r.With(changes)
			return out
		}
	}
	panic("acctest: there is no " + address)
}

// Without gives a copy that leaves resources out.
func (c Config) Without(addresses ...string) Config {
	return slices.DeleteFunc(slices.Clone(c), func(r Resource) bool { return slices.Contains(addresses, r.Address()) })
}

// Object is what the state holds of one resource.
type Object struct {
	Type    string
	Value   tftypes.Value
	Private []byte
	Tainted bool
	// Identity is nil before the provider has given one.
	Identity *tfprotov6.ResourceIdentityData
}

// Workspace plays core: it holds a provider configuration and a state, and
// walks configurations in the order that they are written in. Like core it
// starts a new provider for each walk, plans again before it applies, and
// complains if the provider breaks its word.
type Workspace struct {
	Provider map[string]any
	State    map[string]*Object
	// Ended is called after each walk, when core would have ended the provider.
	Ended func()
	// Together says that resources are planned and changed at once, as core does, but for those
	// that wait for others by a reference or by After. Deletions come one after the other.
	Together bool

	factory Factory
	mu      sync.Mutex // what walks together share
}

// Action is what core would show in front of a resource.
type Action string

// The actions.
const (
	NoOp    Action = "no-op"
	Create  Action = "create"
	Update  Action = "update"
	Replace Action = "replace"
	Delete  Action = "delete"
)

// Change is what is planned for one resource.
type Change struct {
	Resource Resource
	Action   Action
	Prior    tftypes.Value
	Planned  tftypes.Value
	config   tftypes.Value
	private  []byte
	identity *tfprotov6.ResourceIdentityData
}

// Plan is the outcome of a plan.
type Plan struct {
	Changes []*Change
	Diags   Diags
	// Broken lists where the provider broke the rules of the protocol.
	Broken []string
}

// Actions gives the actions by address, without those that do nothing.
func (p *Plan) Actions() map[string]Action {
	out := map[string]Action{}
	for _, c := range p.Changes {
		if c.Action != NoOp {
			out[c.Resource.Address()] = c.Action
		}
	}
	return out
}

// Get gives a planned attribute.
func (p *Plan) Get(address string, path ...any) any {
	for _, c := range p.Changes {
		if c.Resource.Address() == address {
			return At(Decode(c.Planned), path...)
		}
	}
	return nil
}

// Get gives an attribute of the state.
func (w *Workspace) Get(address string, path ...any) any {
	obj, ok := w.State[address]
	if !ok {
		return nil
	}
	return At(Decode(obj.Value), path...)
}

// NewWorkspace starts with an empty state.
func NewWorkspace(factory Factory, provider map[string]any) *Workspace {
	return &Workspace{Provider: provider, State: map[string]*Object{}, factory: factory, Ended: func() {}}
}

// start gives a configured provider.
func (w *Workspace) start(ctx context.Context) (*process, Diags, error) {
	p, err := newProcess(w.factory)
	if err != nil {
		return nil, nil, err
	}
	diags, err := p.configure(ctx, w.Provider)
	return p, diags, err
}

// evaluate replaces references by what values holds; ok is false if something
// that it refers to is missing because it failed.
func evaluate(v any, values map[string]any) (out any, ok bool) {
	switch data := v.(type) {
	case Ref:
		of, there := values[data.Address]
		return At(of, data.Path...), there
	case map[string]any:
		all := map[string]any{}
		for key, item := range data {
			if all[key], ok = evaluate(item, values); !ok {
				return nil, false
			}
		}
		return all, true
	case []any:
		all := make([]any, len(data))
		for i, item := range data {
			if all[i], ok = evaluate(item, values); !ok {
				return nil, false
			}
		}
		return all, true
	}
	return v, true
}

// ready gives the configuration of a resource, or false if what it needs failed.
func ready(r Resource, typ tftypes.Object, values map[string]any) (tftypes.Value, bool, error) {
	for _, a := range r.After {
		if _, ok := values[a]; !ok {
			return tftypes.Value{}, false, nil
		}
	}
	attrs, ok := evaluate(r.Attrs, values)
	if !ok {
		return tftypes.Value{}, false, nil
	}
	config, err := Encode(typ, attrs)
	if err != nil {
		err = fmt.Errorf("%s: %w", r.Address(), err)
	}
	return config, true, err
}

// Refresh reads every object of the state, all at once.
func (w *Workspace) refresh(ctx context.Context, p *process) (Diags, error) {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		found Diags
		first error
	)
	for _, address := range slices.Sorted(maps.Keys(w.State)) {
		wg.Go(func() {
			diags, err := w.read(ctx, p, address, &mu)
			mu.Lock()
			defer mu.Unlock()
			found = append(found, diags...)
			if err != nil && first == nil {
				first = err
			}
		})
	}
	wg.Wait()
	return found, first
}

func (w *Workspace) read(ctx context.Context, p *process, address string, mu *sync.Mutex) (Diags, error) {
	mu.Lock()
	obj := *w.State[address]
	mu.Unlock()
	_, typ, err := p.resourceType(obj.Type)
	if err != nil {
		return nil, err
	}
	resp, err := p.server.ReadResource(ctx,
		&tfprotov6.ReadResourceRequest{TypeName: obj.Type, CurrentState: dynamic(typ, obj.Value), Private: obj.Private,
			CurrentIdentity: obj.Identity})
	if err != nil {
		return nil, err
	}
	diags := diagsOf(PhaseRead, address, resp.Diagnostics)
	if diags.HasError() {
		return diags, nil
	}
	obj.Value, err = resp.NewState.Unmarshal(typ)
	was, is := identityOf(obj.Type, obj.Identity), identityOf(obj.Type, resp.NewIdentity)
	if was != nil && !reflect.DeepEqual(was, is) {
		diags = append(diags, Diag{
			Phase: PhaseRead, Address: address, Error: true, Summary: "Provider produced different identity",
			Detail: fmt.Sprint(was, " became ", is),
		})
	}
	obj.Private, obj.Identity = resp.Private, resp.NewIdentity
	mu.Lock()
	defer mu.Unlock()
	if obj.Value.IsNull() {
		delete(w.State, address)
	} else {
		w.State[address] = &obj
	}
	return diags, err
}
