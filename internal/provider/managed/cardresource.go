package managed

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// CardResource is the resource of one kind of CardObject.
type CardResource[M, Q, L, S any] struct {
	session.Importable
	kind   CardKind
	object CardObject[M, Q, L, S]
}

var (
	_ resource.ResourceWithConfigure   = &CardResource[any, any, any, any]{}
	_ resource.ResourceWithModifyPlan  = &CardResource[any, any, any, any]{}
	_ resource.ResourceWithIdentity    = &CardResource[any, any, any, any]{}
	_ resource.ResourceWithImportState = &CardResource[any, any, any, any]{}
)

// NewOnCard gives the resource of a kind; object makes its CardObject.
func NewOnCard[M, Q, L, S any](kind CardKind,
	object func(*session.Resource) CardObject[M, Q, L, S]) *CardResource[M, Q, L, S] {
	r := &CardResource[M, Q, L, S]{Importable: session.NewResource(kind.Name, session.CardNamed("card_id")), kind: kind}
	r.object = object(&r.Resource)
	return r
}

// Schema implements resource.Resource.
func (r *CardResource[M, Q, L, S]) Schema(ctx context.Context, _ resource.SchemaRequest,
	resp *resource.SchemaResponse) {
	resp.Schema = r.object.Schema(ctx)
}

// Create makes the card what is planned, whatever it has. A failure sets no state.
func (r *CardResource[M, Q, L, S]) Create(ctx context.Context, req resource.CreateRequest,
	resp *resource.CreateResponse) {
	r.CreateWith(ctx, req, resp, r.apply)
}

// Update does the same as Create: both converge. Timeouts alone are stored without a change of the card.
func (r *CardResource[M, Q, L, S]) Update(ctx context.Context, req resource.UpdateRequest,
	resp *resource.UpdateResponse) {
	r.UpdateWith(ctx, req, resp, r.apply)
}

// ModifyPlan gives the verdict, and says what will be done. It also runs just before a change, in a new process.
func (r *CardResource[M, Q, L, S]) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest,
	resp *resource.ModifyPlanResponse) {
	diags := &resp.Diagnostics
	if req.Plan.Raw.IsNull() {
		r.warnForgotten(ctx, req.State, diags)
		WarnOwed(ctx, &r.Resource, session.IDOf(req.State), diags)
		return
	}
	plan, config, state, exists := planned.Models[M](ctx, req, diags)
	if diags.HasError() || r.Data == nil {
		return
	}
	s := &CardStep[M, Q, L, S]{Plan: &plan, Config: &config, State: &state, Exists: exists, Planning: true, Diags: diags}
	was, is := r.object.Fields(&state), r.object.Fields(&plan)
	if !r.ClaimCard(ctx, "plan "+r.kind.of(), is.CardID, req, diags) ||
		!r.look(ctx, s, r.Prior(ctx, was.CardID, is.CardID, was.CardIdentity)) || session.LeftAlone(s.At, req, resp) {
		return
	}
	if s.Held = exists && r.object.Holds(s); s.Held && r.object.Keeps(s) {
		planned.Steady{Held: true}.Plan(ctx, req, resp, s.Plan)
		return
	}
	live, ok := r.assess(ctx, s)
	if !ok {
		return
	}
	planned.Steady{Held: s.Held, ToDo: r.object.ToDo(s), Live: live}.Plan(ctx, req, resp, s.Plan)
	r.announce(s)
}

// announce says that the host will be restarted, where no attribute of the plan does.
func (r *CardResource[M, Q, L, S]) announce(s *CardStep[M, Q, L, S]) {
	shown := !s.Held && r.object.Fields(s.Plan).ShownAfter(r.object.Fields(s.State).Restart)
	if !shown && s.Verdict.Activation == safety.ActivationReboot {
		s.At.WarnRestart(s.Diags, r.object.Restarts(s))
	}
}

// look looks at the card, and reads what is asked of it. It reports whether that is known and right;
// else the diagnostics say why.
func (r *CardResource[M, Q, L, S]) look(ctx context.Context, s *CardStep[M, Q, L, S], record types.String) bool {
	f := r.object.Fields(s.Config)
	ref, ok := r.AskedCard(ctx, r.kind.Thing, f.CardID, r.object.Known(s.Config),
		r.kind.Awaits+" comes from something that does not exist yet", s.Diags)
	if !ok {
		return false
	}
	what := "plan " + r.kind.of() + " " + ref.String()
	f.Activation, f.CardIdentity = types.StringValue(attribute.ActivationOf(f.Activation)), record
	if s.At = r.RecordedCard(ctx, f.CardID, record, what, s.Diags); s.At == nil {
		return false
	}
	var err error
	if s.Found, err = r.object.Look(ctx, s); err != nil {
		diagnostic.AddErrorAt(s.Diags, path.Root("card_id"), what, err)
		return false
	}
	var name string
	if s.Ask, name, err = r.object.Request(s); err != nil && name == "" {
		diagnostic.AddError(s.Diags, what, err)
	} else if err != nil {
		diagnostic.AddErrorAt(s.Diags, path.Root(name), what, err)
	}
	return err == nil
}

