package nvconfig

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/hca/nvconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

func (o object) WarnRemoval(_ context.Context, m *model, diags *diag.Diagnostics) {
	if m.OnDestroy.ValueString() == restore {
		diags.AddWarning("The destroy stores earlier settings in card "+m.CardID.ValueString(),
			"on_destroy is \"restore\". Settings that have what this resource has set get the values that they had before it. "+
				"They take effect with the next restart of the host.")
		return
	}
	diagnostic.AddForgotten(diags, "settings of card", m.CardID.ValueString(),
		"The card keeps its settings. on_destroy = \"restore\" would store those that it had before.")
}

// Ours is nothing that a look could tell: the values of before are kept on the host.
func (o object) Ours(ops.Request, ops.Look) bool { return false }

func (o object) CheckRemoval(ops.Request, ops.Look) []finding.Finding { return nil }

// SinceRemoval gives none: what somebody has changed is left as it is.
func (o object) SinceRemoval(ops.Request, ops.Look, *seen) []finding.Finding { return nil }

func (o object) Remove(ctx context.Context, _ *hosts.Host, q ops.Request, l ops.Look,
	m *model) (title string, notes []string, err error) {
	title = "Settings of card"
	var diags diag.Diagnostics
	at := o.RecordedCard(ctx, m.CardID, m.CardIdentity, "give back settings of card "+cardOf(q).String(), &diags)
	back := m.OnDestroy.ValueString() == restore
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
	if m.OnDestroy.ValueString() == restore {
		diags.AddWarning("Not given back: settings of card "+m.CardID.ValueString(), "on_destroy is \"restore\", and the "+
			"resource is replaced. The card keeps its settings. The values of before stay noted on the host, for a destroy of "+
			"a resource of this card.")
	}
}
