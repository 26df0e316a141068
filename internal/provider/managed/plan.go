package managed

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// ModifyPlan checks what speaks against the change and says what will be done.
func (r *Resource[M, Q, L, S]) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest,
	resp *resource.ModifyPlanResponse) {
	diags := &resp.Diagnostics
	if req.Plan.Raw.IsNull() {
		r.planRemoval(ctx, req, resp)
		return
	}
	s, ok := r.request(ctx, req, diags)
	if !ok {
		return
	}
	end, looked := r.announce(s.Ask), false
	defer func() {
		end(looked && r.isAwaited(s.Ask, s.Found) && !diags.HasError() && !resp.Plan.Raw.Equal(req.State.Raw))
	}()
	if !r.claim(ctx, s, req) || !r.look(ctx, s, r.prior(ctx, s)) {
		return
	}
	looked = true
	r.Planned.AddOwed(ctx, r.object.Place(s.Ask).Host, s.Snap, diags)
	s.Unproven = planned.Unproven(ctx, req.Private, diags)
	var kept S
	session.Seen(ctx, req.Private, &kept, diags)
	if s.Held = r.object.Plan(ctx, s) && s.Exists; s.Keeps {
		planned.Steady{Held: true}.Plan(ctx, req, resp, s.Plan)
		return
	}
	s.ToDo = r.object.ToDo(s.Ask, s.Found, s.Held)
	if r.check(ctx, s) {
		r.warnMade(s)
		r.object.Foresee(ctx, s, r.first(s), kept)
		r.foreseeDrains(s)
		planned.Steady{Held: s.Held, ToDo: s.ToDo || s.Unproven, Live: r.kind.Live, Foreseen: true, Kept: r.kind.Kept}.
			Plan(ctx, req, resp, s.Plan)
	}
}

// first is the object as its host was when this walk began, before the changes of this apply.
func (r *Resource[M, Q, L, S]) first(s *Step[M, Q, L]) L {
	snap := s.Host.First()
	if snap == nil || snap == s.Snap {
		return s.Found
	}
	q := s.Ask
	return r.object.Find(snap, &q)
}

// warnMade says of a new resource that what it describes is on the host already.
func (r *Resource[M, Q, L, S]) warnMade(s *Step[M, Q, L]) {
	if !s.Exists && r.object.Ours(s.Ask, s.Found) {
		session.WarnMade(s.Diags, diagnostic.Capital(r.kind.Thing), r.object.Place(s.Ask).ID,
			r.object.Differences(s.Ask, s.Found))
	}
}

// request reads what is asked for; not ok if that is not known yet or wrong.
func (r *Resource[M, Q, L, S]) request(ctx context.Context, req resource.ModifyPlanRequest,
	diags *diag.Diagnostics) (s *Step[M, Q, L], ok bool) {
	req.Plan = planned.Foresee(req.Plan, r.kind.Live, diags)
	plan, config, state, exists := planned.Models[M](ctx, req, diags)
	s = &Step[M, Q, L]{Plan: &plan, Config: &config, State: &state, Exists: exists, Planning: true, Diags: diags}
	if diags.HasError() || r.Data == nil || !r.object.Ready(ctx, s) {
		return nil, false
	}
	var err error
	s.Ask, err = r.object.Request(ctx, &plan, &config)
	diagnostic.AddErrorAt(diags, r.kind.at(), r.kind.what("plan", r.object.Place(s.Ask).ID), err)
	return s, err == nil
}

// isAwaited reports whether others wait for a change of what was found.
func (r *Resource[M, Q, L, S]) isAwaited(q Q, found L) bool {
	o, ok := r.object.(queued[Q, L])
	return ok && o.First(q, found)
}

// claim reports whether no other resource has the object. It comes before the object is judged: of
// two resources that cannot both be, the one that is planned later finds the other.
func (r *Resource[M, Q, L, S]) claim(ctx context.Context, s *Step[M, Q, L], req resource.ModifyPlanRequest) bool {
	if _, _, _, err := r.Look(ctx, r.object.Place(s.Ask).Host); err != nil {
		return true // the look at the object says so
	}
	at := r.object.Place(s.Ask)
	all := []planned.Claim{{Key: r.object.Key(s.Ask), Name: at.ID, HostIn: r.kind.HostIn}}
	if o, ok := r.object.(composed[Q]); ok {
		all = append(all, o.Parts(s.Ask)...)
	}
	for _, c := range all {
		if !r.Claim(ctx, "plan "+r.kind.Thing, c, req, s.Diags) {
			return false
		}
	}
	if _, gives := r.object.(giver[M]); gives && !s.Exists && r.Planned.Stays(r.given(s.Ask)) {
		return !r.refuses(ctx, s, r.refuseGiven(s.Ask))
	}
	return !r.refuses(ctx, s, r.CheckName(at.Host))
}

// given stands for what a destroy gives back of an object. No new object may want it: no plan tells which of the two is
// first.
func (r *Resource[M, Q, L, S]) given(q Q) planned.Object {
	return planned.Object{Kind: r.kind.Name + " given back", Key: r.object.Key(q)}
}

