package opensm

import (
	"context"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// partitionsAttribute is partitions.conf as data.
func partitionsAttribute() schema.MapNestedAttribute {
	members := func(kind, more string) schema.SetAttribute {
		return schema.SetAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: kind + " members: port GUIDs, or `ALL`, `ALL_CAS` (adapters), `ALL_SWITCHES`, `ALL_ROUTERS`, " +
				"`SELF` (the subnet manager's port). " + more,
			Validators: []validator.Set{setvalidator.SizeAtLeast(1)},
		}
	}
	return schema.MapNestedAttribute{
		Optional: true,
		MarkdownDescription: "Partitions by name, written to a `partitions.conf` of this instance alone; `Default` (P_Key " +
			"`0xffff`) has to be there. Without it opensm reads the host's own file, if there is one: see " +
			"[Partitions](#partitions).",
		Validators: []validator.Map{mapvalidator.SizeAtLeast(1)},
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"pkey": schema.StringAttribute{Optional: true, CustomType: attribute.PKeyType{},
				MarkdownDescription: "P_Key of the partition with bit 0x8000, `0x8001` to `0xfffe`; only `Default` has one by " +
					"itself. `full` and `limited` say which members have that bit in their tables."},
			"ipoib": schema.BoolAttribute{Optional: true,
				MarkdownDescription: "Whether opensm makes the broadcast group that IPoIB interfaces of the partition join. " +
					"Without it they stay without carrier unless the first of them may make the group."},
			"mtu": schema.Int64Attribute{Optional: true,
				MarkdownDescription: "IB MTU of the broadcast group in bytes: 256, 512, 1024, 2048 (opensm's default) or 4096. " +
					"Every member has to have at least this.",
				Validators: []validator.Int64{int64validator.OneOf(256, 512, 1024, 2048, 4096)}},
			"rate_gbps": schema.Float64Attribute{Optional: true,
				MarkdownDescription: "Rate of the broadcast group in Gb/s: " + rateWords() +
					" (opensm's default is 10). Every member has to have at least this.",
				Validators: []validator.Float64{rateValidator{"must be " + attribute.Described(rateWords())}}},
			"index0": schema.BoolAttribute{Optional: true,
				MarkdownDescription: "Whether the P_Key goes into the first place of each member's table, which some programs " +
					"use without asking."},
			"full":    members("Full", "They reach every member; the entry of a named port overrides a word such as `ALL`."),
			"limited": members("Limited", "They reach full members only, not each other."),
		}},
	}
}

const description = "A subnet manager on one port of a host. An unmanaged switch has none, and without one every " +
	"port stays in `Initializing`. Run it on one host, or on two with different priorities. TrueNAS cannot run " +
	"opensm; the plan says so.\n\nThe apply installs the distribution's package if needed. It binds an instance to " +
	"the port by its GUID, starts it, and enables it for every boot. The instance has its own file of options, " +
	"because all instances of a host share `opensm.conf`. The apply succeeds when the port is `Active`. Otherwise it " +
	"names the cause.\n\nDestroying the resource stops and disables the instance and removes its configuration. The " +
	"package stays."

var (
	times = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "installation, start, the proof that the fabric works, and the wait for " +
			"other changes of the host and other subnet managers",
		AtEnd: "After that time the apply fails; what was set up by then stays, and the next apply does the rest.",
	}
	removal = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "the stop and the removal, with the wait for other changes of the host and for " +
			"other subnet managers",
		AtEnd: "After that time the destroy fails, and the resource stays in the state.",
	}
)

func (o object) Schema(ctx context.Context) schema.Schema {
	all := schema.Schema{
		MarkdownDescription: description,
		Attributes:          arguments(ctx),
	}
	maps.Copy(all.Attributes, keysAttributes())
	maps.Copy(all.Attributes, results())
	return all
}

// The consents that SM005 and SM039 ask for.
const (
	equalPriority = "equal_priority"
	lastManager   = "last_manager"
)

