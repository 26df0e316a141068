package ipoib

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

const description = "An IP-over-InfiniBand interface in the host's own network stack: mode, MTU, addresses and " +
	"routes, now and after every restart. The provider finds out what configures the network of the host: netplan " +
	"(with NetworkManager or systemd-networkd), NetworkManager, systemd-networkd, ifupdown or ifupdown2, or the " +
	"middleware of TrueNAS. The configuration is written to separate, marked files; `stored_in` names them. A file of " +
	"somebody else that configures the interface is taken over with consent only (`allow.adopt_files`), and kept " +
	"beside its place. Other files are never changed.\n\nA change must be confirmed over a new connection; otherwise " +
	"the host undoes it. The interface that carries the SSH session is not touched without consent.\n\nDestroying it " +
	"removes this configuration and the addresses. Mode and MTU stay until the next boot. The interface belongs to " +
	"the card and stays. A P_Key interface is removed."

var (
	times = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "the change and its confirmation, with the wait for other changes of the host",
		AtEnd: "After that time the apply fails, and what is not confirmed by then is undone.",
	}
	removal = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "the removal and its confirmation, with the wait for other changes of the host",
		AtEnd: "After that time the destroy fails, what is not confirmed by then is undone, and the resource stays in the " +
			"state.",
	}
)

func (o object) Schema(ctx context.Context) schema.Schema {
	attrs := map[string]schema.Attribute{
		"id":        attribute.IDAttribute("`host/port_guid`, and `/pkey` for another partition than the default"),
		"host":      attribute.HostAttribute(),
		"port_guid": attribute.PortGUIDAttribute(),
		"pkey": schema.StringAttribute{
			Optional: true, CustomType: attribute.PKeyType{},
			MarkdownDescription: "P_Key of the partition with bit 0x8000, `0x8001`; the default partition if left out, and " +
				"not on TrueNAS. Each partition has its own interface, PORT.KEY, such as `ibp1s0.8001`.",
			PlanModifiers: []planmodifier.String{attribute.ReplaceIfOther[attribute.PKeyKind]()},
		},
		"bond": bondAttribute(),
		"mode": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString("datagram"),
			MarkdownDescription: "`datagram` (the default) or `connected`, the same on all hosts of a subnet. ConnectX-4 and " +
				"later support datagram only (IP009).",
			Validators: []validator.String{stringvalidator.OneOf("datagram", "connected")},
		},
		"mtu": schema.Int64Attribute{
			Optional: true, Computed: true,
			MarkdownDescription: "MTU in bytes; the default is what the mode allows everywhere. Datagram: up to 2044, or 4092 " +
				"where the broadcast group of the fabric has 4096 bytes (IP018); connected: up to 65520 (TrueNAS 9216).",
			Validators: []validator.Int64{int64validator.AtLeast(1)},
		},
		"addresses": schema.SetAttribute{
			Required: true, ElementType: attribute.PrefixType{},
			MarkdownDescription: "Addresses of the host with their prefix lengths, `172.16.0.20/24`. The interface has " +
				"exactly these; empty for none.",
			Validators: []validator.Set{attribute.ValidElements[attribute.PrefixKind]{}},
		},
		"dhcp4": schema.BoolAttribute{
			Optional: true,
			MarkdownDescription: "Whether a DHCP server gives the IPv4 address; `addresses` then has those of IPv6 alone, or " +
				"none. Not with ifupdown or TrueNAS: see [DHCP](#dhcp).",
		},
		"routes":      routesAttribute(),
		finding.Allow: attribute.AllowAttribute(consents()),
		"timeouts":    attribute.TimeoutsAttribute(ctx, times, &removal),

		"allowed_management_path": attribute.AllowedPath(),

		"network_stack": attribute.ComputedString("What configures the network of the host, as found there: `netplan with " +
			"systemd-networkd`, `netplan with NetworkManager`, `NetworkManager`, " +
			"`systemd-networkd`, `ifupdown`, `ifupdown2` or `TrueNAS middleware`."),
		"interface": attribute.ComputedString("Name of the interface on the host."),
		"up":        attribute.ComputedBool("Whether the interface is administratively up."),
		"carrier": attribute.ComputedBool("Whether it works: up, a subnet manager is there and the broadcast group was " +
			"joined."),
		"change": attribute.ComputedString("What the apply does to the interface and to files of the host; afterwards what " +
			"the last one did: `mtu: 2044 -> 9000; writes /etc/…`. " + attribute.BindsTheApply),
		"drains": attribute.Drains("an interface that is up is configured anew"),
		"dhcp_address": attribute.ComputedString("IPv4 address that the DHCP server has given, with its prefix length; " +
			"null without one. Another address is no drift."),
		"active_port": attribute.ComputedString("Interface of the port of a bond that carries now; null without a bond, " +
			"or if none carries. Another one is no drift."),
		"stored_in": attribute.ComputedList(types.StringType,
			"Where the configuration that survives a restart is: paths of files, or rows of the middleware."),
		"effective": schema.SingleNestedAttribute{
			Computed: true,
			MarkdownDescription: "What is in effect now, where that is another thing than `mode`, `mtu` and `addresses` say, as " +
				"before a start that brings back other settings; null where it is the same.",
			Attributes: map[string]schema.Attribute{
				"mode":      attribute.ComputedString("Mode in effect."),
				"mtu":       attribute.ComputedInt("MTU in effect, in bytes."),
				"addresses": attribute.ComputedList(types.StringType, "Addresses in effect, sorted."),
			},
		},
	}
	return schema.Schema{MarkdownDescription: description, Attributes: attrs}
}

// consents name the thing an operator agrees to touch.
func consents() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		attribute.ManagementPath: attribute.ConsentToNames("Consent to change or remove the interface although the SSH " +
			"session, the default route or storage runs over it, or may do so: the name of the interface."),
		"adopt_interface": attribute.ConsentToName("Consent to replace a configuration of the interface that was made " +
			"outside Terraform, on TrueNAS: its name."),
		"adopt_files": attribute.ConsentToNames("Consent to take over definitions of the interface that were made outside " +
			"Terraform: the paths of their files, `[\"/etc/netplan/60-ib.yaml\"]`. Each file is kept beside its place, under " +
			"a name that the network stack does not read."),
		"adopt_without": attribute.ConsentToNames("Consent to drop what those files or the interface have and this " +
			"resource does not: addresses, routes, and settings without an argument. Write them as the plan names them, " +
			"`[\"nameservers\", \"172.16.0.21/24\"]`."),
		"keep_interface": attribute.ConsentToName("Consent to store the management interface of a TrueNAS host on which " +
			"nothing is configured yet: its name. The first stored interface makes the middleware clear all others, so both " +
			"are stored in one transaction."),
		"private_mtu": schema.Int64Attribute{Optional: true, WriteOnly: true,
			MarkdownDescription: "Consent to store an MTU above 9216 past the public API of TrueNAS: that MTU. It survives " +
				"restarts, but an update of TrueNAS may lose it."},
	}
}
