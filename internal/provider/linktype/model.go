package linktype

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/hca/linktype"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

type model struct {
	managed.OnCard

	Ports     types.Map    `tfsdk:"ports"`
	StoredIn  types.String `tfsdk:"stored_in"`
	Effective types.Map    `tfsdk:"effective"`
	NextBoot  types.Map    `tfsdk:"next_boot"`
	ByPlace   types.Map    `tfsdk:"by_place"`
}

// known reports whether everything that the verdict needs is known.
func (m *model) known() bool {
	return attribute.Known(m.CardID, m.Ports, m.Allow, m.Activation)
}

// request reads what is asked from the configuration.
func (m *model) request() (safety.LinkTypeRequest, error) {
	given := attribute.ConsentsOf(m.Allow)
	req := safety.LinkTypeRequest{Ports: map[int]ib.LinkType{}, ManagementPath: given.Names(attribute.ManagementPath),
		OtherCards: given.Names("other_cards"), Activation: safety.Activation(m.Activation.ValueString())}
	for key, v := range m.Ports.Elements() {
		number, err := strconv.Atoi(key)
		if err != nil {
			return req, fmt.Errorf("invalid port %q: want a number", key)
		}
		text, ok := v.(types.String)
		if !ok {
			continue
		}
		if text.IsNull() {
			return req, fmt.Errorf("port %s has no link type, it is null: want ib, eth or auto, or leave the port out", key)
		}
		if req.Ports[number], err = ib.ParseLinkType(text.ValueString()); err != nil {
			return req, fmt.Errorf("port %s: %w", key, err)
		}
	}
	return req, nil
}

// observe fills everything from what was read back. Ports that the state names
// show drift of now before drift of the next boot; after an import, all ports.
func (m *model) observe(ref attribute.CardRef, s ops.State) {
	m.ID = types.StringValue(ref.String())
	m.StoredIn = attribute.OrNull(s.StoredIn)
	m.RebootRequired = rebootRequired(s)
	effective, next, ports := map[string]string{}, map[string]string{}, map[string]string{}
	for number, p := range s.Ports {
		key := strconv.Itoa(number)
		if p.Shown != "" {
			effective[key] = p.Shown
		}
		if p.Persistent != "" {
			next[key] = p.Persistent.String()
		}
		if old, named := m.Ports.Elements()[key].(types.String); named || m.Ports.IsNull() {
			ports[key] = report(old.ValueString(), p)
		}
	}
	for _, number := range m.unshown(s) {
		keep(effective, m.Effective, number)
		if _, stored := s.Ports[number]; !stored {
			keep(ports, m.Ports, number)
			if key, t := strconv.Itoa(number), s.NextBoot[number]; t != "" {
				next[key], ports[key] = t.String(), t.String()
			}
		}
	}
	m.ByPlace = placesMap(s.ByPlace)
	m.Effective, m.NextBoot, m.Ports = attribute.StringMap(effective), attribute.StringMap(next),
		attribute.StringMap(ports)
	if s.Unclear != "" {
		m.NextBoot = types.MapNull(types.StringType)
	}
}

// rebootRequired is null where it is not known.
func rebootRequired(s ops.State) types.Bool {
	if s.Unclear != "" || s.Open || !s.Pending && len(s.Unshown()) > 0 {
		return types.BoolNull()
	}
	return types.BoolValue(s.Pending)
}

// unshown are the ports of the resource whose types nothing on the host shows now.
func (m *model) unshown(s ops.State) []int {
	var all []int
	for key := range m.Ports.Elements() {
		if number, err := strconv.Atoi(key); err == nil && s.Ports[number].Shown == "" {
			all = append(all, number)
		}
	}
	slices.Sort(all)
	return all
}

// keep gives a port the type that it had. What is not shown is not another type.
func keep(now map[string]string, old types.Map, number int) {
	key := strconv.Itoa(number)
	if was, ok := old.Elements()[key].(types.String); ok && was.ValueString() != "" {
		now[key] = was.ValueString()
	}
}

