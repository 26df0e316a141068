package opensm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

type model struct {
	ID             types.String       `tfsdk:"id"`
	Host           types.String       `tfsdk:"host"`
	PortGUID       attribute.GUID     `tfsdk:"port_guid"`
	Priority       types.Int64        `tfsdk:"priority"`
	SubnetPrefix   types.String       `tfsdk:"subnet_prefix"`
	RoutingEngine  types.List         `tfsdk:"routing_engine"`
	LogLevel       types.String       `tfsdk:"log_level"`
	LogMaxSize     types.Int64        `tfsdk:"log_max_size"`
	PollingTimeout attribute.Duration `tfsdk:"sminfo_polling_timeout"`
	PollingRetries types.Int64        `tfsdk:"polling_retry_number"`
	Partitions     types.Map          `tfsdk:"partitions"`
	FabricKeys     types.Object       `tfsdk:"keys"`
	KeysVersion    types.Int64        `tfsdk:"keys_version"`
	Protection     types.Int64        `tfsdk:"m_key_protection_level"`
	Lease          types.Int64        `tfsdk:"m_key_lease_period"`
	Allow          types.Object       `tfsdk:"allow"`
	AllowedLast    types.String       `tfsdk:"allowed_last_manager"`
	Timeouts       timeouts.Value     `tfsdk:"timeouts"`

	Unit           types.String       `tfsdk:"unit"`
	Active         types.Bool         `tfsdk:"active"`
	Enabled        types.Bool         `tfsdk:"enabled"`
	PackageVersion types.String       `tfsdk:"package_version"`
	PortState      types.String       `tfsdk:"port_state"`
	LID            types.Int64        `tfsdk:"lid"`
	SMLID          types.Int64        `tfsdk:"sm_lid"`
	Role           types.String       `tfsdk:"role"`
	HandOver       attribute.Duration `tfsdk:"handover_time"`
	Keys           types.Map          `tfsdk:"security_keys"`
	Change         types.String       `tfsdk:"change"`
	Drained        types.List         `tfsdk:"drains"`
}

// known reports whether everything that a check needs is known.
func (m *model) known() bool {
	return attribute.Known(m.Host, m.PortGUID, m.Priority, m.SubnetPrefix, m.LogLevel, m.LogMaxSize, m.PollingTimeout,
		m.PollingRetries, m.Partitions, m.RoutingEngine, m.KeysVersion, m.Protection, m.Lease)
}

func (m *model) request(ctx context.Context) (ops.Request, error) {
	d, err := m.sofar(ctx)
	if err != nil {
		return d, err
	}
	d.PortGUID, err = ib.ParseGUID(m.PortGUID.ValueString())
	return d, err
}

// unknownNames names what is not known yet.
func (m *model) unknownNames() string {
	var names []string
	for _, a := range []struct {
		name string
		late bool
	}{
		{"port_guid", m.PortGUID.IsUnknown()},
		{"priority", m.Priority.IsUnknown()},
		{"partitions in full", !attribute.Known(m.Partitions)},
	} {
		if a.late {
			names = append(names, a.name)
		}
	}
	if len(names) == 0 {
		return "some of its options"
	}
	return strings.Join(names, " and ")
}

// sofar is what the configuration asks for, without the port and without what is not
// known yet.
func (m *model) sofar(ctx context.Context) (ops.Request, error) {
	d := ops.Request{Host: m.Host.ValueString(), Priority: int(m.Priority.ValueInt64()), Tuning: ops.Tuning{
		RoutingEngine: strings.Join(attribute.StringsOf(m.RoutingEngine),
			","), LogLevel: m.LogLevel.ValueString(), LogMaxSize: int(m.LogMaxSize.ValueInt64()),
		PollingTimeout: m.pollingMS(), PollingRetries: int(m.PollingRetries.ValueInt64()),
	}}
	d.Keys = m.shownKeys()
	d.DropsKeys = attribute.Known(m.KeysVersion) && !m.KeysVersion.IsNull() && d.Keys.Version == 0
	var err error
	if prefix := m.SubnetPrefix.ValueString(); prefix != "" {
		if d.Tuning.SubnetPrefix, err = ib.ParseGUID(prefix); err != nil {
			return d, err
		}
	}
	if attribute.Known(m.Partitions) {
		d.Partitions, err = m.partitions(ctx)
	}
	return d, err
}