// assess gives the verdict and plans what follows; not ok if nothing may be planned.
func (r *CardResource[M, Q, L, S]) assess(ctx context.Context, s *CardStep[M, Q, L, S]) (live []string, ok bool) {
	var err error
	if s.Assessment, err = r.object.Assess(ctx, s); err != nil {
		diagnostic.AddErrorAt(s.Diags, path.Root("card_id"), "plan "+r.kind.of()+" "+s.At.Ref.String(), err)
		return nil, false
	}
	r.AddJobs(s.Diags, s.At.Ref, s.Jobs)
	r.Planned.AddOwed(ctx, s.At.Ref.Host, s.At.Snap, s.Diags)
	if diagnostic.AddPlanned(ctx, s.Diags, r.kind.what(s.At.Ref), diagnostic.WithoutJobs(s.Verdict.Findings)) {
		return nil, false
	}
	r.object.Fields(s.Plan).CardIdentity = s.At.Identity
	return r.object.Plan(ctx, s)
}

func (r *CardResource[M, Q, L, S]) apply(ctx context.Context, c session.Change) {
	var plan, config, state M
	c.Read(ctx, &plan, &config)
	s := &CardStep[M, Q, L, S]{Plan: &plan, Config: &config, State: &state, Exists: c.Before(ctx, &state), Diags: c.Diags}
	f := r.object.Fields(&plan)
	ref, ok := r.ChangeCard(ctx, c, r.kind.Change+" "+r.kind.Thing+" of", f.CardID,
		c.Op.Limit(ctx, f.Timeouts, r.kind.Timeout),
		func(ctx context.Context, _ attribute.CardRef) error { return r.write(ctx, c, s) })
	if ok {
		c.Confirm(ctx, r.kind.what(ref), &plan)
	}
}

// write changes the card when it is its turn. An update compares the card with what the last look before its plan has
// found, which a saved plan has; a new object has none: its plan has shown the change, or nothing is compared.
func (r *CardResource[M, Q, L, S]) write(ctx context.Context, c session.Change, s *CardStep[M, Q, L, S]) error {
	f := r.object.Fields(s.Plan)
	if !r.look(ctx, s, session.AsPlanned(f.CardIdentity)) {
		return nil
	}
	s.Becomes = r.object.Becomes(s)
	if before := new(S); c.Seen(ctx, before) {
		s.Before = before
	} else if !f.Change.IsUnknown() {
		if err := r.unannounced(s, f.Change.ValueString()); err != nil {
			return err
		}
		*before = r.object.Seen(s.Found)
		s.Before = before
	}
	var (
		done  L
		notes []string
	)
	o, can := r.object.(cardInterrupter[M, Q, L, S])
	d := Drain{Resource: &r.Resource, Name: s.At.Ref.Host, Host: s.At.Host, What: r.kind.what(s.At.Ref),
		Shown: &f.Drains, Begins: can && o.Interrupts(s), Diags: c.Diags, Late: c.Late}
	if f.Announced() && !f.Restarts.IsUnknown() {
		d.Shown = new(types.List) // the restart drains
	}
	err := d.Around(ctx, func(ctx context.Context) (applyErr error) {
		done, notes, applyErr = r.object.Apply(ctx, s)
		return applyErr
	})
	if err != nil {
		return err
	}
	r.Planned.DoneCard(s.At.Ref)
	c.NoteSeen(ctx, r.object.Seen(done))
	diagnostic.AddNotes(c.Diags, diagnostic.Capital(r.kind.of())+" "+s.At.Ref.String(), notes)
	f.Restart = d.Keeps(r.Restarted(ctx, f.Restart, s.At))
	r.object.Finish(s, done)
	return nil
}

// unannounced refuses another change than the plan of a new object has shown.
func (r *CardResource[M, Q, L, S]) unannounced(s *CardStep[M, Q, L, S], shown string) error {
	if s.Becomes == "" || s.Becomes == shown {
		return nil
	}
	was := "The plan was to write nothing."
	if shown != "" {
		was = "The plan was to change " + shown + "."
	}
	return &safety.RefusedError{What: r.kind.what(s.At.Ref), Findings: []finding.Finding{
		finding.ChangedSincePlan.Find("%s Now it would be %s. Nothing was written. Plan again.", was, s.Becomes)}}
}

// Read refreshes what the card has.
func (r *CardResource[M, Q, L, S]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state M
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	r.Identify(ctx, &req.State, resp.Identity, &resp.Diagnostics)
	f := r.object.Fields(&state)
	at := r.ReadCard(ctx, r.kind.Thing, f.CardID, &f.CardIdentity, resp)
	if at == nil {
		return
	}
	found, ok := r.object.Refresh(ctx, at, &state, &resp.Diagnostics)
	if !ok {
		return
	}
	session.NoteSeen(ctx, resp.Private, r.object.Seen(found), &resp.Diagnostics)
	f.Activation = types.StringValue(attribute.ActivationOf(f.Activation)) // null after an import
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Delete forgets: the card stays as it is.
func (r *CardResource[M, Q, L, S]) Delete(ctx context.Context, req resource.DeleteRequest,
	resp *resource.DeleteResponse) {
	r.warnForgotten(ctx, req.State, &resp.Diagnostics)
}

func (r *CardResource[M, Q, L, S]) warnForgotten(ctx context.Context, from tfsdk.State, diags *diag.Diagnostics) {
	var state M
	diags.Append(from.Get(ctx, &state)...)
	diagnostic.AddForgotten(diags, r.kind.of(), r.object.Fields(&state).CardID.ValueString(), r.kind.Stays)
}

// ImportState takes the id of the card.
func (r *CardResource[M, Q, L, S]) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	r.ImportCard(ctx, "import "+r.kind.Thing, req, resp)
}

// of is "GUIDs of card".
func (k CardKind) of() string { return k.Thing + " of card" }

// what is what an apply does, for errors.
func (k CardKind) what(ref attribute.CardRef) string {
	return k.Change + " " + k.of() + " " + ref.String()
}