func (r *Resource[M, Q, L, S]) refuseGiven(q Q) []finding.Finding {
	return []finding.Finding{finding.RestoreOfManagedCard.Find("Card %s", r.object.Place(q).ID)}
}

// checkGiven refuses a destroy that would give back what a new object of this plan wants.
func (r *Resource[M, Q, L, S]) checkGiven(q Q, state *M) []finding.Finding {
	o, ok := r.object.(giver[M])
	if !ok || !o.Gives(state) || r.Restores.SetApplying() || !r.Planned.Goes(r.given(q)) {
		return nil
	}
	return r.refuseGiven(q)
}

// prior is what a plan knows of the identity of the card.
func (r *Resource[M, Q, L, S]) prior(ctx context.Context, s *Step[M, Q, L]) types.String {
	o, ok := r.object.(onCard[M])
	if !ok {
		return types.StringNull()
	}
	was, recorded := o.Card(s.State)
	is, _ := o.Card(s.Plan)
	return r.Prior(ctx, was, is, *recorded)
}

// look looks at the object for a change; false if that failed, or if its card is not the recorded one.
func (r *Resource[M, Q, L, S]) look(ctx context.Context, s *Step[M, Q, L], record types.String) bool {
	at := r.object.Place(s.Ask)
	verb := r.kind.Change
	if o, ok := r.object.(onCard[M]); ok {
		id, identity := o.Card(s.Plan)
		card := r.RecordedCard(ctx, id, record, r.kind.what(verb, at.ID), s.Diags)
		if card == nil || r.refuses(ctx, s, card.Strange()) {
			return false
		}
		s.Host, s.Snap, *identity = card.Host, card.Snap, card.Identity
	} else {
		var err error
		if s.Planning {
			verb = "plan"
		}
		if s.Host, _, s.Snap, err = r.Look(ctx, at.Host); err != nil {
			diagnostic.AddErrorAt(s.Diags, r.kind.at(), r.kind.what(verb, at.ID), err)
			return false
		}
	}
	var err error
	if s.Found, err = r.lookAt(ctx, s.Host, s.Snap, &s.Ask); err != nil {
		diagnostic.AddErrorAt(s.Diags, r.kind.at(), r.kind.what(verb, at.ID), err)
	}
	return err == nil
}

// check adds what speaks against the change and reports whether it may be done.
func (r *Resource[M, Q, L, S]) check(ctx context.Context, s *Step[M, Q, L]) bool {
	at := r.object.Place(s.Ask)
	if only := r.OnlyRead(at.Host, r.object.Differences(s.Ask, s.Found)...); s.ToDo && len(only) > 0 {
		return !r.refuses(ctx, s, only) // no other finding helps anybody
	}
	return !r.refuses(ctx, s, r.object.Check(ctx, s))
}

// refuses adds findings on the change and reports whether one of them blocks.
func (r *Resource[M, Q, L, S]) refuses(ctx context.Context, s *Step[M, Q, L], found []finding.Finding) bool {
	add, what := diagnostic.AddFindings, r.kind.what(r.kind.Change, r.object.Place(s.Ask).ID)
	if s.Planning {
		add = diagnostic.AddPlanned
	}
	return add(ctx, s.Diags, what, found)
}

// planRemoval says what a destroy does, and checks what speaks against it. A host that does not
// answer now is asked again by the destroy itself.
func (r *Resource[M, Q, L, S]) planRemoval(ctx context.Context, req resource.ModifyPlanRequest,
	resp *resource.ModifyPlanResponse) {
	diags := &resp.Diagnostics
	if _, ok := r.object.(giver[M]); ok && r.Data != nil {
		planned.NoteDestroy(ctx, resp.Private, r.Restores.Walk(), diags)
	}
	var state M
	diags.Append(req.State.Get(ctx, &state)...)
	r.object.WarnRemoval(ctx, &state, diags)
	r.CanLeave(r.kind.what(r.kind.Remove, session.IDOf(req.State)), r.kind.HostIn, req.State, "", diags)
	q, err := r.object.Request(ctx, &state, new(M))
	if err != nil {
		return // the destroy itself says it
	}
	at := r.object.Place(q)
	what := r.kind.what(r.kind.Remove, at.ID)
	if !r.HostReady(types.StringValue(at.Host)) {
		return
	}
	_, _, snap, lookErr := r.Look(ctx, at.Host)
	var found L
	if lookErr == nil {
		found = r.object.Find(snap, &q)
		r.Planned.AddOwed(ctx, at.Host, snap, diags)
	}
	if r.Hosts[at.Host].Observe {
		if lookErr != nil || r.object.Ours(q, found) {
			diagnostic.AddFindings(ctx, diags, what, r.OnlyRead(at.Host))
		}
		return
	}
	diagnostic.AddFindings(ctx, diags, what, r.checkGiven(q, &state))
	if r.Drop(ctx, r.kind.Remove+" "+r.kind.Thing, r.object.Key(q), at.ID, diags) && lookErr == nil {
		diagnostic.AddFindings(ctx, diags, what, r.object.CheckRemoval(q, found))
	}
}
