package nvconfig

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/hca/nvconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// WarnRemoval names the values that a destroy gives back, and those that somebody has changed. A card that does not
// answer now is asked by the destroy.
func (o object) WarnRemoval(ctx context.Context, m *model, diags *diag.Diagnostics) {
	card := m.CardID.ValueString()
	if !o.Gives(m) {
		diagnostic.AddForgotten(diags, "settings of card", card,
			"The card keeps its settings. on_destroy = \"restore\" would store those that it had before.")
		return
	}
	what := "Settings that have what this resource has set get the values that they had before it."
	if found, g, ok := o.given(ctx, m); ok {
		if what = g.Words(found); what == "" {
			why := "nothing has what this resource has set."
			if g.None {
				why = "the host has no values of before: this provider has replaced none, or what it had noted is gone."
			}
			diagnostic.AddForgotten(diags, "settings of card", card, strings.Join(append(
				[]string{"on_destroy is \"restore\", and " + why}, g.Left...), "\n"))
			return
		}
		what = strings.Join(append([]string{"Values for the next boot: " + what + "."}, g.Left...), "\n")
	}
	diags.AddWarning("The destroy stores earlier settings in card "+card,
		"on_destroy is \"restore\". "+what+"\n\nThey take effect with the next restart of the host.")
}

// given looks at what a destroy gives back; not ok while the card does not say what it has.
func (o object) given(ctx context.Context, m *model) (found ops.Look, g ops.Given, ok bool) {
	q, err := m.request(types.ObjectNull(nil))
	if err != nil || !o.HostReady(types.StringValue(q.Host)) {
		return found, g, false
	}
	var unsaid diag.Diagnostics // the destroy itself says it
	at := o.RecordedCard(ctx, m.CardID, m.CardIdentity, kind.Remove+" "+kind.Thing+" "+cardOf(q).String(), &unsaid)
	if at == nil {
		return found, g, false
	}
	if found, err = ops.Ask(ctx, at.Host, q.Card, ops.Find(at.Snap, q.Card)); err == nil {
		g, err = ops.FindGiven(ctx, at.HCA, found)
	}
	return found, g, err == nil && found.Rows.Known()
}

// Gives reports whether a destroy gives back what the card had before.
func (o object) Gives(m *model) bool { return m.OnDestroy.ValueString() == restore }

// Ours is nothing that a look could tell: the values of before are kept on the host.
func (o object) Ours(ops.Request, ops.Look) bool { return false }

func (o object) CheckRemoval(ops.Request, ops.Look) []finding.Finding { return nil }

// SinceRemoval gives what somebody has stored since the plan: the destroy would give back other values than that names.
func (o object) SinceRemoval(q ops.Request, l ops.Look, kept *seen) []finding.Finding {
	if kept == nil {
		return nil
	}
	q.Settings = map[string]string{}
	for name := range kept.Next {
		q.Settings[name] = "" // no value is fine
	}
	return ops.CheckSeen(q, l, kept.Seen)
}

func (o object) Remove(ctx context.Context, _ *hosts.Host, q ops.Request, l ops.Look,
	m *model) (title string, notes []string, err error) {
	title = "Settings of card"
	var diags diag.Diagnostics
	at := o.RecordedCard(ctx, m.CardID, m.CardIdentity, "give back settings of card "+cardOf(q).String(), &diags)
	back := o.Gives(m)
	if at == nil {
		if back && l.Present() {
			err = errors.New(diags.Errors()[0].Detail())
		}
		return title, nil, err
	}
	r, err := ops.Remove(ctx, o.Cards.Session, at.HCA, q, back)
	return title, r.Warnings, err
}

// WarnReplaced leaves the values of before on the host, for a destroy of the new resource.
func (o object) WarnReplaced(m *model, diags *diag.Diagnostics) {
	if o.Gives(m) {
		diags.AddWarning("Not given back: settings of card "+m.CardID.ValueString(), "on_destroy is \"restore\", and the "+
			"resource is replaced. The card keeps its settings. The values of before stay noted on the host, for a destroy of "+
			"a resource of this card.")
	}
}
