package hostdata

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

type model struct {
	ID           types.String `tfsdk:"id"`
	Host         types.String `tfsdk:"host"`
	Hostname     types.String `tfsdk:"hostname"`
	Platform     types.String `tfsdk:"platform"`
	OS           types.String `tfsdk:"os"`
	Kernel       types.String `tfsdk:"kernel"`
	Lockdown     types.String `tfsdk:"lockdown"`
	MSTFlint     types.String `tfsdk:"mstflint_version"`
	SSHInterface types.String `tfsdk:"ssh_interface"`
	CardIDs      types.List   `tfsdk:"card_ids"`
	Interfaces   types.Map    `tfsdk:"interfaces"`
}

var interfaceTypes = map[string]attr.Type{
	"port_guid": attribute.GUIDType{}, "mode": types.StringType, "mtu": types.Int64Type, "up": types.BoolType,
	"carrier": types.BoolType, "addresses": types.ListType{ElemType: types.StringType},
}

func (m *model) observe(s *inventory.Snapshot) {
	m.ID = m.Host
	m.Hostname = attribute.OrNull(s.Hostname)
	m.OS = attribute.OrNull(s.OS.PrettyName)
	m.Kernel = attribute.OrNull(s.OS.Kernel)
	m.Lockdown = attribute.OrNull(s.Lockdown.Or(""))
	m.MSTFlint = attribute.OrNull(s.MSTFlint.Version)
	m.SSHInterface = types.StringNull()
	if devs := s.SSH.Devs.Or(nil); len(devs) > 0 {
		m.SSHInterface = types.StringValue(devs[0])
	}
	m.Platform = types.StringNull()
	if p, err := platform.Of(s); err == nil {
		m.Platform = types.StringValue(string(p.About().Kind))
	}
	ids := make([]string, len(s.Cards))
	for i := range s.Cards {
		c := &s.Cards[i]
		// Without an identity: a card_id that follows whatever is in the slot would accept another card.
		ids[i] = attribute.CardRef{Host: m.Host.ValueString(), PCI: c.PCI}.String()
	}
	m.CardIDs = attribute.StringList(ids)
	interfaces := map[string]attr.Value{}
	for _, n := range s.Netdevs {
		if n.IB {
			interfaces[n.Name] = interfaceValue(n)
		}
	}
	m.Interfaces = types.MapValueMust(types.ObjectType{AttrTypes: interfaceTypes}, interfaces)
}

func interfaceValue(n inventory.Netdev) types.Object {
	addresses := make([]string, 0, len(n.Addresses))
	for _, a := range n.Addresses {
		if !a.Addr().IsLinkLocalUnicast() {
			addresses = append(addresses, a.String())
		}
	}
	return types.ObjectValueMust(interfaceTypes, map[string]attr.Value{
		"port_guid": attribute.GUIDText(n.PortGUID), "mode": attribute.OrNull(n.Mode), "mtu": types.Int64Value(int64(n.MTU)),
		"up": types.BoolValue(n.Up), "carrier": types.BoolValue(n.Carrier), "addresses": attribute.StringList(addresses),
	})
}
