// Package managed is what the resources of hosts have in common: create, read, update, delete, plan
// and import, once for all of them. A kind of object says with Kind how it is called and what its
// arguments are for, and does with Object what only it can do. provider/port is the one to copy.
//
// It must not know one kind of object.
package managed

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// Kind is how objects of one kind are called, and what their arguments are for.
type Kind struct {
	Name    string // of the resource: "infiniband_port"
	Thing   string // one object, in a sentence: "port"
	Change  string // verb of an apply: "set"
	Remove  string // verb of a destroy: "forget"
	Removed string // what a destroy takes away: "setting of port"
	// HostIn is the argument with the host, or with an id that begins with it.
	HostIn string
	// By is how an import names one.
	By session.Name
	// Timeout is for each operation that the configuration has no limit for.
	Timeout time.Duration
	// Live are the attributes that the host decides, see planned.Steady.
	Live []string
	// Kept are the arguments that a destroy needs from the state.
	Kept []string
	// Stores has an apply store what was read back without a comparison with the plan: the host
	// spells it in its own way, and Apply has compared it.
	Stores bool
	// BySlot says that what an object leaves on its host is named after the slot of its card. A card that has moved
	// takes it along.
	BySlot bool
}

// Place is where one object is.
type Place struct {
	Host string
	ID   string // as the resource names it
}

// Object is what only this kind of object can do. M is the model of its resource, Q what is asked
// for, L what a look has found, and S what is kept beside the state, where no plan shows it.
//
// Hooks never add what the skeleton adds: the errors that they return, and their findings.
type Object[M, Q, L, S any] interface {
	Schema(ctx context.Context) schema.Schema
	// Request reads what a model asks for. Consents are in the configuration alone; there is none
	// of a state.
	Request(ctx context.Context, m, config *M) (Q, error)
	Place(q Q) Place
	// Key is the same under all names of the machine, once that was looked at.
	Key(q Q) string
	// Ready reports whether a plan can look at the object. If not, it has told why.
	Ready(ctx context.Context, s *Step[M, Q, L]) bool
	// Find finds the object in what was read of its host. It may complete what is asked for with
	// what the host decides.
	Find(s *inventory.Snapshot, q *Q) L
	// Presence says after a look for a refresh whether the object is there.
	Presence(q Q, l L, diags *diag.Diagnostics) session.Presence
	// Differences says in what the host differs from what is asked for, one line each.
	Differences(q Q, l L) []string
	// ToDo reports whether an apply changes the host. held says that the state has what is asked for.
	ToDo(q Q, l L, held bool) bool
	// Plan fills what follows from the configuration; it reports whether the state holds all of it.
	// What other resources of the plan have to know of this one, it notes.
	Plan(ctx context.Context, s *Step[M, Q, L]) (held bool)
	// Check gives the findings on an apply.
	Check(ctx context.Context, s *Step[M, Q, L]) []finding.Finding
	// Foresee fills in, after Plan, what the plan knows of Kind.Live, in which all is unknown until then. Of an object
	// that exists it must follow from state, configuration and kept alone, which is what Remember has kept at the last
	// look; of a new one from what the host was when the walk began: others may change the host before the apply.
	Foresee(ctx context.Context, s *Step[M, Q, L], first L, kept S)
	// Remember gives what is to be kept beside the state of what a look has found. before is what was kept
	// last; false if nothing new is known.
	Remember(m *M, q Q, l L, before S) (S, bool)
	// Since gives the findings on what somebody has changed since the look that the plan rests on.
	Since(s *Step[M, Q, L], before S) []finding.Finding
	// Apply makes the object what is asked for. It says what stays on the host if it fails, at the
	// begin of a sentence; empty is nothing.
	Apply(ctx context.Context, s *Step[M, Q, L]) (r managed.Result[L], stays string, err error)
	// Fill fills a model with what was found, and what is kept of it.
	Fill(ctx context.Context, m *M, q Q, l L, kept S) diag.Diagnostics

	// WarnRemoval says what a destroy does.
	WarnRemoval(ctx context.Context, m *M, diags *diag.Diagnostics)
	// Ours reports whether something of this provider is there, which a destroy removes.
	Ours(q Q, l L) bool
	// CheckRemoval gives the findings on a destroy that is planned.
	CheckRemoval(q Q, l L) []finding.Finding
	// SinceRemoval gives those just before it. kept is what the plan rests on; nil if that is nothing.
	SinceRemoval(q Q, l L, kept *S) []finding.Finding
	// Remove takes away what an apply has left. title is the one of its notes.
	Remove(ctx context.Context, h *hosts.Host, q Q, l L, m *M) (title string, notes []string, err error)
	// Import gives the attributes that an id says. What speaks against an import, it adds.
	Import(ctx context.Context, id string, diags *diag.Diagnostics) (map[string]any, error)
}

// Step is one plan or one apply of an object, as its hooks see it.
type Step[M, Q, L any] struct {
	Plan, Config *M
	State        *M   // zero for a new object
	Exists       bool // there is a state
	Planning     bool // false just before the change
	Ask          Q
	Host         *hosts.Host
	Snap         *inventory.Snapshot
	Found        L
	// Held says that the state has what is planned, and ToDo that the host differs.
	Held, ToDo bool
	Unproven   bool // the last change was written and did not work, see planned.NoteUnproven
	// Interrupts is set by Foresee of an interrupter; unknown if that is not known.
	Interrupts types.Bool
	// Keeps is set by Plan where the state is the plan, whatever the host shows.
	Keeps bool
	Diags *diag.Diagnostics
}

