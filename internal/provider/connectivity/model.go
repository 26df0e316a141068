package connectivity

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/connectivity"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const standardCount = 5

type model struct {
	ID            types.String `tfsdk:"id"`
	From          types.String `tfsdk:"from"`
	To            types.String `tfsdk:"to"`
	FromInterface types.String `tfsdk:"from_interface"`
	ToInterface   types.String `tfsdk:"to_interface"`
	Address       types.String `tfsdk:"address"`
	Family        types.String `tfsdk:"family"`
	Count         types.Int64  `tfsdk:"packets"`
	Sizes         types.Set    `tfsdk:"packet_sizes"`

	Interface   types.String  `tfsdk:"interface"`
	Target      types.String  `tfsdk:"target"`
	MTU         types.Int64   `tfsdk:"mtu"`
	Mode        types.String  `tfsdk:"mode"`
	Reachable   types.Bool    `tfsdk:"reachable"`
	MTUOK       types.Bool    `tfsdk:"mtu_ok"`
	PathMTU     types.Int64   `tfsdk:"path_mtu"`
	LossPercent types.Float64 `tfsdk:"loss_percent"`
	Small       types.Object  `tfsdk:"small"`
	Full        types.Object  `tfsdk:"full"`
	Fragmented  types.Object  `tfsdk:"fragmented"`
	Passed      types.Map     `tfsdk:"sizes"`
	Problems    types.List    `tfsdk:"problems"`
}

var (
	runTypes = types.ObjectType{AttrTypes: map[string]attr.Type{
		"sent": types.Int64Type, "received": types.Int64Type, "loss_percent": types.Float64Type,
		"rtt_min_us": types.Float64Type, "rtt_avg_us": types.Float64Type, "rtt_max_us": types.Float64Type,
	}}
	problemTypes = types.ObjectType{AttrTypes: map[string]attr.Type{"kind": types.StringType, "where": types.StringType,
		"message": types.StringType}}
)

func (m *model) request() (ops.Request, error) {
	w := ops.Request{
		FromInterface: m.FromInterface.ValueString(), ToInterface: m.ToInterface.ValueString(),
		IPv6: m.Family.ValueString() == "ipv6", Count: standardCount,
	}
	if !m.Count.IsNull() {
		w.Count = int(m.Count.ValueInt64())
	}
	for _, v := range m.Sizes.Elements() {
		if n, ok := v.(types.Int64); ok {
			w.Sizes = append(w.Sizes, int(n.ValueInt64()))
		}
	}
	text := m.Address.ValueString()
	if text == "" {
		return w, nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return w, fmt.Errorf("%q is not an IP address", text)
	}
	w.Address = a.Unmap()
	return w, nil
}

func (m *model) observe(p ops.Pair, a *ops.Answer, r ops.Report) {
	m.Interface, m.Target, m.Mode, m.MTU = types.StringNull(), types.StringNull(), types.StringNull(), types.Int64Null()
	other := m.To.ValueString()
	if p.Addr.IsValid() {
		m.Target = types.StringValue(p.Addr.String())
		if other == "" {
			other = p.Addr.String()
		}
	}
	m.ID = types.StringValue(m.From.ValueString() + "/" + other)
	if n := p.From.Netdev; n != nil {
		m.Interface, m.MTU, m.Mode = types.StringValue(n.Name), types.Int64Value(int64(n.MTU)), attribute.OrNull(n.Mode)
	}
	m.Reachable, m.MTUOK = types.BoolValue(r.Reachable), types.BoolValue(r.MTUOK)
	m.setNumbers(a)
	problems := make([]attr.Value, 0, len(r.Problems))
	for _, x := range r.Problems {
		problems = append(problems, types.ObjectValueMust(problemTypes.AttrTypes, map[string]attr.Value{
			"kind": types.StringValue(x.Kind), "where": types.StringValue(x.Where), "message": types.StringValue(x.Message),
		}))
	}
	m.Problems = types.ListValueMust(problemTypes, problems)
}

// setNumbers fills the numbers; without a measurement all that was lost is lost.
func (m *model) setNumbers(a *ops.Answer) {
	none := types.ObjectNull(runTypes.AttrTypes)
	m.Small, m.Full, m.Fragmented, m.Passed = none, none, none, types.MapNull(runTypes)
	m.PathMTU, m.LossPercent = types.Int64Null(), roundTenth(100)
	if a == nil {
		return
	}
	m.LossPercent = roundTenth(a.Default.Loss())
	if a.PathMTU > 0 {
		m.PathMTU = types.Int64Value(int64(a.PathMTU))
	}
	m.Small, m.Full, m.Fragmented = run(a.Default), run(a.Full), run(a.Fragmented)
	sizes := map[string]attr.Value{}
	for size, r := range a.Sizes {
		sizes[strconv.Itoa(size)] = run(r)
	}
	m.Passed = types.MapValueMust(runTypes, sizes)
}

func run(r ops.Packets) types.Object {
	rtt := func(ms float64) types.Float64 {
		if r.Received == 0 {
			return types.Float64Null()
		}
		return roundTenth(ms * 1000)
	}
	return types.ObjectValueMust(runTypes.AttrTypes, map[string]attr.Value{
		"sent": types.Int64Value(int64(r.Sent)), "received": types.Int64Value(int64(r.Received)),
		"loss_percent": roundTenth(r.Loss()),
		"rtt_min_us":   rtt(r.Min), "rtt_avg_us": rtt(r.Avg), "rtt_max_us": rtt(r.Max),
	})
}

// roundTenth keeps a tenth, which is more than ping's clock is worth.
func roundTenth(f float64) types.Float64 { return types.Float64Value(math.Round(f*10) / 10) }
