package cardsdata

import (
	"fmt"
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

// The types of one card, of its ports and of its PCI Express link are those of the schema.
var (
	cardTypes = elementOf(describe().Attributes["cards"].GetType())
	portTypes = elementOf(cardTypes.AttrTypes["ports"])
	pcieTypes = objectOf(cardTypes.AttrTypes["pcie"])
)

func elementOf(t attr.Type) types.ObjectType {
	of, _ := t.(types.MapType)
	return objectOf(of.ElemType)
}

func objectOf(t attr.Type) types.ObjectType {
	of, _ := t.(types.ObjectType)
	return of
}

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
	guids := flash.GUIDs
	return types.ObjectValueMust(cardTypes.AttrTypes, map[string]attr.Value{
		"host": types.StringValue(host), "pci_address": attribute.PCIText(c.PCI), "chip": attribute.OrNull(c.Chip.Name),
		"pci_device_id":    types.StringValue(fmt.Sprintf("%04x:%04x", c.VendorID, c.DeviceID)),
		"pci_subsystem_id": types.StringValue(fmt.Sprintf("%04x:%04x", c.SubVendorID, c.SubDevice)),
		"part_number":      attribute.OrNull(c.PartNumber), "serial_number": attribute.OrNull(c.Serial.Or("")),
		"driver": attribute.OrNull(c.Driver), "rdma_device": attribute.OrNull(c.RDMADevice),
		"livefish": types.BoolValue(c.Livefish), "flash_error": attribute.OrNull(c.FlashError),
		"flash_psid": attribute.PSIDText(flash.PSID), "flash_version": attribute.VersionText(flash.FW),
		"image_format": attribute.OrNull(flash.ImageType), "security_attributes": attribute.OrNull(flash.SecurityAttrs),
		"running_psid": attribute.PSIDText(c.RunningPSID), "running_version": attribute.VersionString(c.RunningFW),
		"node_guid": attribute.GUIDText(c.NodeGUID), "system_image_guid": attribute.GUIDText(c.SystemGUID),
		"flash_node_guid": attribute.GUIDText(guids.Node), "flash_system_image_guid": attribute.GUIDText(guids.SystemImage),
		"flash_port_guids": attribute.ByPort(attribute.GUIDText(guids.Port1), attribute.GUIDText(guids.Port2)),
		"flash_macs":       attribute.ByPort(attribute.MACText(guids.MAC1), attribute.MACText(guids.MAC2)),
		"pcie": types.ObjectValueMust(pcieTypes.AttrTypes, map[string]attr.Value{
			"lanes": types.Int64Value(int64(c.PCIe.Width)), "max_lanes": types.Int64Value(int64(c.PCIe.MaxWidth)),
			"speed": attribute.OrNull(c.PCIe.Speed), "max_speed": attribute.OrNull(c.PCIe.MaxSpeed),
		}),
		"numa_node": nodeValue(c.NUMA), "temperatures": temperatures(c.Celsius),
		"ports": types.MapValueMust(portTypes, ports),
	})
}

func nodeValue(node interface{ Get() (int, bool) }) types.Int64 {
	if n, ok := node.Get(); ok {
		return types.Int64Value(int64(n))
	}
	return types.Int64Null()
}

func temperatures(celsius map[string]float64) types.Map {
	all := map[string]attr.Value{}
	for sensor, value := range celsius {
		all[sensor] = types.Float64Value(value)
	}
	return types.MapValueMust(types.Float64Type, all)
}

func portValue(p inventory.Port) types.Object {
	rate := p.Rate
	if p.Physical != "LinkUp" {
		rate = "" // the kernel shows a rate of ports without a link, too
	}
	return types.ObjectValueMust(portTypes.AttrTypes, map[string]attr.Value{
		"link_type": attribute.OrNull(p.TypeNow), "link_layer": attribute.OrNull(p.LinkLayer),
		"state": attribute.OrNull(p.State), "physical_state": attribute.OrNull(p.Physical),
		"rate": attribute.OrNull(rate), "port_guid": attribute.GUIDText(p.PortGUID),
		"lid":    types.Int64Value(int64(p.LID)),
		"sm_lid": types.Int64Value(int64(p.SMLID)), "netdev": attribute.OrNull(p.Netdev),
	})
}
