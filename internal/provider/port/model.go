package port

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/port"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

type model struct {
	ID       types.String     `tfsdk:"id"`
	CardID   attribute.CardID `tfsdk:"card_id"`
	Port     types.Int64      `tfsdk:"port"`
	Enabled  types.Bool       `tfsdk:"enabled"`
	Speeds   types.Set        `tfsdk:"speeds"`
	Widths   types.Set        `tfsdk:"widths"`
	Allow    types.Object     `tfsdk:"allow"`
	Timeouts timeouts.Value   `tfsdk:"timeouts"`

	CardIdentity  types.String   `tfsdk:"card_identity"`
	AtBoot        types.Bool     `tfsdk:"at_boot"`
	Unit          types.String   `tfsdk:"unit"`
	PortGUID      attribute.GUID `tfsdk:"port_guid"`
	State         types.String   `tfsdk:"state"`
	PhysicalState types.String   `tfsdk:"physical_state"`
	Rate          types.String   `tfsdk:"rate"`
	LID           types.Int64    `tfsdk:"lid"`
	SMLID         types.Int64    `tfsdk:"sm_lid"`
	Change        types.String   `tfsdk:"change"`
}

// known reports whether everything that a check needs is known.
func (m *model) known() bool {
	return attribute.Known(m.CardID, m.Port, m.Enabled, m.Speeds, m.Widths)
}

// request reads what is asked for; allow is that of the configuration.
func (m *model) request(allow types.Object) (ops.Request, error) {
	ref, err := attribute.ParseCardRef(m.CardID.ValueString())
	if err != nil {
		return ops.Request{}, err
	}
	d := ops.Request{
		Host: ref.Host, Card: ref.PCI, Number: int(m.Port.ValueInt64()), Enabled: m.Enabled.ValueBool(),
		Consent: attribute.ConsentsOf(allow).Names(attribute.ManagementPath),
	}
	if d.Speeds, err = ops.ParseSpeeds(texts(m.Speeds)); err != nil {
		return d, err
	}
	d.Widths, err = ops.ParseWidths(texts(m.Widths))
	return d, err
}

// cardOf names the card of a port.
func cardOf(d ops.Request) attribute.CardRef { return attribute.CardRef{Host: d.Host, PCI: d.Card} }

// seen is what is kept beside the state: what the last look has found, and what the last apply
// was asked for. The state shows what differs from that. It cannot be compared with itself:
// with another port than unit, each refresh would show the other of the two.
type seen struct {
	ops.Seen
	Asked *setting `json:",omitempty"`
}

// setting is what the arguments say. A set without names is not managed.
type setting struct {
	Enabled        bool
	Speeds, Widths []string
}

func (m *model) setting() *setting {
	if m.Enabled.IsNull() { // an import, for which nothing was asked
		return nil
	}
	return &setting{m.Enabled.ValueBool(), texts(m.Speeds), texts(m.Widths)}
}

func texts(set types.Set) []string {
	out := make([]string, 0, len(set.Elements()))
	for _, v := range set.Elements() {
		out = append(out, attribute.StringOf(v))
	}
	return out
}

func setOf(names []string) types.Set {
	elems := make([]attr.Value, len(names))
	for i, n := range names {
		elems[i] = types.StringValue(n)
	}
	return attribute.SetOf(types.StringType, elems)
}

// id is "host/pci_address/port".
func id(ref attribute.CardRef, number int) string { return ref.String() + "/" + strconv.Itoa(number) }

func parseID(text string) (attribute.CardRef, int, error) {
	i := strings.LastIndexByte(text, '/')
	if i > 0 {
		ref, err := attribute.ParseCardRef(text[:i])
		number, errNumber := strconv.Atoi(text[i+1:])
		switch {
		case err != nil || errNumber != nil:
		case number < 1 || number > 2:
			return attribute.CardRef{}, 0, fmt.Errorf("invalid port id %q: a card has the ports 1 and 2", text)
		default:
			return ref, number, nil
		}
	}
	return attribute.CardRef{}, 0,
		fmt.Errorf("invalid port id %q: want host/pci_address/port, for example pve3/0000:01:00.0/1", text)
}

