package sriov

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/sriov"
)

type model struct {
	ID     types.String     `tfsdk:"id"`
	CardID attribute.CardID `tfsdk:"card_id"`
	Number types.Int64      `tfsdk:"number"`
	Allow  types.Object     `tfsdk:"allow"`

	LinkState types.String `tfsdk:"link_state"`
	NodeGUIDs types.Map    `tfsdk:"node_guids"`
	PortGUIDs types.Map    `tfsdk:"port_guids"`

	Timeouts timeouts.Value `tfsdk:"timeouts"`

	CardIdentity types.String `tfsdk:"card_identity"`
	AtBoot       types.Bool   `tfsdk:"at_boot"`
	Unit         types.String `tfsdk:"unit"`
	Most         types.Int64  `tfsdk:"most"`
	Functions    types.Set    `tfsdk:"functions"`
	Change       types.String `tfsdk:"change"`
	Ports        types.Map    `tfsdk:"ports"`
}

var portType = types.ObjectType{AttrTypes: map[string]attr.Type{"node_guid": attribute.GUIDType{},
	"port_guid": attribute.GUIDType{}, "link_state": types.StringType}}

// request reads what is asked for; allow is that of the configuration.
func (m *model) request(allow types.Object) (ops.Request, error) {
	ref, err := attribute.ParseCardRef(m.CardID.ValueString())
	q := ops.Request{Host: ref.Host, Card: ref.PCI, Number: int(m.Number.ValueInt64()),
		LinkState: m.LinkState.ValueString(), Consent: attribute.ConsentsOf(allow).Names(removedFunctions)}
	var err1, err2 error
	q.NodeGUIDs, err1 = byFunction(m.NodeGUIDs, q.Number)
	q.PortGUIDs, err2 = byFunction(m.PortGUIDs, q.Number)
	return q, errors.Join(err, err1, err2)
}

// byFunction reads GUIDs by the number of their function.
func byFunction(values types.Map, functions int) (map[int]ib.GUID, error) {
	all := map[int]ib.GUID{}
	for key, v := range values.Elements() {
		number, err := strconv.Atoi(key)
		if err != nil || number >= functions {
			return nil, fmt.Errorf("there is no function %s: of %d functions the last one has the number %d", key, functions,
				functions-1)
		}
		text, _ := v.(attribute.GUID)
		if all[number], err = attribute.GUIDOf(text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// plannedPorts is what functions will have.
func plannedPorts(q ops.Request) types.Map {
	all := map[int]ops.Port{}
	for number, p := range q.Ports {
		all[number] = p
	}
	return portsOf(all, len(all))
}

// portsOf is what so many functions have; null if nothing of them is known.
func portsOf(ports map[int]ops.Port, functions int) types.Map {
	all := map[string]attr.Value{}
	for number, p := range ports {
		if number < functions {
			all[strconv.Itoa(number)] = types.ObjectValueMust(portType.AttrTypes, map[string]attr.Value{
				"node_guid": attribute.GUIDText(p.Node), "port_guid": attribute.GUIDText(p.Port),
				"link_state": types.StringValue(p.LinkState)})
		}
	}
	if len(all) == 0 {
		return types.MapNull(portType)
	}
	return types.MapValueMust(portType, all)
}

// adopt fills the arguments of ports as the unit has them, with the GUIDs that are no default.
func (m *model) adopt(l ops.Look) {
	nodes, ports := map[string]attr.Value{}, map[string]attr.Value{}
	for number, p := range l.BootPorts {
		m.LinkState = types.StringValue(p.LinkState)
		if p.Port != ops.Derived(l.GUID, number) {
			ports[strconv.Itoa(number)] = attribute.GUIDText(p.Port)
		}
		if p.Node != p.Port {
			nodes[strconv.Itoa(number)] = attribute.GUIDText(p.Node)
		}
	}
	if len(nodes) > 0 {
		m.NodeGUIDs = types.MapValueMust(attribute.GUIDType{}, nodes)
	}
	if len(ports) > 0 {
		m.PortGUIDs = types.MapValueMust(attribute.GUIDType{}, ports)
	}
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
	if m.Number.IsNull() { // an import
		m.adopt(l)
	}
	m.Ports = portsOf(l.Ports, len(l.Functions))
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
		m.LinkState.Equal(plan.LinkState) && m.NodeGUIDs.Equal(plan.NodeGUIDs) && m.PortGUIDs.Equal(plan.PortGUIDs) &&
		m.AtBoot.Equal(plan.AtBoot) && m.Unit.Equal(plan.Unit)
}