// observeDriver fills only what the driver shows, if mstconfig did not say what is
// stored. All else stays as it was read last; after an import nothing is filled.
func (m *model) observeDriver(s ops.State) {
	if m.Ports.IsNull() {
		return
	}
	before, effective, ports := m.Effective.Elements(), map[string]string{}, maps.Clone(m.Ports.Elements())
	for _, number := range m.unshown(s) {
		keep(effective, m.Effective, number)
	}
	for number, p := range s.Ports {
		if p.Shown == "" {
			continue
		}
		key := strconv.Itoa(number)
		effective[key] = p.Shown
		_, named := ports[key]
		if was, ok := before[key].(types.String); named && !p.InCard && (!ok || was.ValueString() != p.Shown) {
			ports[key] = types.StringValue(p.Configured.String())
		}
	}
	places := maps.Clone(m.ByPlace.Elements())
	if driver, ok := placesMap(s.ByPlace).Elements()["driver"]; ok && places != nil {
		places["driver"] = driver
		m.ByPlace = types.MapValueMust(placeType, places)
	}
	m.Effective, m.Ports = attribute.StringMap(effective), types.MapValueMust(types.StringType, ports)
}

// placeType is a map of link types by port.
var placeType = types.MapType{ElemType: types.StringType}

func placesMap(places map[string]map[int]string) types.Map {
	elems := make(map[string]attr.Value, len(places))
	for name, ports := range places {
		byPort := make(map[string]string, len(ports))
		for number, t := range ports {
			byPort[strconv.Itoa(number)] = t
		}
		elems[name] = attribute.StringMap(byPort)
	}
	return types.MapValueMust(placeType, elems)
}

// report is what state shows of one port: its type now, or the type after the next boot
// if only that differs from the known one. For a card that decides by its own
// configuration it is the stored type: the running one follows with the next restart,
// as reboot_required says.
func report(known string, p ops.Port) string {
	if p.InCard && p.Persistent != "" {
		return p.Persistent.String()
	}
	if known != "" && p.Configured.String() == known && p.Persistent != "" {
		return p.Persistent.String()
	}
	return p.Configured.String()
}

// storedAnew is the change of a setting that the ports have already.
const storedAnew = "stored anew"

// changeText is "1: eth -> ib"; a port that has the type already is stored. Empty if all have the
// types, now and at the next boot.
func changeText(now ops.State, want map[int]ib.LinkType) string {
	var all []string
	for _, number := range slices.Sorted(maps.Keys(want)) {
		p, becomes := now.Ports[number], want[number].String()
		switch key := strconv.Itoa(number); {
		case p.Configured != want[number]:
			all = append(all, key+": "+p.Configured.String()+" -> "+becomes)
		case p.Persistent == "":
			all = append(all, key+": "+becomes+", to be stored")
		case p.Persistent != want[number]:
			all = append(all, key+": "+becomes+", stored "+p.Persistent.String()+" -> "+becomes)
		}
	}
	return strings.Join(all, "; ")
}

// switchesTo reports whether a port has another type in effect; unknown of one that showed none.
func (m *model) switchesTo(want map[int]ib.LinkType) types.Bool {
	switches := types.BoolValue(false)
	for number, t := range want {
		was, _ := m.Effective.Elements()[strconv.Itoa(number)].(types.String)
		now, _, _ := strings.Cut(was.ValueString(), " ") // "auto (ib)"
		if now != "" && now != t.String() {
			return types.BoolValue(true)
		}
		if now == "" {
			switches = types.BoolUnknown()
		}
	}
	return switches
}

// changed is the change that follows from the state; empty if that has all types.
func (m *model) changed(prior model) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(m.Ports.Elements())) {
		was, is := attribute.StringOf(prior.Ports.Elements()[key]), attribute.StringOf(m.Ports.Elements()[key])
		if was == "" {
			was = "none"
		}
		if was != is {
			all = append(all, key+": "+was+" -> "+is)
		}
	}
	return strings.Join(all, "; ")
}
