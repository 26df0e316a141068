package managed

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// Create makes the object what is planned, whatever is there.
func (r *Resource[M, Q, L, S]) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	r.CreateWith(ctx, req, resp, r.apply)
}

// Update does the same as Create: both converge. What only a later destroy needs is stored without
// a change of the host.
func (r *Resource[M, Q, L, S]) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.UpdateWith(ctx, req, resp, r.apply, r.kind.Kept)
}

func (r *Resource[M, Q, L, S]) apply(ctx context.Context, c session.Change) {
	r.Restores.BeginApply()
	var plan, config, state M
	c.Read(ctx, &plan, &config)
	s := &Step[M, Q, L]{Plan: &plan, Config: &config, State: &state, Exists: c.Before(ctx, &state), Diags: c.Diags}
	var err error
	s.Ask, err = r.object.Request(ctx, &plan, &config)
	at := r.object.Place(s.Ask)
	what := r.kind.what(r.kind.Change, at.ID)
	if err != nil || c.Diags.HasError() {
		diagnostic.AddError(c.Diags, what, err)
		return
	}
	end := r.announce(s.Ask)
	defer end(false)
	var result managed.Result[L]
	var kept S
	err = r.write(ctx, s.Ask, r.limitOf(ctx, c.Op, c.Plan()), func(ctx context.Context, h *hosts.Host) error {
		return r.change(ctx, c, s, func(ctx context.Context) error {
			done, stays, applyErr := r.object.Apply(ctx, s)
			if result = done; applyErr == nil {
				r.Made(r.object.Key(s.Ask))
				var known bool
				if kept, known = r.object.Remember(s.Plan, s.Ask, done.Look, kept); known {
					c.NoteSeen(ctx, kept)
				}
				applyErr = r.leaveSlot(ctx, h, s)
			}
			if stays != "" {
				applyErr = c.Leaves(applyErr, stays, at.ID)
			}
			return applyErr
		})
	})
	if _, ok := r.object.(proven[L]); ok {
		c.Unproven(ctx, err != nil)
	}
	diagnostic.AddError(c.Diags, what, err)
	diagnostic.AddNotes(c.Diags, diagnostic.Capital(r.kind.Thing)+" "+at.ID, result.Warnings)
	if c.Diags.HasError() {
		return
	}
	diagnostic.AddFindings(ctx, c.Diags, what, result.Findings)
	c.Diags.Append(r.object.Fill(ctx, &plan, s.Ask, result.Look, kept)...)
	planned.KeepForeseen(ctx, diagnostic.Capital(r.kind.Thing)+" "+at.ID, c.Plan(), r.kind.Live, &plan, c.Diags)
	if r.kind.Stores {
		c.Store(ctx, &plan)
		return
	}
	c.Confirm(ctx, what, &plan)
}

// change makes a change that may be made, with what runs around it. Drain commands may take minutes, so a host that
// was drained is looked at once more.
func (r *Resource[M, Q, L, S]) change(ctx context.Context, c session.Change, s *Step[M, Q, L],
	do func(context.Context) error) error {
	if !r.mayChange(ctx, c, s) {
		return nil
	}
	o, ok := r.object.(interrupter[M, Q, L])
	if !ok {
		return do(ctx)
	}
	at := r.object.Place(s.Ask)
	d := Drain{Resource: &r.Resource, Name: at.Host, Host: s.Host, What: r.kind.what(r.kind.Change, at.ID),
		Shown: o.Drains(s.Plan), Begins: s.ToDo && o.Interrupts(s.Ask, s.Found), Diags: c.Diags, Late: c.Late}
	return d.Around(ctx, func(ctx context.Context) error {
		if d.Applies() && !r.mayChange(ctx, c, s) {
			return nil
		}
		return do(ctx)
	})
}

// leaveSlot removes what an object has left for the slot that its card was in, unless another one has it by now.
func (r *Resource[M, Q, L, S]) leaveSlot(ctx context.Context, h *hosts.Host, s *Step[M, Q, L]) error {
	if !r.kind.BySlot || !s.Exists {
		return nil
	}
	was, err := r.object.Request(ctx, s.State, new(M))
	if err != nil {
		return err
	}
	from, at := r.object.Place(was), r.object.Place(s.Ask)
	if from == at || from.Host != at.Host || r.Left(r.kind.Removed, r.object.Key(was), from.ID, s.Diags) {
		return nil
	}
	snap, err := h.Snapshot(ctx)
	if err != nil {
		return err
	}
	title, notes, err := r.object.Remove(ctx, h, was, r.object.Find(snap, &was), s.State)
	diagnostic.AddNotes(s.Diags, title+" "+from.ID, notes)
	return err
}

// write changes the host of an object alone, and when it is its turn.
func (r *Resource[M, Q, L, S]) write(ctx context.Context, q Q, limit attribute.TimeLimit,
	do func(context.Context, *hosts.Host) error) error {
	write := func() error { return r.WriteHost(ctx, r.object.Place(q).Host, limit, do) }
	if o, ok := r.object.(takesTurn[Q]); ok {
		return r.Turns.Do(ctx, o.Turn(q), write)
	}
	return write()
}

