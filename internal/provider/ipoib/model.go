package ipoib

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

type model struct {
	ID        types.String   `tfsdk:"id"`
	Host      types.String   `tfsdk:"host"`
	PortGUID  attribute.GUID `tfsdk:"port_guid"`
	PKey      attribute.PKey `tfsdk:"pkey"`
	Bond      types.Object   `tfsdk:"bond"`
	Mode      types.String   `tfsdk:"mode"`
	MTU       types.Int64    `tfsdk:"mtu"`
	Addresses types.Set      `tfsdk:"addresses"`
	DHCP4     types.Bool     `tfsdk:"dhcp4"`
	Routes    types.Set      `tfsdk:"routes"`
	Timeouts  timeouts.Value `tfsdk:"timeouts"`

	Allow       types.Object `tfsdk:"allow"`
	AllowedPath types.List   `tfsdk:"allowed_management_path"`

	Stack     types.String `tfsdk:"network_stack"`
	Interface types.String `tfsdk:"interface"`
	Up        types.Bool   `tfsdk:"up"`
	Carrier   types.Bool   `tfsdk:"carrier"`
	StoredIn  types.List   `tfsdk:"stored_in"`
	Effective types.Object `tfsdk:"effective"`
	Change    types.String `tfsdk:"change"`
	Leased    types.String `tfsdk:"dhcp_address"`
	Drained   types.List   `tfsdk:"drains"`
	Active    types.String `tfsdk:"active_port"`
}

var effectiveTypes = map[string]attr.Type{
	"mode": types.StringType, "mtu": types.Int64Type, "addresses": types.ListType{ElemType: types.StringType},
}

// known reports whether everything that a check needs is known. An MTU that the
// configuration leaves out is known: it follows from the mode.
func (m *model) known() bool { return !m.Host.IsUnknown() && !m.PortGUID.IsUnknown() && m.settled() }

// settled reports whether the settings are known.
func (m *model) settled() bool {
	return !m.PKey.IsUnknown() && bondKnown(m.Bond) && !m.Mode.IsUnknown() && !m.MTU.IsUnknown() &&
		!m.DHCP4.IsUnknown() && m.addressed()
}

// addressed reports whether addresses and routes are known.
func (m *model) addressed() bool {
	for _, v := range append(m.Addresses.Elements(), m.Routes.Elements()...) {
		if route, ok := v.(types.Object); ok &&
			(route.Attributes()["to"].IsUnknown() || route.Attributes()["via"].IsUnknown()) || v.IsUnknown() {
			return false
		}
	}
	return !m.Addresses.IsUnknown() && !m.Routes.IsUnknown()
}

// unknownNames names what is not known yet.
func (m *model) unknownNames() string {
	switch {
	case m.settled():
		return "port_guid"
	case m.PortGUID.IsUnknown():
		return "port_guid and a part of the settings"
	}
	return "a part of the settings"
}

// request reads a configuration with defaults applied; an MTU that is null or
// unknown is left to the mode.
func (m *model) request() (ipoib.Request, error) {
	guid, err := ib.ParseGUID(m.PortGUID.ValueString())
	if err != nil {
		return ipoib.Request{}, err
	}
	d, err := m.sofar()
	d.PortGUID = guid
	return d, err
}

// sofar is what is known of the request, without the port. Routes are judged by the
// addresses, so they wait for all of them.
func (m *model) sofar() (ipoib.Request, error) {
	var err error
	d := ipoib.Request{
		Host: m.Host.ValueString(),
		Config: ipoib.Config{Mode: ib.IPoIBMode(m.Mode.ValueString()), MTU: int(m.MTU.ValueInt64()),
			DHCP4: m.DHCP4.ValueBool()},
		Consent: m.consent(),
	}
	if d.PKey, err = pkeyOf(m.PKey); err != nil {
		return ipoib.Request{}, err
	}
	if d.Bond, err = bondOf(m.Bond); err != nil {
		return ipoib.Request{}, err
	}
	for _, v := range m.Addresses.Elements() {
		text, ok := v.(attribute.Prefix)
		if !ok || text.IsUnknown() {
			continue
		}
		prefix, parseErr := netip.ParsePrefix(text.ValueString())
		if parseErr != nil {
			return ipoib.Request{}, parseErr
		}
		d.Config.Addresses = append(d.Config.Addresses, prefix)
	}
	if m.addressed() {
		d.Config.Routes, err = routesOf(m.Routes)
	}
	return d, err
}

