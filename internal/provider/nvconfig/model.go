package nvconfig

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/hca/nvconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

const (
	keep    = "keep"
	restore = "restore"
)

type model struct {
	managed.OnCard

	Settings  types.Map    `tfsdk:"settings"`
	OnDestroy types.String `tfsdk:"on_destroy"`
	Default   types.Map    `tfsdk:"default"`
	Current   types.Map    `tfsdk:"current"`
	NextBoot  types.Map    `tfsdk:"next_boot"`
}

// seen is what is kept beside the state: what the last look has found, and what the last apply was asked
// for. The state shows what differs from that.
type seen struct {
	ops.Seen
	Asked map[string]string `json:",omitempty"`
}

// request reads what is asked for; allow is that of the configuration.
func (m *model) request(allow types.Object) (ops.Request, error) {
	ref, err := attribute.ParseCardRef(m.CardID.ValueString())
	return ops.Request{Host: ref.Host, Card: ref.PCI, Settings: textsOf(m.Settings),
		Activation: safety.Activation(attribute.ActivationOf(m.Activation)),
		Consent:    attribute.ConsentsOf(allow).Names(attribute.ManagementPath)}, err
}

func cardOf(q ops.Request) attribute.CardRef { return attribute.CardRef{Host: q.Host, PCI: q.Card} }

func textsOf(m types.Map) map[string]string {
	all := make(map[string]string, len(m.Elements()))
	for name, v := range m.Elements() {
		all[name] = attribute.StringOf(v)
	}
	return all
}

// observe fills everything from what was read. A setting that holds what was asked for is shown as it was
// asked; after an import all that differ from their defaults are shown.
func (m *model) observe(q ops.Request, l ops.Look, asked map[string]string) {
	m.ID = types.StringValue(cardOf(q).String())
	if m.Settings.IsNull() {
		q.Settings = l.Changed()
	}
	shown, layers := map[string]string{}, [3]map[string]string{{}, {}, {}}
	rows := l.Rows.Or(nil)
	for name, value := range q.Settings {
		if was, ok := asked[name]; ok {
			value = was
		}
		row, there := rows[name]
		if shown[name] = value; there && !row.Next.Is(value) {
			shown[name] = ops.Word(row.Next)
		}
		for i, v := range []inventory.SettingValue{row.Default, row.Current, row.Next} {
			if v.Raw != "" {
				layers[i][name] = v.Raw
			}
		}
	}
	m.Settings = attribute.StringMap(shown)
	m.Default, m.Current, m.NextBoot = attribute.StringMap(layers[0]), attribute.StringMap(layers[1]),
		attribute.StringMap(layers[2])
	m.RebootRequired = types.BoolNull()
	if waits, known := l.AwaitsRestart(q); known {
		m.RebootRequired = types.BoolValue(waits)
	}
	if l.Left {
		m.Current, m.RebootRequired = types.MapNull(types.StringType), types.BoolNull()
	}
	m.normalise()
}

// normalise fills what an import leaves null, and what a plan has left open and no change has decided.
func (m *model) normalise() {
	if m.Activation.IsNull() {
		m.Activation = types.StringValue(attribute.ActivationNone)
	}
	if m.OnDestroy.IsNull() {
		m.OnDestroy = types.StringValue(keep)
	}
	if m.Change.IsUnknown() {
		m.Change = types.StringNull()
	}
	if m.Drains.IsNull() {
		m.Drains = types.ListNull(types.StringType)
	}
}

// holds reports whether a state has what is planned, and in effect if a restart is to make it so.
func (m *model) holds(plan *model) bool {
	waits := m.RebootRequired.ValueBool() && attribute.ActivationOf(plan.Activation) == attribute.ActivationReboot
	return attribute.SameCardThere(m.CardID, m.CardIdentity, plan.CardID) && m.Settings.Equal(plan.Settings) && !waits
}

// look is the look that a state stands for.
func (m *model) look() ops.Look {
	rows := map[string]inventory.CardSetting{}
	for name := range m.NextBoot.Elements() {
		value := func(of types.Map) inventory.SettingValue {
			return inventory.ParseSettingValue(attribute.StringOf(of.Elements()[name]))
		}
		rows[name] = inventory.CardSetting{Default: value(m.Default), Current: value(m.Current), Next: value(m.NextBoot)}
	}
	return ops.LookOf(rows)
}

// firstValues are those of a card without a state.
func firstValues(l ops.Look, names map[string]string) map[string]string {
	all := map[string]string{}
	for name, want := range names {
		row, ok := l.Rows.Or(nil)[name]
		if all[name] = row.Next.Raw; ok && row.Next.Is(want) {
			all[name] = want
		}
	}
	return all
}

// changeText is "SRIOV_EN: False(0) -> true" for each setting that is not as wanted.
func changeText(was, want map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if was[name] != want[name] {
			before := was[name]
			if before == "" {
				before = "not managed"
			}
			all = append(all, name+": "+before+" -> "+want[name])
		}
	}
	return strings.Join(all, "; ")
}