// mayChange looks at the object once more, just before the change. What warns or refuses now belongs
// to the operator's screen as it did in the plan. It refuses to undo what the plan has not seen.
func (r *Resource[M, Q, L, S]) mayChange(ctx context.Context, c session.Change, s *Step[M, Q, L]) bool {
	var record types.String
	if o, ok := r.object.(onCard[M]); ok {
		_, identity := o.Card(s.Plan)
		record = session.AsPlanned(*identity)
	}
	if !r.look(ctx, s, record) {
		return false
	}
	var before S
	if c.Seen(ctx, &before) && r.refuses(ctx, s, r.object.Since(s, before)) {
		return false
	}
	s.ToDo = r.object.ToDo(s.Ask, s.Found, false)
	return r.check(ctx, s)
}

// Delete removes what an apply has left.
func (r *Resource[M, Q, L, S]) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	diags := &resp.Diagnostics
	var state M
	diags.Append(req.State.Get(ctx, &state)...)
	q, err := r.object.Request(ctx, &state, new(M))
	if err != nil || diags.HasError() {
		diagnostic.AddError(diags, r.kind.what(r.kind.Remove, session.IDOf(req.State)), err)
		return
	}
	gives := false
	if o, ok := r.object.(giver[M]); ok {
		if gives = o.Gives(&state); !planned.DestroyAnnounced(ctx, req.Private, r.Restores.Walk()) {
			o.WarnReplaced(&state, diags)
			return
		}
		planned.NoteDestroy(ctx, resp.Private, "", diags) // one that fails leaves the note in the state
	}
	at := r.object.Place(q)
	what, title := r.kind.what(r.kind.Remove, at.ID), ""
	end := r.announce(q)
	defer end(false)
	var notes []string
	err = r.write(ctx, q, r.limitOf(ctx, attribute.Delete, req.State),
		func(ctx context.Context, h *hosts.Host) (removeErr error) {
			snap, removeErr := h.Snapshot(ctx)
			if removeErr != nil || r.Left(r.kind.Removed, r.object.Key(q), at.ID, diags) {
				return removeErr
			}
			var kept *S
			if before := new(S); session.Seen(ctx, req.Private, before, diags) {
				kept = before
			}
			found := r.object.Find(snap, &q)
			if gives { // what the object itself says decides
				if found, removeErr = r.lookAt(ctx, h, snap, &q); removeErr != nil {
					return removeErr
				}
			}
			if diagnostic.AddFindings(ctx, diags, what, r.object.SinceRemoval(q, found, kept)) {
				return nil
			}
			title, notes, removeErr = r.object.Remove(ctx, h, q, found, &state)
			return removeErr
		})
	diagnostic.AddError(diags, what, err)
	diagnostic.AddNotes(diags, title+" "+at.ID, notes)
}

// Read refreshes what the object is. An object that a host which answers does not have leaves the state.
func (r *Resource[M, Q, L, S]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	diags := &resp.Diagnostics
	var state M
	diags.Append(req.State.Get(ctx, &state)...)
	r.Identify(ctx, &req.State, resp.Identity, diags)
	q, err := r.object.Request(ctx, &state, new(M))
	session.AddForeignState(diags, r.kind.what("read", cmp.Or(session.IDOf(req.State), "of the state")), err)
	at := r.object.Place(q)
	if diags.HasError() || !r.Readable(types.StringValue(at.Host)) {
		return
	}
	found, presence := r.refresh(ctx, &state, &q, diags)
	switch {
	case diags.HasError() || presence == session.Strange:
		return // what was read last stays in the state
	case presence == session.Absent:
		resp.State.RemoveResource(ctx)
		return
	}
	var kept S
	session.Seen(ctx, req.Private, &kept, diags)
	kept, known := r.object.Remember(&state, q, found, kept)
	if known {
		session.NoteSeen(ctx, resp.Private, kept, diags)
	}
	diags.Append(r.object.Fill(ctx, &state, q, found, kept)...)
	if held, err := r.object.Request(ctx, &state, new(M)); err == nil {
		planned.NoteToDo(ctx, resp.Private, r.object.ToDo(held, found, true), diags)
	}
	if o, ok := r.object.(proven[L]); ok && o.Works(found) {
		planned.NoteUnproven(ctx, resp.Private, false, diags)
	}
	diags.Append(resp.State.Set(ctx, &state)...)
}

// refresh looks at the object for a refresh. Another card's object never enters the state.
func (r *Resource[M, Q, L, S]) refresh(ctx context.Context, state *M, q *Q,
	diags *diag.Diagnostics) (found L, presence session.Presence) {
	at := r.object.Place(*q)
	h, _, snap, err := r.Look(ctx, at.Host)
	if o, ok := r.object.(onCard[M]); ok && err == nil {
		id, identity := o.Card(state)
		if r.RecordedPresence(ctx, snap, id, identity, diags) == session.Strange {
			return found, session.Strange
		}
	}
	if err == nil {
		found, err = r.lookAt(ctx, h, snap, q)
	}
	if err != nil {
		diagnostic.AddError(diags, r.kind.what("read", at.ID), err)
		return found, session.Strange
	}
	return found, r.object.Presence(*q, found, diags)
}