// onCard is an object that is on one card, whose identity its state records.
type onCard[M any] interface {
	Card(m *M) (attribute.CardID, *types.String)
}

// asker is an object that is asked for more than the collection of its host has.
type asker[Q, L any] interface {
	Look(ctx context.Context, h *hosts.Host, q Q, l L) (L, error)
}

// proven is an object whose change is proven at the end of an apply. Works reports whether a look
// shows as much.
type proven[L any] interface{ Works(l L) bool }

// queued is an object whose changes wait for each other. Each is announced from the begin of the last
// plan of it to the end of its change, or to that of a plan which does not change it.
type queued[Q, L any] interface {
	Announce(q Q)
	Withdraw(q Q)
	// First reports whether others wait for the change of such an object.
	First(q Q, l L) bool
}

// giver is an object of which a destroy gives back what was there before. Only a plan that was told of it may announce
// that: an engine destroys also to replace, and the new object wants what is there. A new object that is the same on
// the host, as after a rename without a moved block, wants it, too.
type giver[M any] interface {
	// Gives reports whether a destroy of what the state has gives anything back.
	Gives(m *M) bool
	// WarnReplaced says what stays.
	WarnReplaced(m *M, diags *diag.Diagnostics)
}

// composed is an object with parts that another one of its kind may be, or have.
type composed[Q any] interface {
	// Parts are claims on them, by Key and Name.
	Parts(q Q) []planned.Claim
}

// takesTurn is an object that is written as cards are: when it is its turn.
type takesTurn[Q any] interface{ Turn(q Q) attribute.CardRef }

// validated is an object whose configuration is checked before any host is asked.
type validated[M any] interface {
	Validate(ctx context.Context, config *M, diags *diag.Diagnostics)
}

// Resource is the resource of one kind of object.
type Resource[M, Q, L, S any] struct {
	session.Importable
	kind   Kind
	object Object[M, Q, L, S]
}

var (
	_ resource.ResourceWithConfigure      = &Resource[any, any, any, any]{}
	_ resource.ResourceWithModifyPlan     = &Resource[any, any, any, any]{}
	_ resource.ResourceWithIdentity       = &Resource[any, any, any, any]{}
	_ resource.ResourceWithImportState    = &Resource[any, any, any, any]{}
	_ resource.ResourceWithValidateConfig = &Resource[any, any, any, any]{}
)

// New returns the resource of a kind. object gets what the provider gives to its resources.
func New[M, Q, L, S any](kind Kind, object func(*session.Resource) Object[M, Q, L, S]) *Resource[M, Q, L, S] {
	r := &Resource[M, Q, L, S]{Importable: session.NewResource(kind.Name, kind.By), kind: kind}
	r.object = object(&r.Resource)
	return r
}

// Schema implements resource.Resource.
func (r *Resource[M, Q, L, S]) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = r.object.Schema(ctx)
}

// ValidateConfig implements resource.ResourceWithValidateConfig.
func (r *Resource[M, Q, L, S]) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest,
	resp *resource.ValidateConfigResponse) {
	o, ok := r.object.(validated[M])
	if !ok {
		return
	}
	var config M
	if resp.Diagnostics.Append(req.Config.Get(ctx, &config)...); !resp.Diagnostics.HasError() {
		o.Validate(ctx, &config, &resp.Diagnostics)
	}
}

// announce announces a change, if others wait for it. The end withdraws that unless it stays.
func (r *Resource[M, Q, L, S]) announce(q Q) (end func(stays bool)) {
	o, ok := r.object.(queued[Q, L])
	if !ok {
		return func(bool) {}
	}
	o.Announce(q)
	return func(stays bool) {
		if !stays {
			o.Withdraw(q)
		}
	}
}

// at is the attribute that an error about the host belongs to.
func (k Kind) at() path.Path { return path.Root(k.HostIn) }

// what is verb, thing and identity, for errors.
func (k Kind) what(verb, id string) string { return verb + " " + k.Thing + " " + id }

// lookAt looks at an object of a host.
func (r *Resource[M, Q, L, S]) lookAt(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, q *Q) (L, error) {
	found := r.object.Find(s, q)
	if o, ok := r.object.(asker[Q, L]); ok {
		return o.Look(ctx, h, *q, found)
	}
	return found, nil
}

// limitOf is how long an operation may take; from is a plan or a state.
func (r *Resource[M, Q, L, S]) limitOf(ctx context.Context, op attribute.Operation,
	from attributes) attribute.TimeLimit {
	var given timeouts.Value
	_ = from.GetAttribute(ctx, path.Root(attribute.TimeoutsName), &given) // the schema has it
	return op.Limit(ctx, given, r.kind.Timeout)
}

type attributes interface {
	GetAttribute(ctx context.Context, at path.Path, target any) diag.Diagnostics
}

// ImportState takes the id or the identity of an object.
func (r *Resource[M, Q, L, S]) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	what := "import " + r.kind.Thing
	id, ok := r.ImportID(ctx, what, req, resp)
	if !ok {
		return
	}
	given, err := r.object.Import(ctx, id, &resp.Diagnostics)
	diagnostic.AddError(&resp.Diagnostics, what+" "+id, err)
	for name, value := range given {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), value)...)
	}
}
