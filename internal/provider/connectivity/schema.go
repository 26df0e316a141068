package connectivity

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func text(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func input(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

func describe() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "The connection between two hosts, measured with `ping`: small packets, unfragmented " +
			"packets of the interface's MTU, and fragmented packets. It gives the path MTU, loss and round-trip times. " +
			"Unfragmented packets show that the mode and the MTU work on both ends. If packets do not pass, " +
			"`problems` says why: it compares addresses, links, subnet managers, partitions, modes and MTUs " +
			"of both hosts. A connection that does not work is not an error, so that a `check` block can " +
			"judge it. A host that cannot be reached over SSH is an error.\n\n" +
			"A read is one command on `from`. If nothing passes, it is one more on each host, " +
			"for the P_Key table of its port. " +
			"It takes about 3 seconds with 5 packets, and up to half a minute more if the path MTU must be searched. Every " +
			"plan reads it: put it into a `check` block, or let it depend on what it measures.",
		Attributes: attributes(),
	}
}

func attributes() map[string]schema.Attribute {
	name := stringvalidator.LengthBetween(1, 15) // of an interface: IFNAMSIZ less the end
	return map[string]schema.Attribute{
		"id": text("`from/to`."),
		"from": schema.StringAttribute{Required: true,
			MarkdownDescription: "Key of the host in the provider's `hosts` map that sends the packets."},
		"to": input("Key of the other host; leave it out and set `address` for one that is not managed.",
			stringvalidator.LengthAtLeast(1)),
		"from_interface": input("Interface that packets leave by; without it the InfiniBand interface that shares subnet "+
			"and P_Key with the other end, else the first.", name),
		"to_interface": input("Interface of the other host whose address is pinged; without it as above.", name),
		"address":      input("Address to ping, instead of one of `to_interface`."),
		"family": input("`ipv4` (the default) or `ipv6`: which addresses are looked for if `address` is not given.",
			stringvalidator.OneOf("ipv4", "ipv6")),
		"packets": schema.Int64Attribute{Optional: true,
			MarkdownDescription: "Packets of each size, 5 by default; five are sent a second.",
			Validators:          []validator.Int64{int64validator.Between(1, 100)}},
		"packet_sizes": schema.SetAttribute{Optional: true, ElementType: types.Int64Type,
			MarkdownDescription: "Further packets to send in one piece, in bytes with their IP and ICMP headers, such as " +
				"`[1500, 2044, 4092]`; see `sizes`.",
			Validators: []validator.Set{setvalidator.SizeAtMost(16),
				setvalidator.ValueInt64sAre(int64validator.Between(100, 65535))}},

		"interface": text("Interface that packets left by; null if there is none."),
		"target":    text("Address that was pinged; null if there is none."),
		"mtu":       schema.Int64Attribute{Computed: true, MarkdownDescription: "MTU of that interface."},
		"mode":      text("`connected` or `datagram`; null if the interface is not InfiniBand."),
		"reachable": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether a small packet came back."},
		"mtu_ok": schema.BoolAttribute{Computed: true,
			MarkdownDescription: "Whether packets of the interface's MTU came back in one piece."},
		"path_mtu": schema.Int64Attribute{Computed: true,
			MarkdownDescription: "Largest packet that passed in one piece, headers included, and at most `mtu`; null if none " +
				"did."},
		"loss_percent": schema.Float64Attribute{Computed: true,
			MarkdownDescription: "Lost small packets in percent; 100 if none could be sent."},
		"small":      runSchema("Packets of ping's usual 56 bytes."),
		"full":       runSchema("Packets of the interface's MTU with the don't-fragment bit."),
		"fragmented": runSchema("Packets of twice the MTU, at most 65507 bytes of data, which travel in fragments."),
		"sizes": schema.MapNestedAttribute{Computed: true, MarkdownDescription: "The packets of `packet_sizes`, by size.",
			NestedObject: schema.NestedAttributeObject{Attributes: runAttributes()}},
		"problems": schema.ListNestedAttribute{Computed: true,
			MarkdownDescription: "What is not as it should be, causes first.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"kind": text("`no_interface`, `no_address`, `interface_down`, `no_carrier`, `no_sm`, `subnet`, `partition`, " +
					"`mode`, `mtu`: what the hosts show; `unreachable`, `loss`, `oversized`, `fragments`: what packets show."),
				"where":   text("The interface, host or pair."),
				"message": text("The problem in one sentence."),
			}}},
	}
}

func runSchema(description string) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Computed: true, MarkdownDescription: description + " Null if none could be sent.",
		Attributes: runAttributes()}
}

func runAttributes() map[string]schema.Attribute {
	number := func(description string) schema.Float64Attribute {
		return schema.Float64Attribute{Computed: true, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"sent":         schema.Int64Attribute{Computed: true, MarkdownDescription: "Packets sent."},
		"received":     schema.Int64Attribute{Computed: true, MarkdownDescription: "Answers received."},
		"loss_percent": number("Lost packets in percent."),
		"rtt_min_us":   number("Shortest round trip in microseconds; null without an answer."),
		"rtt_avg_us":   number("Mean round trip in microseconds; null without an answer."),
		"rtt_max_us":   number("Longest round trip in microseconds; null without an answer."),
	}
}
