package cardsdata

import (
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

type model struct {
	ID               types.String `tfsdk:"id"`
	Hosts            types.Set    `tfsdk:"hosts"`
	AllowUnreachable types.Bool   `tfsdk:"allow_unreachable"`
	Unreachable      types.Map    `tfsdk:"unreachable"`
	Cards            types.Map    `tfsdk:"cards"`
}

var portTypes = types.ObjectType{AttrTypes: map[string]attr.Type{
	"link_type": types.StringType, "state": types.StringType, "physical_state": types.StringType, "rate": types.StringType,
	"port_guid": attribute.GUIDType{}, "lid": types.Int64Type, "sm_lid": types.Int64Type, "netdev": types.StringType,
}}

var cardTypes = types.ObjectType{AttrTypes: map[string]attr.Type{
	"host": types.StringType, "pci_address": attribute.PCIType{}, "chip": types.StringType,
	"part_number":   types.StringType,
	"serial_number": types.StringType, "driver": types.StringType, "flash_psid": attribute.PSIDType{},
	"flash_version": attribute.VersionType{},
	"running_psid":  attribute.PSIDType{}, "running_version": attribute.VersionType{},
	"flash_node_guid": attribute.GUIDType{}, "flash_macs": types.MapType{ElemType: attribute.MACType{}},
	"ports": types.MapType{ElemType: portTypes},
}}

func (m *model) observe(found map[string]*inventory.Snapshot, missing map[string]error) {
	reasons := map[string]string{}
	for name, err := range missing {
		reasons[name] = err.Error()
	}
	m.Unreachable = attribute.StringMap(reasons)
	cards := map[string]attr.Value{}
	for name, s := range found {
		for i := range s.Cards {
			c := &s.Cards[i]
			cards[attribute.CardRef{Host: name, PCI: c.PCI}.String()] = cardValue(name, c)
		}
	}
	m.Cards = types.MapValueMust(cardTypes, cards)
}

func cardValue(host string, c *inventory.Card) types.Object {
	flash := c.Flash
	if flash == nil {
		flash = &inventory.Flash{}
	}
	ports := make(map[string]attr.Value, len(c.Ports))
	for _, p := range c.Ports {
		ports[strconv.Itoa(p.Number)] = portValue(p)
	}
	return types.ObjectValueMust(cardTypes.AttrTypes, map[string]attr.Value{
		"host": types.StringValue(host), "pci_address": attribute.PCIText(c.PCI), "chip": attribute.OrNull(c.Chip.Name),
		"part_number": attribute.OrNull(c.PartNumber), "serial_number": attribute.OrNull(c.Serial.Or("")),
		"driver":     attribute.OrNull(c.Driver),
		"flash_psid": attribute.PSIDText(flash.PSID), "flash_version": attribute.VersionText(flash.FW),
		"running_psid": attribute.PSIDText(c.RunningPSID), "running_version": attribute.VersionString(c.RunningFW),
		"flash_node_guid": attribute.GUIDText(flash.GUIDs.Node),
		"flash_macs":      attribute.ByPort(attribute.MACText(flash.GUIDs.MAC1), attribute.MACText(flash.GUIDs.MAC2)),
		"ports":           types.MapValueMust(portTypes, ports),
	})
}

func portValue(p inventory.Port) types.Object {
	rate := p.Rate
	if p.Physical != "LinkUp" {
		rate = "" // the kernel shows a rate of ports without a link, too
	}
	return types.ObjectValueMust(portTypes.AttrTypes, map[string]attr.Value{
		"link_type": attribute.OrNull(p.TypeNow), "state": attribute.OrNull(p.State),
		"physical_state": attribute.OrNull(p.Physical),
		"rate":           attribute.OrNull(rate), "port_guid": attribute.GUIDText(p.PortGUID),
		"lid":    types.Int64Value(int64(p.LID)),
		"sm_lid": types.Int64Value(int64(p.SMLID)), "netdev": attribute.OrNull(p.Netdev),
	})
}
