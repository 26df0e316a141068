package sriov

import (
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/sriov"
)

type model struct {
	ID       types.String     `tfsdk:"id"`
	CardID   attribute.CardID `tfsdk:"card_id"`
	Number   types.Int64      `tfsdk:"number"`
	Allow    types.Object     `tfsdk:"allow"`
	Timeouts timeouts.Value   `tfsdk:"timeouts"`

	CardIdentity types.String `tfsdk:"card_identity"`
	AtBoot       types.Bool   `tfsdk:"at_boot"`
	Unit         types.String `tfsdk:"unit"`
	Most         types.Int64  `tfsdk:"most"`
	Functions    types.Set    `tfsdk:"functions"`
	Change       types.String `tfsdk:"change"`
}

// request reads what is asked for; allow is that of the configuration.
func (m *model) request(allow types.Object) (ops.Request, error) {
	ref, err := attribute.ParseCardRef(m.CardID.ValueString())
	return ops.Request{Host: ref.Host, Card: ref.PCI, Number: int(m.Number.ValueInt64()),
		Consent: attribute.ConsentsOf(allow).Names(removedFunctions)}, err
}

func cardOf(q ops.Request) attribute.CardRef { return attribute.CardRef{Host: q.Host, PCI: q.Card} }

// plan fills what follows from the configuration.
func (m *model) plan(q ops.Request) {
	m.ID = types.StringValue(cardOf(q).String())
	m.AtBoot, m.Unit = types.BoolValue(true), types.StringValue(ops.UnitName(q.Card))
}

// observe fills everything from what was read: the number is the one of now.
func (m *model) observe(q ops.Request, l ops.Look) {
	m.ID = types.StringValue(cardOf(q).String())
	m.Number, m.Most = types.Int64Value(int64(len(l.Functions))), types.Int64Value(int64(l.Most))
	m.AtBoot, m.Unit = types.BoolValue(l.Lasts()), types.StringNull()
	if m.Change.IsUnknown() {
		m.Change = types.StringNull()
	}
	if l.Stored {
		m.Unit = types.StringValue(ops.UnitName(q.Card))
	}
	all := make([]attr.Value, len(l.Functions))
	for i, pci := range l.Functions {
		all[i] = types.StringValue(pci.String())
	}
	m.Functions = attribute.SetOf(types.StringType, all)
}

// holds reports whether a state has what is planned, now and at boot.
func (m *model) holds(plan *model) bool {
	return attribute.SameCardThere(m.CardID, m.CardIdentity, plan.CardID) && m.Number.Equal(plan.Number) &&
		m.AtBoot.Equal(plan.AtBoot) && m.Unit.Equal(plan.Unit)
}