func ref(d ops.Request) attribute.PortRef { return attribute.PortRef{Host: d.Host, GUID: d.PortGUID} }

// observe fills the computed attributes from what was found; the configured
// ones follow what the host has.
func (m *model) observe(ctx context.Context, d ops.Request, l *found.Look) (diags diag.Diagnostics) {
	m.ID = types.StringValue(ref(d).String())
	if l.Priority >= 0 {
		m.Priority = types.Int64Value(int64(l.Priority))
		m.observeTuning(l.Tuning, l.FabricKeys)
		if version := l.FabricKeys.Version; version == 0 && m.KeysVersion.ValueInt64() > 0 {
			m.KeysVersion = types.Int64Null()
		} else if version > 0 {
			m.KeysVersion = types.Int64Value(int64(version))
		}
		diags = m.observePartitions(ctx, l.Partitions)
	}
	m.Unit = types.StringValue(l.Unit)
	m.Active = orLast(l.Active.Get, m.Active)
	m.Enabled = orLast(l.Enabled.Get, m.Enabled)
	m.PackageVersion = attribute.OrNull(l.Installed)
	m.PortState = attribute.OrNull(l.State)
	m.LID = types.Int64Value(int64(l.LID))
	m.SMLID = types.Int64Value(int64(l.SMLID))
	m.Role = attribute.OrNull(l.Role())
	m.HandOver = handOver(l.Tuning)
	m.Keys = keyReport(l.Keys)
	if m.Change.IsUnknown() {
		m.Change = types.StringNull()
	}
	return diags
}

// orLast is what was read, or else what was read last.
func orLast(now func() (bool, bool), before types.Bool) types.Bool {
	if v, ok := now(); ok {
		return types.BoolValue(v)
	}
	if before.IsUnknown() {
		return types.BoolNull()
	}
	return before
}