// arguments are what a configuration says.
func arguments(ctx context.Context) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id":        attribute.IDAttribute("`host/port_guid`"),
		"host":      attribute.HostAttribute(),
		"port_guid": attribute.PortGUIDAttribute(),
		"priority": schema.Int64Attribute{
			Optional: true, Computed: true, Default: int64default.StaticInt64(0),
			MarkdownDescription: "Priority, 0 to 15 (default 0). The highest of all subnet managers of the fabric is the " +
				"master; of equals, the one with the lower port GUID.",
			Validators: []validator.Int64{int64validator.Between(0, ops.MaxPriority)},
		},
		finding.Allow: attribute.AllowAttribute(map[string]schema.Attribute{
			equalPriority: schema.Int64Attribute{
				Optional: true, WriteOnly: true,
				MarkdownDescription: "Consent to have the priority of a master of the same fabric: that priority.",
			},
			lastManager: attribute.ConsentToName("Consent to remove the only subnet manager of a fabric that hosts depend " +
				"on: its port GUID."),
		}),
		"allowed_" + lastManager: attribute.AllowedName(lastManager,
			"Port GUID of the subnet manager that a destroy may remove as the only one of its fabric"),
		"subnet_prefix": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Subnet prefix, the upper half of every GID, such as `0xfec0000000000001` (opensm's default " +
				"is `0xfe80000000000000`); subnets that a router joins, and hosts on two fabrics, need different ones. A change " +
				"restarts the instance, and every port of the fabric gets new GIDs.",
			Validators: []validator.String{subnetPrefix},
		},
		"routing_engine": schema.ListAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Routing engines in the order of preference, such as `[\"ftree\", \"updn\"]`: `" +
				strings.Join(ops.RoutingEngines(), "`, `") + "`. opensm falls back to `minhop`, its default, where none of them " +
				"fits; a change restarts the instance.",
			Validators: []validator.List{listvalidator.SizeAtLeast(1), listvalidator.UniqueValues(),
				listvalidator.ValueStringsAre(stringvalidator.OneOf(ops.RoutingEngines()...))},
		},
		"log_level": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "What goes into `/var/log/opensm.<port_guid>.log`: `error`, `info` (opensm's default), " +
				"`verbose` or `debug`.",
			Validators: []validator.String{stringvalidator.OneOf("error", "info", "verbose", "debug")},
		},
		"log_max_size": schema.Int64Attribute{
			Optional: true,
			MarkdownDescription: "Size in MB at which opensm empties its log, 1 to 4095; without it the log grows until it " +
				"is rotated. The packages of opensm rotate `/var/log/opensm*.log` weekly " +
				"by logrotate, which this resource leaves alone.",
			Validators: []validator.Int64{int64validator.Between(1, 4095)},
		},
		"sminfo_polling_timeout": schema.StringAttribute{
			Optional: true, CustomType: attribute.DurationType{},
			MarkdownDescription: "Time between two looks of a standby at its master, `100ms` to `10m` (opensm's default is " +
				"`10s`).",
			Validators: []validator.String{polling},
		},
		"polling_retry_number": schema.Int64Attribute{
			Optional:            true,
			MarkdownDescription: "Looks without an answer before a standby takes over, 1 to 100 (opensm's default is 4).",
			Validators:          []validator.Int64{int64validator.Between(1, 100)},
		},
		"partitions": partitionsAttribute(),
		"timeouts":   attribute.TimeoutsAttribute(ctx, times, &removal),
	}
}

// results are what the provider reads.
func results() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"unit":            attribute.ComputedString("systemd unit of the instance."),
		"active":          attribute.ComputedBool("Whether the instance runs."),
		"enabled":         attribute.ComputedBool("Whether it starts at boot."),
		"package_version": attribute.ComputedString("Version of the opensm package."),
		"port_state":      attribute.ComputedString("State of the port: `Active` after a subnet manager has configured it."),
		"lid":             attribute.ComputedInt("LID of the port."),
		"sm_lid":          attribute.ComputedInt("LID of the master subnet manager; that of this port if it is the master."),
		"role": attribute.ComputedString("`master` or `standby`, by the SM LID of the port; null while the port is not " +
			"served."),
		"handover_time": attribute.ComputedText[attribute.DurationKind]("Longest time that the fabric has no subnet " +
			"manager if the master dies and this one is the standby: `sminfo_polling_timeout` × (`polling_retry_number` + " +
			"2). Existing traffic goes on; new ports, joins and paths wait."),
		"change": attribute.ComputedString("What the apply does to packages, files and services of the host; afterwards " +
			"what the last one did: `writes /etc/…; restarts opensm@….service`. If somebody installs the package between the " +
			"plan of a new resource and its apply, the engine stops the apply and calls that an inconsistent final plan: " +
			"plan again."),
		"drains": attribute.Drains("the instance restarts"),
		"security_keys": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Keys in the file of options that protect the fabric from other subnet managers and from " +
				"changes by any host: `m_key`, `sm_key`, `sa_key` and `cc_key`. Each is `open` (the default value), `set` " +
				"(another value) or `unknown` (not a number), never the value itself; null while all four are open.",
		},
	}
}
