package fabric

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric/picture"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

type model struct {
	ID        types.String    `tfsdk:"id"`
	Host      types.String    `tfsdk:"host"`
	PortGUID  attribute.GUID  `tfsdk:"port_guid"`
	Detail    types.Bool      `tfsdk:"detail"`
	PCIeHosts types.Set       `tfsdk:"pcie_hosts"`
	Expected  []expectedModel `tfsdk:"expected_links"`
	Limits    types.Map       `tfsdk:"max_errors"`
	Baseline  types.Map       `tfsdk:"baseline"`
	Since     types.Object    `tfsdk:"since"`

	Nodes       types.Map    `tfsdk:"nodes"`
	Switches    types.Map    `tfsdk:"switches"`
	Links       types.List   `tfsdk:"links"`
	SMs         types.List   `tfsdk:"sms"`
	Partitions  types.Map    `tfsdk:"partitions"`
	Differences types.List   `tfsdk:"differences"`
	Counters    types.Map    `tfsdk:"counters"`
	Growth      types.Map    `tfsdk:"growth"`
	Mermaid     types.String `tfsdk:"mermaid"`
	DOT         types.String `tfsdk:"dot"`
	SVG         types.String `tfsdk:"svg"`
}

type expectedModel struct {
	A        types.String `tfsdk:"a"`
	B        types.String `tfsdk:"b"`
	MinWidth types.String `tfsdk:"min_width"`
	MinSpeed types.String `tfsdk:"min_speed"`
}

var (
	portTypes = types.ObjectType{AttrTypes: map[string]attr.Type{
		"port_guid": attribute.GUIDType{}, "lid": types.Int64Type, "state": types.StringType,
		"physical_state": types.StringType,
		"width":          types.StringType, "widths_enabled": types.ListType{ElemType: types.StringType},
		"widths_supported": types.ListType{ElemType: types.StringType},
		"speed":            types.StringType, "speeds_enabled": types.ListType{ElemType: types.StringType},
		"speeds_supported": types.ListType{ElemType: types.StringType},
		"mtu":              types.Int64Type, "fabric": types.StringType, "pkeys": types.ListType{ElemType: types.StringType},
	}}
	nodeTypes = types.ObjectType{AttrTypes: map[string]attr.Type{
		"description": types.StringType, "name": types.StringType, "host": types.StringType,
		"system_image_guid": attribute.GUIDType{},
		"vendor_id":         types.StringType, "device_id": types.StringType,
		"lid": types.Int64Type, "port_count": types.Int64Type, "pcie_lanes": types.Int64Type, "pcie_speed": types.StringType,
		"running_version": attribute.VersionType{}, "running_psid": attribute.PSIDType{},
		"ports": types.MapType{ElemType: portTypes},
	}}
	endTypes = types.ObjectType{AttrTypes: map[string]attr.Type{"node_guid": attribute.GUIDType{},
		"description": types.StringType, "port": types.Int64Type, "end": types.StringType}}
	linkTypes = types.ObjectType{AttrTypes: map[string]attr.Type{
		"a": endTypes, "b": endTypes, "state": types.StringType, "width": types.StringType, "speed": types.StringType,
		"gbps":     types.Float64Type,
		"degraded": types.BoolType, "reasons": types.ListType{ElemType: types.StringType},
	}}
	smTypes = types.ObjectType{AttrTypes: map[string]attr.Type{
		"port_guid": attribute.GUIDType{}, "lid": types.Int64Type, "priority": types.Int64Type, "state": types.StringType,
		"description": types.StringType, "host": types.StringType,
	}}
	partitionTypes = types.ObjectType{AttrTypes: map[string]attr.Type{
		"full": types.ListType{ElemType: types.StringType}, "limited": types.ListType{ElemType: types.StringType},
	}}
	differenceTypes = types.ObjectType{AttrTypes: map[string]attr.Type{"kind": types.StringType, "where": types.StringType,
		"message": types.StringType}}
	counterTypes = types.MapType{ElemType: types.Int64Type}
)

// comparisonModel is the part of the configuration that a fabric is compared with.
type comparisonModel struct {
	links  []fabric.ExpectedCable
	limits fabric.Limits
	before map[string]map[string]uint64
	since  *fabric.Reading // an earlier one; nil without one
	now    fabric.Reading
}

func guidOf(port attribute.GUID) ib.GUID {
	if port.ValueString() == "" {
		return 0
	}
	g, err := ib.ParseGUID(port.ValueString())
	if err != nil {
		return 0 // refused by the attribute's type before
	}
	return g
}

// looksThrough names the port that was chosen; the configuration's own spelling stays.
func (m *model) looksThrough(port ib.GUID) {
	if port != 0 && m.PortGUID.ValueString() == "" {
		m.PortGUID = attribute.GUIDText(port)
	}
}

// The widths of links are written as the tools print them: "4X".
func widthText(lanes int) types.String {
	if lanes == 0 {
		return types.StringNull()
	}
	return types.StringValue(strconv.Itoa(lanes) + "X")
}