// pollingMS is sminfo_polling_timeout in opensm's unit, milliseconds; 0 if it is left out.
func (m *model) pollingMS() int {
	return int(attribute.DurationOf(m.PollingTimeout, 0) / time.Millisecond)
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func (m *model) observeTuning(t ops.Tuning, k ops.FabricKeys) {
	if prefix, err := ib.ParseGUID(m.SubnetPrefix.ValueString()); err != nil || prefix != t.SubnetPrefix {
		m.SubnetPrefix = types.StringNull()
		if t.SubnetPrefix != 0 {
			m.SubnetPrefix = types.StringValue(t.SubnetPrefix.String())
		}
	}
	m.RoutingEngine, m.LogLevel = types.ListNull(types.StringType), attribute.OrNull(t.LogLevel)
	if t.RoutingEngine != "" {
		m.RoutingEngine = attribute.StringList(strings.Split(t.RoutingEngine, ","))
	}
	switch {
	case t.PollingTimeout == 0:
		m.PollingTimeout = attribute.NullText[attribute.DurationKind]()
	case t.PollingTimeout != m.pollingMS():
		m.PollingTimeout = attribute.DurationText(milliseconds(t.PollingTimeout).String())
	}
	for _, n := range []struct {
		to    *types.Int64
		value int
	}{{&m.LogMaxSize, t.LogMaxSize}, {&m.PollingRetries, t.PollingRetries}, {&m.Protection, k.Protection},
		{&m.Lease, k.Lease}} {
		if n.to.Equal(types.Int64Value(int64(n.value))) {
			continue // a level of 0 too
		}
		*n.to = types.Int64Null()
		if n.value != 0 {
			*n.to = types.Int64Value(int64(n.value))
		}
	}
}

// plan fills what follows from the configuration; what the host decides is left to
// planned.Steady.
func (m *model) plan(d ops.Request) {
	m.ID = types.StringValue(ref(d).String())
	m.Unit = types.StringValue(ops.UnitName(d.PortGUID))
	m.Active = types.BoolValue(true)
	m.Enabled = types.BoolValue(true)
	m.HandOver = handOver(d.Tuning)
}

// foresee fills in what a change of this instance, of which the state has was, does not move. A restart keeps the
// LID, and another subnet manager may take the fabric over meanwhile.
func (m *model) foresee(was *model, change string) {
	m.PackageVersion, m.Change = was.PackageVersion, attribute.PlannedChange(change, was.Change)
	if m.PackageVersion.IsNull() {
		m.PackageVersion = types.StringUnknown()
	}
	if !was.PortState.Equal(m.PortState) {
		return
	}
	m.LID = was.LID
	served := was.Active.ValueBool() && !was.Role.IsNull()
	if served && was.Priority.Equal(m.Priority) && !strings.Contains(change, "restarts") {
		m.SMLID, m.Role = was.SMLID, was.Role
	}
}

// holds reports whether a state has what is planned, in whatever spelling: an
// instance that runs, now and at boot, with these options.
func (m *model) holds(ctx context.Context, plan model, want ops.Request) bool {
	have, err := m.request(ctx)
	if err != nil || m.Priority.IsNull() { // as after an import of what is not ours
		return false
	}
	same := ref(have) == ref(want) && have.Conf() == want.Conf() && m.KeysVersion.Equal(plan.KeysVersion)
	return same && ops.PartitionText(have.Partitions) == ops.PartitionText(want.Partitions) && m.reports(plan)
}

// reports tells whether a state has the computed attributes that are planned.
func (m *model) reports(plan model) bool {
	return m.ID.Equal(plan.ID) && m.Unit.Equal(plan.Unit) && m.Active.Equal(plan.Active) &&
		m.Enabled.Equal(plan.Enabled) &&
		m.HandOver.Equal(plan.HandOver) && m.Keys.Equal(plan.Keys)
}

func handOver(t ops.Tuning) attribute.Duration {
	return attribute.DurationText(milliseconds(t.HandOver()).String())
}

// keyReport says of each secret of the fabric whether it is set, never its value; null if none is.
func keyReport(keys []ops.Key) types.Map {
	elements, open := map[string]attr.Value{}, true
	for _, k := range keys {
		word := ops.KeyWord(k)
		elements[k.Name], open = types.StringValue(word), open && word == ops.KeyOpen
	}
	if open {
		return types.MapNull(types.StringType)
	}
	return types.MapValueMust(types.StringType, elements)
}

// satisfies reports whether the host is as configured, now and at boot.
func satisfies(l *found.Look, d ops.Request) bool { return l.Managed && judge.IsSettled(l, d) }

// partitions reads the map; it is wholly known. What cannot be a partition is
// an error that names it.
func (m *model) partitions(ctx context.Context) ([]ops.Partition, error) {
	var all map[string]partition
	if m.Partitions.IsNull() {
		return nil, nil
	}
	if diags := m.Partitions.ElementsAs(ctx, &all, false); diags.HasError() {
		return nil, fmt.Errorf("partitions: %v", diags)
	}
	var list []ops.Partition
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p, err := all[name].read(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("partition %q: %w", name, err)
		}
		list = append(list, p)
	}
	ops.SortPartitions(list)
	return list, nil
}

// observePartitions replaces the map by what the host has, unless they mean the
// same: the spelling of the configuration stays.
func (m *model) observePartitions(ctx context.Context, found []ops.Partition) diag.Diagnostics {
	mine, err := m.partitions(ctx)
	if err == nil && !m.Partitions.IsUnknown() && ops.PartitionText(mine) == ops.PartitionText(found) {
		return nil
	}
	if len(found) == 0 {
		m.Partitions = types.MapNull(partitionType)
		return nil
	}
	all := map[string]partition{}
	for _, p := range found {
		all[p.Name] = partitionModel(p)
	}
	value, diags := types.MapValueFrom(ctx, partitionType, all)
	m.Partitions = value
	return diags
}
