package guids

import (
	"fmt"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

type model struct {
	managed.OnCard

	BaseMAC    attribute.MAC  `tfsdk:"base_mac"`
	BaseGUID   attribute.GUID `tfsdk:"base_guid"`
	NodeGUID   attribute.GUID `tfsdk:"node_guid"`
	SystemGUID attribute.GUID `tfsdk:"system_image_guid"`
	PortGUIDs  types.Map      `tfsdk:"port_guids"`
	MACs       types.Map      `tfsdk:"macs"`
	Effective  types.Object   `tfsdk:"effective"`
	BackupPath types.String   `tfsdk:"backup_path"`
}

var effectiveTypes = map[string]attr.Type{
	"node_guid": attribute.GUIDType{}, "port_guids": types.MapType{ElemType: attribute.GUIDType{}},
	"system_image_guid": attribute.GUIDType{},
}

// known reports whether everything that the verdict needs is known.
func (m *model) known() bool {
	return m.valuesKnown() && attribute.Known(m.CardID, m.Allow, m.Activation)
}

// valuesKnown reports whether all GUIDs and MACs that are given are known.
func (m *model) valuesKnown() bool {
	return attribute.Known(m.BaseMAC, m.BaseGUID, m.NodeGUID, m.SystemGUID, m.PortGUIDs, m.MACs)
}

// request reads what is asked. m must come from the configuration, with the
// activation's default applied. oneBase: the chip is one that stores one GUID and one MAC.
func (m *model) request(oneBase bool) (safety.GUIDRequest, error) {
	var (
		spec = hca.GUIDSpec{OneBase: oneBase}
		errs [5]error
	)
	spec.BaseMAC, errs[0] = optional(m.BaseMAC, ib.ParseMAC)
	spec.BaseGUID, errs[1] = optional(m.BaseGUID, ib.ParseGUID)
	spec.Node, errs[2] = optional(m.NodeGUID, ib.ParseGUID)
	spec.SystemImage, errs[3] = optional(m.SystemGUID, ib.ParseGUID)
	spec.Ports, errs[4] = elements[attribute.GUIDKind](m.PortGUIDs, ib.ParseGUID)
	for _, err := range errs {
		if err != nil {
			return safety.GUIDRequest{}, err
		}
	}
	var err error
	if spec.MACs, err = elements[attribute.MACKind](m.MACs, ib.ParseMAC); err != nil {
		return safety.GUIDRequest{}, err
	}
	req, err := spec.Resolve()
	if err != nil {
		return req, err
	}
	given := attribute.ConsentsOf(m.Allow)
	req.Change, err = consent(given.Part("guid_change"))
	req.UnprovenFlash, req.ManagementPath = given.Text(attribute.UnprovenFlash), given.Names(attribute.ManagementPath)
	req.Activation = safety.Activation(m.Activation.ValueString())
	return req, err
}

func optional[K attribute.Kind, T any](v attribute.Text[K], parse func(string) (T, error)) (*T, error) {
	if v.IsNull() || v.IsUnknown() {
		return nil, nil //nolint:nilnil // not given, and that is no error
	}
	out, err := parse(v.ValueString())
	return &out, err
}

// elements reads the values that are given, by port.
func elements[K attribute.Kind, T any](values types.Map, parse func(string) (T, error)) (map[int]*T, error) {
	out := make(map[int]*T, len(values.Elements()))
	for key, v := range values.Elements() {
		port, err := strconv.Atoi(key)
		if err != nil {
			return nil, fmt.Errorf("invalid port %q: want a number", key)
		}
		text, ok := v.(attribute.Text[K])
		if !ok {
			continue
		}
		if out[port], err = optional(text, parse); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// setIdentity fills the arguments from a whole identity, keeping the spelling
// that is there where it means the same.
func (m *model) setIdentity(set ib.GUIDSet) {
	keepGUID(&m.NodeGUID, attribute.GUIDText(set.Node))
	keepGUID(&m.SystemGUID, attribute.GUIDText(set.SystemImage))
	m.PortGUIDs = keepByPort[attribute.GUIDKind](m.PortGUIDs,
		attribute.ByPort(attribute.GUIDText(set.Port1), attribute.GUIDText(set.Port2)))
	m.MACs = keepByPort[attribute.MACKind](m.MACs,
		attribute.ByPort(attribute.MACText(set.MAC1), attribute.MACText(set.MAC2)))
	m.keepBases(set)
}

func keepGUID(to *attribute.GUID, v attribute.GUID) {
	if !to.Same(v) {
		*to = v
	}
}

// keepByPort keeps the old values if they mean the same: core requires a plan to name
// the ports of the configuration and no other.
func keepByPort[K attribute.Kind](old, now types.Map) types.Map {
	if len(old.Elements()) == 0 {
		return now
	}
	for port, v := range old.Elements() {
		was, _ := v.(attribute.Text[K])
		if is, ok := now.Elements()[port].(attribute.Text[K]); !ok || !was.Same(is) {
			return now
		}
	}
	return old
}

// keepBases fills the base values that give an identity. If none does, the present ones
// stay: single values may override a base.
func (m *model) keepBases(set ib.GUIDSet) {
	guid, mac := set.Bases()
	if !guid.IsZero() {
		keepGUID(&m.BaseGUID, attribute.GUIDRaw(guid))
	}
	if !mac.IsZero() && !m.BaseMAC.Same(attribute.MACText(mac)) {
		m.BaseMAC = attribute.MACText(mac)
	}
	if m.BaseGUID.IsUnknown() {
		m.BaseGUID = attribute.NullText[attribute.GUIDKind]()
	}
	if m.BaseMAC.IsUnknown() {
		m.BaseMAC = attribute.NullText[attribute.MACKind]()
	}
}

// observe fills everything from what was read back.
func (m *model) observe(ref attribute.CardRef, s hca.GUIDState) {
	m.ID = types.StringValue(ref.String())
	m.setIdentity(s.InFlash)
	m.RebootRequired = types.BoolNull() // no driver shows what is in effect
	if s.Shown {
		m.RebootRequired = types.BoolValue(s.Pending)
	}
	m.Effective = effective(s.Effective)
	if s.BackupPath != "" {
		m.BackupPath = types.StringValue(s.BackupPath)
	}
}

func effective(set ib.GUIDSet) types.Object {
	return types.ObjectValueMust(effectiveTypes, map[string]attr.Value{
		"node_guid": attribute.GUIDText(set.Node), "port_guids": attribute.ByPort(attribute.GUIDText(set.Port1),
			attribute.GUIDText(set.Port2)), "system_image_guid": attribute.GUIDText(set.SystemImage),
	})
}

// empty reports whether no value is given.
func (m *model) empty() bool {
	return m.BaseMAC.IsNull() && m.BaseGUID.IsNull() && m.NodeGUID.IsNull() && m.SystemGUID.IsNull() &&
		m.PortGUIDs.IsNull() && m.MACs.IsNull()
}

// identity is what a state or a plan has of a card's identity; zero where it has
// nothing.
func (m *model) identity() ib.GUIDSet {
	var set ib.GUIDSet
	// What a state holds has been parsed before.
	set.Node, _ = attribute.GUIDOf(m.NodeGUID)
	set.SystemImage, _ = attribute.GUIDOf(m.SystemGUID)
	guids, _ := elements[attribute.GUIDKind](m.PortGUIDs, ib.ParseGUID)
	macs, _ := elements[attribute.MACKind](m.MACs, ib.ParseMAC)
	set.Port1, set.Port2 = orZero(guids[1]), orZero(guids[2])
	set.MAC1, set.MAC2 = orZero(macs[1]), orZero(macs[2])
	return set
}

// orZero is a value that may be missing.
func orZero[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}

// holds reports whether the state is of the configured card and has what is asked
// for, and nothing waits for a restart that is asked for, too.
func (m *model) holds(config model, req safety.GUIDRequest) bool {
	have, want := m.identity(), req.Want
	if len(m.PortGUIDs.Elements()) == 1 { // the configuration named one
		onlyNamed(m.PortGUIDs, &want.Port1, &want.Port2)
	}
	if len(m.MACs.Elements()) == 1 {
		onlyNamed(m.MACs, &want.MAC1, &want.MAC2)
	}
	if !req.HasGUIDs {
		have.Node, have.Port1, have.Port2, have.SystemImage = 0, 0, 0, 0
		want.Node, want.Port1, want.Port2, want.SystemImage = 0, 0, 0, 0
	}
	if !req.HasMACs {
		have.MAC1, have.MAC2, want.MAC1, want.MAC2 = 0, 0, 0, 0
	}
	waits := m.RebootRequired.ValueBool() && req.Activation == safety.ActivationReboot
	return attribute.SameCardThere(m.CardID, m.CardIdentity, config.CardID) && have == want && !waits
}

// onlyNamed leaves out what is wanted of ports without an entry.
func onlyNamed[T any](byPort types.Map, ports ...*T) {
	for i, port := range ports {
		if _, named := byPort.Elements()[strconv.Itoa(i+1)]; !named {
			var none T
			*port = none
		}
	}
}

// keptHalf is the half of the identity that is not asked for, as the plan has it.
func (m *model) keptHalf(req safety.GUIDRequest) *hca.KeptHalf {
	return &hca.KeptHalf{
		GUIDs: !req.HasGUIDs && !m.PortGUIDs.IsUnknown(), MACs: !req.HasMACs && !m.MACs.IsUnknown(), Set: m.identity(),
	}
}

// keepGiven restores the base values of the configuration that single values override:
// a plan must hold what the configuration says.
func (m *model) keepGiven(given model) {
	if !given.BaseGUID.IsNull() && !given.BaseGUID.IsUnknown() && !m.BaseGUID.Same(given.BaseGUID) {
		m.BaseGUID = given.BaseGUID
	}
	if !given.BaseMAC.IsNull() && !given.BaseMAC.IsUnknown() && !m.BaseMAC.Same(given.BaseMAC) {
		m.BaseMAC = given.BaseMAC
	}
}
