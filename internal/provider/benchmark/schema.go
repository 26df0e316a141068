package benchmark

import (
	"context"
	"maps"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/benchmark"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "Measures bandwidth or latency between two hosts with `iperf3`, `qperf` or `perftest`. The state " +
	"keeps the result and its circumstances, and the client notes it: `history` prints the notes, and " +
	"[`report`](../guides/report.md#benchmarks-over-time) shows results over time. The apply measures when it " +
	"creates the resource, and " +
	"again when an argument or `triggers` changes. A refresh reads nothing. A result that misses " +
	"`min_gbps`, `max_latency_us` or the matching entry of `limits` fails the apply and is not kept in the state. " +
	"With `on_miss = \"warn\"` it is a warning.\n\n" +
	"The server runs as the transient systemd unit `infiniband-benchmark.service` with a time limit, so it ends even if " +
	"Terraform is killed. A host takes part in one benchmark at a time. If the " +
	"host runs its own server on the port, such as Debian's `iperf3.service`, that server is used " +
	"and stays. A missing program is installed from the distribution; the plan says so (PF003). " +
	"TrueNAS has iperf3, but neither qperf nor perftest. A firewall must let the ports of the test " +
	"through: TCP 5201 for iperf3, TCP 19765 and TCP and UDP 19766 for qperf, TCP 18515 for perftest. " +
	"A port whose link has just come up is waited for, at most 75 seconds, until a subnet manager has set it up.\n\n" +
	"No limit is set by default, because none fits all cards. Owners of such labs report these values. Two " +
	"ConnectX-3 Pro with FDR links in connected mode: 40.1 Gb/s with four streams of iperf3, and 50 to 52 µs of TCP " +
	"latency with qperf. A QLogic IBA7322 (QDR): about 10 Gb/s, limited by the CPU of the iperf3 server. An old " +
	"InfiniHost III (SDR and DDR): 6.4 Gb/s with one stream. " +
	"A single stream in datagram mode is always slow. Numbers of the simulated lab prove nothing about hardware.\n\n" +
	"A measurement cannot be imported. Destroying the resource forgets it; installed packages and the notes of hosts stay."

var times = attribute.TimedOperation{
	Standard: standardTimeout, Covers: "installation and measurement, with the wait for other changes of both hosts",
	AtEnd: "After that time the apply fails, the server is stopped, and nothing is kept of the measurement.",
}

// Schema implements resource.Resource.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := arguments()
	maps.Copy(attributes, results())
	attributes["triggers"] = schema.MapAttribute{Optional: true, ElementType: types.StringType,
		MarkdownDescription: "Any values; a change measures again."}
	attributes["timeouts"] = attribute.TimeoutsAttribute(ctx, times, nil)
	resp.Schema = schema.Schema{MarkdownDescription: description, Attributes: attributes}
}

var onMiss = []validator.String{stringvalidator.OneOf("error", "warn")}