// observe fills everything from what was read, of a setting what differs from what was asked
// for: what the port is now before what it will be after the next boot. Nothing is asked for
// by an import.
func (m *model) observe(ref attribute.CardRef, number int, o ops.Observation, asked *setting) {
	m.ID = types.StringValue(id(ref, number))
	var speeds, widths []string
	if asked != nil {
		speeds, widths = asked.Speeds, asked.Widths
	}
	switch on, known := o.Enabled().Get(); {
	case !o.Present:
	case !known:
		m.Enabled = types.BoolNull()
	case o.Sets && asked != nil && asked.Enabled == on:
		m.Enabled = types.BoolValue(o.Setting.Enabled)
	default:
		m.Enabled = types.BoolValue(on)
	}
	m.Speeds = drift(speeds, o, func(l *ops.Link) []string { return l.SpeedsEnabled.Names() }, o.Setting.Speeds.Names())
	m.Widths = drift(widths, o, func(l *ops.Link) []string { return l.WidthsEnabled.Names() }, o.Setting.Widths.Names())
	m.facts(o)
	m.AtBoot = types.BoolValue(o.AtBoot && o.Foreign == "")
	if m.Change.IsUnknown() {
		m.Change = types.StringNull()
	}
	m.Unit = types.StringNull()
	if o.Stored {
		m.Unit = types.StringValue(ops.UnitName(ref.PCI, number))
	}
}

func (m *model) facts(o ops.Observation) {
	m.PortGUID = attribute.NullText[attribute.GUIDKind]()
	if !o.PortGUID.IsZero() {
		m.PortGUID = attribute.NewText[attribute.GUIDKind](o.PortGUID.String())
	}
	m.State, m.PhysicalState = attribute.OrNull(o.State), attribute.OrNull(o.Physical)
	m.Rate = types.StringNull()
	if o.Physical == "LinkUp" {
		m.Rate = attribute.OrNull(o.Rate)
	}
	m.LID, m.SMLID = types.Int64Value(int64(o.LID)), types.Int64Value(int64(o.SMLID))
}

// drift is what state shows of a set that was asked for: what the port may negotiate now, or
// what is stored if only that differs. A set that is not managed is null; after an import it
// is what our unit says.
func drift(asked []string, o ops.Observation, live func(*ops.Link) []string, stored []string) types.Set {
	shown := stored
	if !o.Sets {
		shown = asked
	}
	if len(asked) > 0 && o.Link != nil {
		if now := live(o.Link); !o.Sets || !setOf(now).Equal(setOf(asked)) {
			shown = now
		}
	}
	if len(shown) == 0 {
		return types.SetNull(types.StringType)
	}
	return setOf(shown)
}

// plan fills what follows from configuration and state; what the host decides is
// left to planned.Steady.
func (m *model) plan(ref attribute.CardRef, number int) {
	m.ID = types.StringValue(id(ref, number))
	m.AtBoot = types.BoolValue(true)
	m.Unit = types.StringValue(ops.UnitName(ref.PCI, number))
}

// foresee fills in what a change of this port, of which the state has was, does not move: never its GUID, and nothing
// of a link that it keeps.
func (m *model) foresee(was *model, keeps bool) {
	m.PortGUID = was.PortGUID
	if m.PortGUID.IsNull() {
		m.PortGUID = attribute.UnknownText[attribute.GUIDKind]()
	}
	if keeps {
		m.State, m.PhysicalState, m.Rate, m.LID, m.SMLID = was.State, was.PhysicalState, was.Rate, was.LID, was.SMLID
	}
}

// holds reports whether a state has what is planned, now and at boot. A set that the
// configuration no longer names has to leave the state.
func (m *model) holds(plan *model) bool {
	return attribute.SameCardThere(m.CardID, m.CardIdentity, plan.CardID) &&
		m.Port.Equal(plan.Port) && m.Enabled.Equal(plan.Enabled) &&
		m.Speeds.Equal(plan.Speeds) && m.Widths.Equal(plan.Widths) && m.AtBoot.Equal(plan.AtBoot) && m.Unit.Equal(plan.Unit)
}
