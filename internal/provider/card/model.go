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

type attrType = attr.Type

type model struct {
	ID         types.String  `tfsdk:"id"`
	Host       types.String  `tfsdk:"host"`
	PCIAddress attribute.PCI `tfsdk:"pci_address"`
	Expect     types.Object  `tfsdk:"expect"`

	Chip           types.String      `tfsdk:"chip"`
	PCIDeviceID    types.String      `tfsdk:"pci_device_id"`
	PCISubsystemID types.String      `tfsdk:"pci_subsystem_id"`
	PartNumber     types.String      `tfsdk:"part_number"`
	SerialNumber   types.String      `tfsdk:"serial_number"`
	Livefish       types.Bool        `tfsdk:"livefish"`
	Driver         types.String      `tfsdk:"driver"`
	RDMADevice     types.String      `tfsdk:"rdma_device"`
	FlashPSID      attribute.PSID    `tfsdk:"flash_psid"`
	FlashVersion   attribute.Version `tfsdk:"flash_version"`
	RunningPSID    attribute.PSID    `tfsdk:"running_psid"`
	RunningVersion attribute.Version `tfsdk:"running_version"`
	ImageFormat    types.String      `tfsdk:"image_format"`
	Security       types.String      `tfsdk:"security_attributes"`
	FlashError     types.String      `tfsdk:"flash_error"`
	NodeGUID       attribute.GUID    `tfsdk:"node_guid"`
	SystemGUID     attribute.GUID    `tfsdk:"system_image_guid"`
	FlashNode      attribute.GUID    `tfsdk:"flash_node_guid"`
	FlashPorts     types.Map         `tfsdk:"flash_port_guids"`
	FlashSystem    attribute.GUID    `tfsdk:"flash_system_image_guid"`
	FlashMACs      types.Map         `tfsdk:"flash_macs"`
	PCIe           types.Object      `tfsdk:"pcie"`
	Ports          types.Map         `tfsdk:"ports"`
}

// ref names the card; ok is false while host or address are not known.
func (m *model) ref() (attribute.CardRef, bool) {
	if m.Host.IsUnknown() || m.PCIAddress.IsUnknown() {
		return attribute.CardRef{}, false
	}
	ref, err := attribute.ParseCardRef(m.Host.ValueString() + "/" + m.PCIAddress.ValueString())
	return ref, err == nil
}

// observe fills every computed attribute from what was found.
func (m *model) observe(ref attribute.CardRef, c *inventory.Card, now ib.Identity) {
	m.identify(ref, c, now)
	m.Livefish = types.BoolValue(c.Livefish)
	m.Driver = attribute.OrNull(c.Driver)
	m.RDMADevice = attribute.OrNull(c.RDMADevice)
	m.RunningPSID = attribute.PSIDText(c.RunningPSID)
	m.RunningVersion = attribute.VersionString(c.RunningFW)
	m.FlashError = attribute.OrNull(c.FlashError)
	m.observeFlash(c.Flash)
	m.NodeGUID, m.SystemGUID = attribute.GUIDText(c.NodeGUID), attribute.GUIDText(c.SystemGUID)
	m.PCIe = types.ObjectValueMust(pcieTypes, map[string]attr.Value{
		"lanes":     types.Int64Value(int64(c.PCIe.Width)),
		"max_lanes": types.Int64Value(int64(c.PCIe.MaxWidth)),
		"speed":     attribute.OrNull(c.PCIe.Speed),
		"max_speed": attribute.OrNull(c.PCIe.MaxSpeed),
	})
	m.Ports = portsValue(c)
}

// identify fills what no change of firmware alters; the plan shows it.
func (m *model) identify(ref attribute.CardRef, c *inventory.Card, now ib.Identity) {
	m.ID = idOf(ref, now)
	m.Chip = attribute.OrNull(c.Model())
	m.PCIDeviceID = types.StringValue(fmt.Sprintf("%04x:%04x", c.VendorID, c.DeviceID))
	m.PCISubsystemID = types.StringValue(fmt.Sprintf("%04x:%04x", c.SubVendorID, c.SubDevice))
	m.PartNumber = attribute.OrNull(cmp.Or(c.PartNumber, now.Part))
	m.SerialNumber = attribute.OrNull(cmp.Or(c.Serial.Or(""), now.Serial))
}

func idOf(ref attribute.CardRef, who ib.Identity) types.String {
	return types.StringValue(attribute.CardName{CardRef: ref, Token: who.Token()}.String())
}

func (m *model) observeFlash(f *inventory.Flash) {
	if f == nil {
		f = &inventory.Flash{}
	}
	m.FlashPSID = attribute.PSIDText(f.PSID)
	m.FlashVersion = attribute.VersionText(f.FW)
	m.ImageFormat = attribute.OrNull(f.ImageType)
	m.Security = attribute.OrNull(f.SecurityAttrs)
	m.FlashNode = attribute.GUIDText(f.GUIDs.Node)
	m.FlashSystem = attribute.GUIDText(f.GUIDs.SystemImage)
	m.FlashPorts = attribute.ByPort(attribute.GUIDText(f.GUIDs.Port1), attribute.GUIDText(f.GUIDs.Port2))
	m.FlashMACs = attribute.ByPort(attribute.MACText(f.GUIDs.MAC1), attribute.MACText(f.GUIDs.MAC2))
}

// keepFlash takes what was read of the flash before; the card was not asked now.
func (m *model) keepFlash(before model) {
	m.FlashPSID, m.FlashVersion, m.ImageFormat, m.Security = before.FlashPSID, before.FlashVersion, before.ImageFormat,
		before.Security
	m.FlashNode, m.FlashSystem, m.FlashPorts, m.FlashMACs = before.FlashNode, before.FlashSystem, before.FlashPorts,
		before.FlashMACs
}

var pcieTypes = map[string]attr.Type{
	"lanes": types.Int64Type, "max_lanes": types.Int64Type, "speed": types.StringType, "max_speed": types.StringType,
}

// portGUID is the GUID of a port, which an Ethernet port does not show: it will use the one
// in flash, if the card runs with the GUIDs of the flash.
func portGUID(c *inventory.Card, p inventory.Port) ib.GUID {
	if !p.PortGUID.IsZero() || p.LinkLayer != "Ethernet" || c.Flash == nil || c.Flash.GUIDs.Node != c.NodeGUID {
		return p.PortGUID
	}
	return map[int]ib.GUID{1: c.Flash.GUIDs.Port1, 2: c.Flash.GUIDs.Port2}[p.Number]
}

func portsValue(c *inventory.Card) types.Map {
	elems := make(map[string]attr.Value, len(c.Ports))
	for _, p := range c.Ports {
		rate := p.Rate
		if p.Physical != "LinkUp" {
			rate = "" // the kernel shows a rate of ports without a link, too
		}
		elems[strconv.Itoa(p.Number)] = types.ObjectValueMust(portTypes.AttrTypes, map[string]attr.Value{
			"link_type":      attribute.OrNull(p.TypeNow),
			"link_layer":     attribute.OrNull(p.LinkLayer),
			"state":          attribute.OrNull(p.State),
			"physical_state": attribute.OrNull(p.Physical),
			"rate":           attribute.OrNull(rate),
			"lid":            types.Int64Value(int64(p.LID)),
			"sm_lid":         types.Int64Value(int64(p.SMLID)),
			"port_guid":      attribute.GUIDText(portGUID(c, p)),
			"netdev":         attribute.OrNull(p.Netdev),
		})
	}
	return types.MapValueMust(portTypes, elems)
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
