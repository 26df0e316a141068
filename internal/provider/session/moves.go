package session

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// FoundCard is what a refresh found of a card.
type FoundCard struct {
	*cards.Look
	Ref attribute.CardRef
}

// ReadCard finds the card of a resource for a refresh. It gives nil if the state needs
// nothing more: it stays as it is if the card cannot be read or is another one, and is
// removed if a host that answers has no such card. record is the recorded identity;
// thing names what the resource has of the card, "GUIDs".
func (r *Resource) ReadCard(ctx context.Context, thing string, id attribute.CardID, record *types.String,
	resp *resource.ReadResponse) *FoundCard {
	ref, err := attribute.ParseCardRef(id.ValueString())
	AddForeignState(&resp.Diagnostics, "read "+thing+" of card "+id.ValueString(), err)
	if resp.Diagnostics.HasError() || !r.Readable(types.StringValue(ref.Host)) {
		return nil
	}
	_, _, snap, err := r.Look(ctx, ref.Host)
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, "read "+thing+" of card "+ref.String(), err)
		return nil
	}
	if r.RecordedPresence(ctx, snap, id, record, &resp.Diagnostics) == Strange {
		return nil // what was read last stays in the state
	}
	look, err := cards.LookAt(snap, ref.PCI)
	if err != nil {
		resp.State.RemoveResource(ctx)
		return nil
	}
	return &FoundCard{Look: look, Ref: ref}
}

// AskedCard is the card of a configuration. ok is false if a value is not known yet,
// which a warning tells, or if the id is wrong. What is postponed is refused already if the
// card in the slot is not the one of the state: the apply does not know that any more.
func (r *Resource) AskedCard(ctx context.Context, thing string, id attribute.CardID, known bool, why string,
	diags *diag.Diagnostics) (ref attribute.CardRef, ok bool) {
	if id.IsUnknown() {
		r.Planned.LeaveOpen(attribute.CardRef{}, true)
		diagnostic.AddPostponed(diags, thing+" of a card", why)
		return ref, false
	}
	ref, err := attribute.ParseCardRef(id.ValueString())
	if err != nil {
		return ref, false // the attribute validated itself
	}
	ready := r.HostReady(types.StringValue(ref.Host))
	if ready && known {
		return ref, true
	}
	r.Planned.LeaveOpen(ref, true)
	diagnostic.AddPostponed(diags, thing+" of card "+ref.String(), why)
	if _, exchanged := r.taken(id); ready && exchanged {
		what := "plan " + thing + " of card " + ref.String()
		if at := r.RecordedCard(ctx, id, types.StringNull(), what, diags); at != nil {
			diagnostic.AddFindings(ctx, diags, what, at.Strange())
		}
	}
	return ref, false
}

// ChangeCard runs write on the card of the plan when it is its turn. ok is false if
// that failed, which the diagnostics tell. what is verb and thing, "set GUIDs of".
func (r *Resource) ChangeCard(ctx context.Context, c Change, what string, id attribute.CardID,
	limit attribute.TimeLimit, write func(context.Context, attribute.CardRef) error) (ref attribute.CardRef, ok bool) {
	what += " card "
	ref, err := attribute.ParseCardRef(id.ValueString())
	if err != nil || c.Diags.HasError() {
		diagnostic.AddError(c.Diags, what+id.ValueString(), err)
		return ref, false
	}
	err = r.WriteCard(ctx, c.Diags, ref, limit, func(ctx context.Context) error { return write(ctx, ref) })
	diagnostic.AddError(c.Diags, what+ref.String(), err)
	return ref, !c.Diags.HasError()
}

// WriteCard changes a card when it is its turn, alone on its host. The time limit of
// the change begins then.
func (r *Resource) WriteCard(ctx context.Context, diags *diag.Diagnostics, ref attribute.CardRef,
	limit attribute.TimeLimit, write func(context.Context) error) error {
	defer r.RunLog.Warn(diags)
	return r.Turns.Do(ctx, ref, func() error {
		return r.WriteHost(ctx, ref.Host, limit, func(ctx context.Context, _ *hosts.Host) error { return write(ctx) })
	})
}

// WriteHost changes a host within the time of the change, and alone.
func (r *Resource) WriteHost(ctx context.Context, name string, limit attribute.TimeLimit,
	write func(context.Context, *hosts.Host) error) error {
	limited, cancel := limit.Start(ctx)
	defer cancel()
	return r.WithHost(limited, name, func(h *hosts.Host) error { return write(limited, h) })
}