func arguments() map[string]schema.Attribute {
	host := func(what string) schema.StringAttribute {
		return schema.StringAttribute{Required: true, MarkdownDescription: what,
			Validators: []validator.String{stringvalidator.LengthAtLeast(1)}}
	}
	return map[string]schema.Attribute{
		"server": host("Key of the host in the provider's `hosts` map that runs the server."),
		"client": host("Key of the host that runs the client; another one than `server`."),
		"test": schema.StringAttribute{Required: true, Validators: []validator.String{stringvalidator.OneOf(ops.Names()...)},
			MarkdownDescription: "`iperf3`: bandwidth of TCP; `tcp_bw`, `tcp_lat`, `udp_lat`: of qperf; `ib_write_bw`, " +
				"`ib_read_bw`, `ib_send_bw`, `ib_write_lat`, `ib_read_lat`, `ib_send_lat`: of perftest, which measures RDMA " +
				"without IP between the ports."},
		"server_address": schema.StringAttribute{Optional: true,
			MarkdownDescription: "Address of the server to measure to; without it that of an InfiniBand interface that both " +
				"hosts share a subnet on. For perftest any address that the client reaches will do, because only the handshake " +
				"goes over IP."},
		"port": schema.Int64Attribute{Optional: true,
			MarkdownDescription: "Port that the server listens on, instead of the program's own; qperf uses the one after it " +
				"as well.",
			Validators: []validator.Int64{int64validator.Between(1024, 65534)}},
		"duration": schema.StringAttribute{Optional: true, Computed: true, CustomType: attribute.DurationType{},
			Default:             stringdefault.StaticString("10s"),
			MarkdownDescription: "How long to measure, in whole seconds, `1s` to `10m`; `10s` by default."},
		"streams": schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(1),
			MarkdownDescription: "Parallel streams of iperf3, 1 by default.",
			Validators:          []validator.Int64{int64validator.Between(1, 64)}},
		"min_gbps": schema.Float64Attribute{Optional: true,
			MarkdownDescription: "Least bandwidth in Gb/s, for a test of bandwidth.",
			Validators:          []validator.Float64{float64validator.AtLeast(0.001)}},
		"max_latency_us": schema.Float64Attribute{Optional: true,
			MarkdownDescription: "Longest latency in microseconds, one way, for a test of latency.",
			Validators:          []validator.Float64{float64validator.AtLeast(0.001)}},
		"limits": limits(),
		"on_miss": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("error"),
			Validators: onMiss,
			MarkdownDescription: "What to do with a result that misses its limit: `error` (the default) fails the apply, " +
				"`warn` keeps the result and warns. Changing only this measures nothing."},
	}
}

// limits are those of a mode and a link, so that one configuration fits a lab of
// mixed cards.
func limits() schema.ListNestedAttribute {
	least := []validator.Float64{float64validator.AtLeast(0.001)}
	return schema.ListNestedAttribute{Optional: true, Validators: []validator.List{listvalidator.SizeAtLeast(1)},
		MarkdownDescription: "Limits by mode and link, for a lab of mixed cards. The first that fits what is measured " +
			"takes the place of `min_gbps` and `max_latency_us`; those count if none fits.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"mode": schema.StringAttribute{Optional: true,
				Validators:          []validator.String{stringvalidator.OneOf("datagram", "connected")},
				MarkdownDescription: "Mode of the client's IPoIB interface, `datagram` or `connected`; any if left out."},
			"link": schema.StringAttribute{Optional: true,
				Validators:          []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^(?:(?:1|2|4|8|12)X )?(?:SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)$`), "such as QDR or 4X QDR")},
				MarkdownDescription: "The slower of both links, such as `FDR` or `1X QDR`; any if left out."},
			"min_gbps": schema.Float64Attribute{Optional: true, Validators: least,
				MarkdownDescription: "Least bandwidth in Gb/s."},
			"max_latency_us": schema.Float64Attribute{Optional: true, Validators: least,
				MarkdownDescription: "Longest latency in microseconds, one way."},
		}}}
}

func results() map[string]schema.Attribute {
	number := func(description string) schema.Float64Attribute {
		return schema.Float64Attribute{Computed: true, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"id":          attribute.ComputedString("`client/server/test`."),
		"gbps":        number("Bandwidth that the receiver counted, in Gb/s; null for a latency."),
		"latency_us":  number("Latency in microseconds, one way; null for a bandwidth."),
		"retransmits": attribute.ComputedInt("TCP segments that iperf3 had to send again; null for others."),
		"missed":      attribute.ComputedBool("Whether the result misses its limit."),
		"measured_at": attribute.ComputedString("When, by the clock of the operator's machine, in UTC."),
		"address":     attribute.ComputedString("Address that was measured to."),
		"mode":        attribute.ComputedString("Mode of the client's IPoIB interface then; null if it is none."),
		"mtu":         attribute.ComputedInt("MTU of the client's interface then."),
		"client_rate": attribute.ComputedString("Rate of the client's link then, such as `40 Gb/sec (4X QDR)`; " +
			"null if it is not InfiniBand."),
		"server_rate":    attribute.ComputedString("Rate of the server's link then."),
		"client_version": attribute.ComputedString("Version of the program on the client."),
		"server_version": attribute.ComputedString("Version of the program on the server."),
		"client_command": attribute.ComputedString("What ran on the client, to do it again by hand."),
		"server_command": attribute.ComputedString("What ran on the server."),
	}
}