// lanesOf reads a width that the schema has checked; 0 if there is none.
func lanesOf(width string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(width, "X"))
	if err != nil {
		return 0
	}
	return n
}

// detailed reports whether every port is to be asked.
func (m *model) detailed() bool { return m.Detail.IsNull() || m.Detail.ValueBool() }

func (m *model) expectations() (w comparisonModel, err error) {
	for _, e := range m.Expected {
		x := fabric.ExpectedCable{A: e.A.ValueString(), B: e.B.ValueString(), MinWidth: lanesOf(e.MinWidth.ValueString())}
		if text := e.MinSpeed.ValueString(); text != "" {
			if x.MinSpeed, err = ib.ParseSpeed(text); err != nil {
				return w, err
			}
		}
		w.links = append(w.links, x)
	}
	w.limits = fabric.DefaultLimits()
	if !m.Limits.IsNull() {
		w.limits = fabric.Limits{}
		for name, v := range m.Limits.Elements() {
			if n, ok := v.(types.Int64); ok {
				w.limits[name] = n.ValueInt64()
			}
		}
	}
	w.before = countersOf(m.Baseline)
	w.since, err = readingOf(m.Since)
	return w, err
}

// countersOf is nil for a map that is null.
func countersOf(all types.Map) map[string]map[string]uint64 {
	if all.IsNull() {
		return nil
	}
	before := map[string]map[string]uint64{}
	for id, v := range all.Elements() {
		counters, ok := v.(types.Map)
		if !ok {
			continue
		}
		before[id] = map[string]uint64{}
		for name, v := range counters.Elements() {
			if n, ok := v.(types.Int64); ok && n.ValueInt64() > 0 {
				before[id][name] = uint64(n.ValueInt64())
			}
		}
	}
	return before
}

// differences are those from what is expected. With an earlier reading the sums of counters are silent.
func (w comparisonModel) differences(f *fabric.Fabric) []fabric.Difference {
	if w.since == nil {
		return f.Compare(w.links, w.limits, w.before)
	}
	all := f.Compare(w.links, nil, w.before)
	if f.Counted {
		all = append(all, f.CompareSince(*w.since, w.now, w.limits)...)
	}
	return all
}

func (m *model) observe(f *fabric.Fabric, w comparisonModel) {
	m.ID = m.Host
	nodes, switches := map[string]attr.Value{}, map[string]attr.Value{}
	for _, n := range f.Nodes {
		if n.Switch {
			switches[n.GUID.String()] = nodeValue(f, n)
		} else {
			nodes[n.GUID.String()] = nodeValue(f, n)
		}
	}
	m.Nodes, m.Switches = types.MapValueMust(nodeTypes, nodes), types.MapValueMust(nodeTypes, switches)
	m.Links = list(linkTypes, f.Links, func(l *fabric.Link) attr.Value { return linkValue(f, l) })
	m.SMs = list(smTypes, f.SMs, smValue)
	m.Partitions = types.MapNull(partitionTypes)
	if f.Detailed {
		m.Partitions = types.MapValueMust(partitionTypes, partitionValues(f))
	}
	m.Differences = list(differenceTypes, w.differences(f), func(d fabric.Difference) attr.Value {
		return types.ObjectValueMust(differenceTypes.AttrTypes, map[string]attr.Value{
			"kind": types.StringValue(d.Kind), "where": types.StringValue(d.Where), "message": types.StringValue(d.Message),
		})
	})
	m.Counters, m.Growth = types.MapNull(counterTypes), types.MapNull(counterTypes)
	if f.Counted {
		m.Counters = counterValues(f.Counters())
		if w.before != nil {
			m.Growth = counterValues(f.Growth(w.before))
		}
	}
	missing := f.AbsentCables(w.links)
	m.Mermaid, m.DOT, m.SVG = types.StringValue(picture.Mermaid(f, missing)), types.StringValue(picture.DOT(f, missing)),
		types.StringValue(picture.SVG(f, missing))
}

func list[T any](of attr.Type, all []T, value func(T) attr.Value) types.List {
	values := make([]attr.Value, 0, len(all))
	for _, v := range all {
		values = append(values, value(v))
	}
	return types.ListValueMust(of, values)
}

func number(n int) types.Int64 {
	if n == 0 {
		return types.Int64Null()
	}
	return types.Int64Value(int64(n))
}

func nodeValue(f *fabric.Fabric, n *fabric.Node) attr.Value {
	ports, lid := map[string]attr.Value{}, n.LID
	for _, p := range n.Ports {
		ports[strconv.Itoa(p.Number)] = portValue(f, p)
		if lid == 0 {
			lid = p.LID
		}
	}
	lanes, speed := types.Int64Null(), types.StringNull()
	if n.PCIe != nil {
		lanes, speed = number(n.PCIe.Width), attribute.OrNull(n.PCIe.Speed)
	}
	return types.ObjectValueMust(nodeTypes.AttrTypes, map[string]attr.Value{
		"description": types.StringValue(fabric.Printable(n.Name)), "name": attribute.OrNull(n.Given),
		"host":              attribute.OrNull(n.Host),
		"system_image_guid": attribute.GUIDText(n.SystemGUID),
		"vendor_id":         types.StringValue(fmt.Sprintf("0x%06x", n.VendorID)),
		"device_id":         types.StringValue(fmt.Sprintf("0x%04x", n.DeviceID)),
		"lid":               types.Int64Value(int64(lid)), "port_count": types.Int64Value(int64(n.PortCount)),
		"running_version": attribute.VersionText(n.Firmware), "running_psid": attribute.PSIDText(n.PSID),
		"pcie_lanes": lanes,
		"pcie_speed": speed,
		"ports":      types.MapValueMust(portTypes, ports),
	})
}

