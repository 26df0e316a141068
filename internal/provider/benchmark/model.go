package benchmark

import (
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/benchmark"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// asked is what is to be measured.
type asked struct {
	Server        types.String       `tfsdk:"server"`
	Client        types.String       `tfsdk:"client"`
	Test          types.String       `tfsdk:"test"`
	ServerAddress types.String       `tfsdk:"server_address"`
	Port          types.Int64        `tfsdk:"port"`
	Duration      attribute.Duration `tfsdk:"duration"`
	Streams       types.Int64        `tfsdk:"streams"`
	MinGbps       types.Float64      `tfsdk:"min_gbps"`
	MaxLatency    types.Float64      `tfsdk:"max_latency_us"`
	Limits        types.List         `tfsdk:"limits"`
	OnMiss        types.String       `tfsdk:"on_miss"`
}

type model struct {
	asked
	Triggers types.Map      `tfsdk:"triggers"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`

	ID            types.String  `tfsdk:"id"`
	Gbps          types.Float64 `tfsdk:"gbps"`
	LatencyUS     types.Float64 `tfsdk:"latency_us"`
	Retransmits   types.Int64   `tfsdk:"retransmits"`
	Missed        types.Bool    `tfsdk:"missed"`
	MeasuredAt    types.String  `tfsdk:"measured_at"`
	Address       types.String  `tfsdk:"address"`
	Mode          types.String  `tfsdk:"mode"`
	MTU           types.Int64   `tfsdk:"mtu"`
	ClientRate    types.String  `tfsdk:"client_rate"`
	ServerRate    types.String  `tfsdk:"server_rate"`
	ClientVersion types.String  `tfsdk:"client_version"`
	ServerVersion types.String  `tfsdk:"server_version"`
	ClientCommand types.String  `tfsdk:"client_command"`
	ServerCommand types.String  `tfsdk:"server_command"`
}

// known reports whether everything that a check needs is known.
func (m *asked) known() bool {
	for _, v := range []attr.Value{m.Server, m.Client, m.Test, m.ServerAddress, m.Port, m.Duration, m.Streams, m.MinGbps,
		m.MaxLatency, m.Limits, m.OnMiss} {
		if v.IsUnknown() {
			return false
		}
	}
	for _, l := range m.Limits.Elements() {
		if l.IsUnknown() {
			return false
		}
		o, _ := l.(types.Object)
		for _, v := range o.Attributes() {
			if v.IsUnknown() {
				return false
			}
		}
	}
	return true
}

func (m *asked) identity() string {
	return m.Client.ValueString() + "/" + m.Server.ValueString() + "/" + m.Test.ValueString()
}

func (m *asked) limits() ops.Limits {
	return ops.Limits{MinGbps: m.MinGbps.ValueFloat64(), MaxLatencyUS: m.MaxLatency.ValueFloat64(), Of: m.limitsOf(),
		Warn: m.OnMiss.ValueString() == "warn"}
}

func (m *asked) limitsOf() []ops.LimitOf {
	var all []ops.LimitOf
	for _, l := range m.Limits.Elements() {
		o, _ := l.(types.Object)
		text := func(name string) string { v, _ := o.Attributes()[name].(types.String); return v.ValueString() }
		number := func(name string) float64 { v, _ := o.Attributes()[name].(types.Float64); return v.ValueFloat64() }
		all = append(all, ops.LimitOf{Mode: text("mode"), Link: text("link"), MinGbps: number("min_gbps"),
			MaxLatencyUS: number("max_latency_us")})
	}
	return all
}

// request reads what is asked for; its error belongs to the attribute at.
func (m *asked) request() (d ops.Request, at string, err error) {
	if d.Test, err = ops.Find(m.Test.ValueString()); err != nil {
		return d, "test", err
	}
	d.Port, d.Streams = int(m.Port.ValueInt64()), int(max(1, m.Streams.ValueInt64())) // an action has no defaults
	d.Length = attribute.DurationOf(m.Duration, 10*time.Second)
	if d.Length < time.Second || d.Length > 10*time.Minute || d.Length%time.Second != 0 {
		return d, "duration", fmt.Errorf("%s is not a number of whole seconds from 1s to 10m", d.Length)
	}
	if text := m.ServerAddress.ValueString(); text != "" {
		a, parseErr := netip.ParseAddr(text)
		if parseErr != nil || a.Zone() != "" {
			return d, "server_address", fmt.Errorf("%q is not an IP address", text)
		}
		d.Address = a.Unmap()
	}
	err = m.fits(d, &at)
	return d, at, err
}

// fits finds arguments that have no meaning for the test.
func (m *asked) fits(d ops.Request, at *string) error {
	switch {
	case m.Server.Equal(m.Client):
		*at = "server"
		return fmt.Errorf("server and client are the same host: nothing would leave it")
	case d.Test.Latency && !m.MinGbps.IsNull():
		*at = "min_gbps"
		return fmt.Errorf("%s measures a latency, whose limit is max_latency_us", d.Test.Name)
	case !d.Test.Latency && !m.MaxLatency.IsNull():
		*at = "max_latency_us"
		return fmt.Errorf("%s measures a bandwidth, whose limit is min_gbps", d.Test.Name)
	case d.Streams > 1 && d.Test.Tool != "iperf3":
		*at = "streams"
		return fmt.Errorf("%s has one stream; only iperf3 has several", d.Test.Name)
	}
	*at = "limits"
	return m.fitLimits(d.Test)
}

// fitLimits requires the limit of the measured value in each entry, and no other.
func (m *asked) fitLimits(test ops.Test) error {
	for i, l := range m.limitsOf() {
		wanted, other, name := l.MinGbps, l.MaxLatencyUS, "min_gbps"
		if test.Latency {
			wanted, other, name = other, wanted, "max_latency_us"
		}
		if wanted == 0 || other != 0 {
			return fmt.Errorf("entry %d: the limit of %s is %s, and only that", i+1, test.Name, name)
		}
	}
	return nil
}

// same reports whether nothing changed that requires a new measurement.
func (m *model) same(o model) bool {
	pairs := [][2]attr.Value{
		{m.Server, o.Server}, {m.Client, o.Client}, {m.Test, o.Test}, {m.ServerAddress, o.ServerAddress}, {m.Port, o.Port},
		{m.Streams, o.Streams}, {m.MinGbps, o.MinGbps}, {m.MaxLatency, o.MaxLatency}, {m.Limits, o.Limits}, {m.Triggers,
			o.Triggers},
	}
	for _, p := range pairs {
		if !p[0].Equal(p[1]) {
			return false
		}
	}
	return attribute.DurationOf(m.Duration, 0) == attribute.DurationOf(o.Duration, 0)
}

// keep takes the results of o.
func (m *model) keep(o model) {
	m.ID, m.Gbps, m.LatencyUS, m.Retransmits, m.Missed, m.MeasuredAt = o.ID, o.Gbps, o.LatencyUS, o.Retransmits, o.Missed,
		o.MeasuredAt
	m.Address, m.Mode, m.MTU, m.ClientRate, m.ServerRate = o.Address, o.Mode, o.MTU, o.ClientRate, o.ServerRate
	m.ClientVersion, m.ServerVersion, m.ClientCommand, m.ServerCommand = o.ClientVersion, o.ServerVersion, o.ClientCommand,
		o.ServerCommand
}

// expect makes the results unknown, for a plan that measures.
func (m *model) expect() {
	u := types.StringUnknown()
	m.keep(model{
		ID: u, Gbps: types.Float64Unknown(), LatencyUS: types.Float64Unknown(), Retransmits: types.Int64Unknown(),
		Missed: types.BoolUnknown(), MeasuredAt: u,
		Address: u, Mode: u, MTU: types.Int64Unknown(), ClientRate: u, ServerRate: u, ClientVersion: u, ServerVersion: u,
		ClientCommand: u, ServerCommand: u,
	})
}

// observe takes what was measured.
func (m *model) observe(d ops.Request, r ops.Result, missed bool) {
	m.ID, m.Missed = types.StringValue(m.identity()), types.BoolValue(missed)
	m.Gbps, m.LatencyUS, m.Retransmits = types.Float64Null(), types.Float64Null(), types.Int64Null()
	if d.Test.Latency {
		m.LatencyUS = roundThousandth(r.LatencyUS)
	} else {
		m.Gbps = roundThousandth(r.Gbps)
	}
	if d.Test.Tool == "iperf3" {
		m.Retransmits = types.Int64Value(int64(r.Retransmits))
	}
	m.MeasuredAt = types.StringValue(r.MeasuredAt.UTC().Format(time.RFC3339))
	m.Address = types.StringValue(r.Pair.Addr.String())
	m.Mode, m.MTU = types.StringNull(), types.Int64Null()
	if n := r.Pair.From.Netdev; n != nil {
		m.Mode, m.MTU = attribute.OrNull(n.Mode), types.Int64Value(int64(n.MTU))
	}
	m.ClientRate, m.ServerRate = rate(r.Pair.From.Port), rate(r.Pair.To.Port)
	m.ClientVersion, m.ServerVersion = attribute.OrNull(r.ClientVersion), attribute.OrNull(r.ServerVersion)
	m.ClientCommand, m.ServerCommand = types.StringValue(r.ClientCommand), types.StringValue(r.ServerCommand)
}

func rate(p *inventory.Port) types.String {
	if p == nil || p.Physical != "LinkUp" {
		return types.StringNull()
	}
	return attribute.OrNull(p.Rate)
}

func roundThousandth(f float64) types.Float64 { return types.Float64Value(math.Round(f*1000) / 1000) }