// consent reads what a configuration consents to; a state holds what a destroy may need.
func (m *model) consent() ipoib.Consent {
	if m.Allow.IsNull() {
		return ipoib.Consent{ManagementPath: attribute.StringsOf(m.AllowedPath)}
	}
	given := attribute.ConsentsOf(m.Allow)
	return ipoib.Consent{
		ManagementPath: given.Names(attribute.ManagementPath), AdoptInterface: given.Text("adopt_interface"),
		AdoptFiles: given.Names("adopt_files"), AdoptWithout: given.Names("adopt_without"),
		KeepInterface: given.Text("keep_interface"), PrivateMTU: given.Number("private_mtu"),
	}
}

// pkeyOf gives zero for the default partition.
func pkeyOf(v attribute.PKey) (uint16, error) {
	if v.IsNull() || v.IsUnknown() {
		return 0, nil
	}
	text, err := v.Canonical()
	if err != nil {
		return 0, err
	}
	key, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 16)
	if uint16(key) == ipoib.DefaultPKey {
		key = 0
	}
	return uint16(key), err
}

func ref(d ipoib.Request) attribute.PortRef {
	r := attribute.PortRef{Host: d.Host, GUID: d.PortGUID}
	if d.PKey != 0 {
		r.PKey = fmt.Sprintf("0x%04x", d.PKey)
	}
	return r
}

// observe fills everything from what was found. known is what the state holds;
// nil after an import.
func (m *model) observe(d ipoib.Request, o *found.Look, known *ipoib.Config) {
	report := o.Report(known)
	m.ID = types.StringValue(ref(d).String())
	m.Mode = attribute.OrNull(report.Mode.String())
	m.MTU = types.Int64Null()
	if report.MTU != 0 {
		m.MTU = types.Int64Value(int64(report.MTU))
	}
	m.Addresses = prefixSet(report.Addresses)
	m.Routes = routeSet(report.Routes)
	if report.DHCP4 != m.DHCP4.ValueBool() {
		m.DHCP4 = types.BoolNull()
		if report.DHCP4 {
			m.DHCP4 = types.BoolValue(true)
		}
	}
	m.Leased = types.StringNull()
	if report.DHCP4 && len(o.Live.Leased) > 0 {
		m.Leased = types.StringValue(o.Live.Leased[0].String())
	}
	m.Stack = attribute.OrNull(string(o.Stack))
	m.Interface = types.StringNull()
	if o.Present {
		m.Interface = types.StringValue(o.Name)
	}
	m.Active = types.StringNull()
	if o.Present && o.Bond.Name != "" {
		m.Active = attribute.OrNull(o.Netdev.Active)
	}
	m.Up = types.BoolValue(o.Live.Up)
	m.Carrier = types.BoolValue(o.Live.Carrier)
	m.StoredIn = attribute.StringList(o.Persisted.Sources)
	m.Effective = types.ObjectNull(effectiveTypes)
	if live := effectiveOf(o.Live.Config); o.Present && !live.Equal(effectiveOf(report)) {
		m.Effective = live
	}
	if m.Change.IsUnknown() {
		m.Change = types.StringNull()
	}
}

func effectiveOf(c ipoib.Config) types.Object {
	var addresses []string
	for _, p := range c.Sorted().Addresses {
		addresses = append(addresses, p.String())
	}
	return types.ObjectValueMust(effectiveTypes, map[string]attr.Value{
		"mode": types.StringValue(c.Mode.String()), "mtu": types.Int64Value(int64(c.MTU)),
		"addresses": attribute.StringList(addresses),
	})
}

// foresee fills in what a change does not move, of an interface of which the state has was. What a state holds that
// has all of it shows nothing of what is to be done, so that the place of the configuration stays open.
func (m *model) foresee(was *model, sources []string, held bool) {
	m.Stack, m.Interface = openIfNull(was.Stack), openIfNull(was.Interface)
	if was.Carrier.ValueBool() {
		m.Carrier = was.Carrier
	}
	if n := len(was.StoredIn.Elements()); !held && n > 0 && (sources == nil || n == len(sources)) {
		m.StoredIn = was.StoredIn
	}
}

func openIfNull(v types.String) types.String {
	if v.IsNull() {
		return types.StringUnknown()
	}
	return v
}

// plan fills what follows from the configuration; what the host decides is left to
// planned.Steady.
func (m *model) plan(d ipoib.Request) {
	m.ID = types.StringValue(ref(d).String())
	m.MTU = types.Int64Value(int64(d.Config.MTU))
}

func prefixSet(prefixes []netip.Prefix) types.Set {
	elems := make([]attr.Value, len(prefixes))
	for i, p := range prefixes {
		elems[i] = attribute.PrefixText(p)
	}
	return attribute.SetOf(attribute.PrefixType{}, elems)
}