func portValue(f *fabric.Fabric, p *fabric.Port) attr.Value {
	widths := func(all []int) types.List {
		if !f.Detailed || all == nil {
			return types.ListNull(types.StringType)
		}
		return list(types.StringType, all, func(n int) attr.Value { return widthText(n) })
	}
	speeds := func(all []ib.Speed) types.List {
		if !f.Detailed || all == nil {
			return types.ListNull(types.StringType)
		}
		return list(types.StringType, all, func(s ib.Speed) attr.Value { return types.StringValue(s.String()) })
	}
	width, speed := widthText(p.Width), attribute.OrNull(p.Speed.String())
	if p.State == "Down" {
		width, speed = types.StringNull(), types.StringNull()
	}
	keys := types.ListNull(types.StringType)
	if p.PKeys != nil {
		keys = list(types.StringType, p.PKeys,
			func(k uint16) attr.Value { return types.StringValue(fmt.Sprintf("0x%04x", k)) })
	}
	return types.ObjectValueMust(portTypes.AttrTypes, map[string]attr.Value{
		"port_guid": attribute.GUIDText(p.GUID), "lid": types.Int64Value(int64(p.LID)), "state": attribute.OrNull(p.State),
		"physical_state": attribute.OrNull(p.Physical),
		"width":          width, "widths_enabled": widths(p.WidthEnabled), "widths_supported": widths(p.WidthSupported),
		"speed": speed, "speeds_enabled": speeds(p.SpeedsEnabled), "speeds_supported": speeds(p.SpeedsSupported),
		"mtu": number(p.MTU), "fabric": attribute.OrNull(p.Fabric), "pkeys": keys,
	})
}

func endValue(f *fabric.Fabric, p *fabric.Port) attr.Value {
	if p == nil {
		return types.ObjectNull(endTypes.AttrTypes)
	}
	return types.ObjectValueMust(endTypes.AttrTypes, map[string]attr.Value{
		"node_guid": attribute.GUIDText(p.Node.GUID), "description": types.StringValue(p.Node.Label()),
		"port": types.Int64Value(int64(p.Number)), "end": types.StringValue(f.End(p)),
	})
}

func linkValue(f *fabric.Fabric, l *fabric.Link) attr.Value {
	reasons := l.Slow()
	if reasons == nil {
		reasons = []string{}
	}
	state := l.A.State
	if l.B == nil {
		state = "Silent"
	} else if l.B.State != "Active" {
		state = l.B.State
	}
	return types.ObjectValueMust(linkTypes.AttrTypes, map[string]attr.Value{
		"a": endValue(f, l.A), "b": endValue(f, l.B), "state": types.StringValue(state), "width": widthText(l.A.Width),
		"speed": attribute.OrNull(l.A.Speed.String()),
		"gbps":  types.Float64Value(float64(int(l.Gbps()*10+0.5)) / 10), "degraded": types.BoolValue(l.Degraded()),
		"reasons": attribute.StringList(reasons),
	})
}

func smValue(s fabric.SM) attr.Value {
	description, host := types.StringNull(), types.StringNull()
	if s.Node != nil {
		description, host = types.StringValue(s.Node.Label()), attribute.OrNull(s.Node.Host)
	}
	return types.ObjectValueMust(smTypes.AttrTypes, map[string]attr.Value{
		"port_guid": attribute.GUIDText(s.GUID), "lid": types.Int64Value(int64(s.LID)),
		"priority": types.Int64Value(int64(s.Priority)),
		"state":    types.StringValue(s.State), "description": description, "host": host,
	})
}

func partitionValues(f *fabric.Fabric) map[string]attr.Value {
	all := map[string]attr.Value{}
	members := func(ports []*fabric.Port) attr.Value {
		return list(types.StringType, ports, func(p *fabric.Port) attr.Value { return types.StringValue(p.GUID.String()) })
	}
	for _, p := range f.Partitions() {
		all[attribute.PKeyOf(p.PKey).ValueString()] = types.ObjectValueMust(partitionTypes.AttrTypes,
			map[string]attr.Value{"full": members(p.Full), "limited": members(p.Limited)})
	}
	return all
}

func counterValues(all map[string]map[string]uint64) types.Map {
	ports := map[string]attr.Value{}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		counters := map[string]attr.Value{}
		for name, n := range all[id] {
			counters[name] = types.Int64Value(int64(min(n, 1<<62)))
		}
		ports[id] = types.MapValueMust(types.Int64Type, counters)
	}
	return types.MapValueMust(counterTypes, ports)
}
