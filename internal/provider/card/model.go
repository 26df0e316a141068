package card

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

type model struct {
	ID         types.String  `tfsdk:"id"`
	Host       types.String  `tfsdk:"host"`
	PCIAddress attribute.PCI `tfsdk:"pci_address"`
	Expect     types.Object  `tfsdk:"expect"`

	Chip         types.String `tfsdk:"chip"`
	PartNumber   types.String `tfsdk:"part_number"`
	SerialNumber types.String `tfsdk:"serial_number"`
	CardIdentity types.String `tfsdk:"card_identity"`
	PortGUIDs    types.Map    `tfsdk:"port_guids"`
}

// ref names the card; ok is false while host or address are not known.
func (m *model) ref() (attribute.CardRef, bool) {
	if m.Host.IsUnknown() || m.PCIAddress.IsUnknown() {
		return attribute.CardRef{}, false
	}
	ref, err := attribute.ParseCardRef(m.Host.ValueString() + "/" + m.PCIAddress.ValueString())
	return ref, err == nil
}

// identify fills what is read of the card. No other resource changes it but for the GUIDs of its
// ports, which infiniband_guids writes: so the plan of a new object can say all of it.
func (m *model) identify(ref attribute.CardRef, c *inventory.Card, now ib.Identity) {
	m.ID = idOf(ref, now)
	m.Chip = attribute.OrNull(c.Model())
	m.PartNumber = attribute.OrNull(cmp.Or(c.PartNumber, now.Part))
	m.SerialNumber = attribute.OrNull(cmp.Or(c.Serial.Or(""), now.Serial))
	m.PortGUIDs = portGUIDs(c)
}

func idOf(ref attribute.CardRef, who ib.Identity) types.String {
	return types.StringValue(attribute.CardName{CardRef: ref, Token: who.Token()}.String())
}

// portGUID is the GUID of a port. One that is no InfiniBand port now shows none: it will use that
// in flash, unless the card runs with other GUIDs than those of the flash.
func portGUID(c *inventory.Card, p inventory.Port) ib.GUID {
	others := !c.NodeGUID.IsZero() && c.Flash != nil && c.Flash.GUIDs.Node != c.NodeGUID
	if !p.PortGUID.IsZero() || p.LinkLayer == "InfiniBand" || c.Flash == nil || others {
		return p.PortGUID
	}
	return map[int]ib.GUID{1: c.Flash.GUIDs.Port1, 2: c.Flash.GUIDs.Port2}[p.Number]
}

// portGUIDs are the GUIDs of the ports by number; null where none is known. Without a driver
// there are those in flash.
func portGUIDs(c *inventory.Card) types.Map {
	if len(c.Ports) == 0 && c.Flash != nil {
		return attribute.ByPort(attribute.GUIDText(c.Flash.GUIDs.Port1), attribute.GUIDText(c.Flash.GUIDs.Port2))
	}
	guids := make(map[string]attr.Value, len(c.Ports))
	for _, p := range c.Ports {
		guids[strconv.Itoa(p.Number)] = attribute.GUIDText(portGUID(c, p))
	}
	return types.MapValueMust(attribute.GUIDType{}, guids)
}

// mismatches compares the card with what the configuration expects of it. What
// cannot be read is named apart: it is not what is expected either.
func (m *model) mismatches(c *inventory.Card, now ib.Identity, serial, part string) (out, unread []string) {
	for _, want := range m.expectedGUIDs() {
		switch {
		case len(now.GUIDs) == 0:
			unread = append(unread, "node GUID")
		case !slices.Contains(now.GUIDs, want):
			out = append(out, fmt.Sprintf("node_guid is %s, expected %s", now.GUIDs[0], want))
		}
	}
	found := map[string]string{"serial_number": serial, "part_number": part, "chip": c.Model()}
	for _, name := range []string{"serial_number", "part_number", "chip"} {
		want, ok := m.Expect.Attributes()[name].(types.String)
		if !ok || want.IsNull() || want.IsUnknown() ||
			strings.TrimSpace(want.ValueString()) == strings.TrimSpace(found[name]) {
			continue
		}
		if found[name] == "" {
			unread = append(unread, strings.ReplaceAll(name, "_", " "))
			continue
		}
		out = append(out, fmt.Sprintf("%s is %q, expected %q", name, found[name], want.ValueString()))
	}
	return out, unread
}

// isSame reports whether two identities are known to be of one card.
func isSame(a, b ib.Identity) bool {
	like, _ := ib.Compare(a, b)
	return like == ib.Same
}
