package guids

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

func fromBase(t *testing.T, mac string) ib.GUIDSet {
	t.Helper()
	m := ib.MustParseMAC(mac)
	node, p1, p2, sys, err := ib.GUIDsFromBase(ib.GUIDFromMAC(m))
	if err != nil {
		t.Fatal(err)
	}
	return ib.GUIDSet{Node: node, Port1: p1, Port2: p2, SystemImage: sys, MAC1: m, MAC2: m + 1}
}

func TestModel_setIdentityFillsEveryValueOfACard(t *testing.T) {
	var m model
	m.setIdentity(fromBase(t, "e4:1d:2d:e4:4e:d0"))
	if m.BaseMAC.ValueString() != "e4:1d:2d:e4:4e:d0" || m.BaseGUID.ValueString() != "0xe41d2d0300e44ed0" ||
		m.NodeGUID.ValueString() != "0xe41d2d0300e44ed0" ||
		m.SystemGUID.ValueString() != "0xe41d2d0300e44ed3" || len(m.PortGUIDs.Elements()) != 2 ||
		len(m.MACs.Elements()) != 2 {
		t.Errorf("got %+v", m)
	}
}

func TestModel_setIdentityKeepsSpellings(t *testing.T) {
	m := model{
		BaseMAC:   attribute.NewText[attribute.MACKind]("E4-1D-2D-E4-4E-D0"),
		NodeGUID:  attribute.NewText[attribute.GUIDKind]("e41d:2d03:00e4:4ed0"),
		PortGUIDs: attribute.ByPort(attribute.NewText[attribute.GUIDKind]("E41D2D0300E44ED1")),
	}
	m.setIdentity(fromBase(t, "e4:1d:2d:e4:4e:d0"))
	if m.BaseMAC.ValueString() != "E4-1D-2D-E4-4E-D0" || m.NodeGUID.ValueString() != "e41d:2d03:00e4:4ed0" ||
		len(m.PortGUIDs.Elements()) != 1 {
		t.Errorf("got %+v", m)
	}
}

func TestModel_setIdentityOfACardWithoutGUIDs(t *testing.T) {
	const unset = ^ib.GUID(0)
	m := model{PortGUIDs: types.MapUnknown(attribute.GUIDType{}), BaseGUID: attribute.UnknownText[attribute.GUIDKind]()}
	m.setIdentity(ib.GUIDSet{Node: unset, Port1: unset, Port2: unset, SystemImage: unset, MAC1: 0xe41d2de44ed0,
		MAC2: 0xe41d2de44ed1})
	if !m.NodeGUID.IsNull() || !m.BaseGUID.IsNull() || m.PortGUIDs.IsUnknown() ||
		m.BaseMAC.ValueString() != "e4:1d:2d:e4:4e:d0" {
		t.Errorf("got %+v", m)
	}
}

func TestModel_keepGivenPutsBackABaseThatSingleValuesOverride(t *testing.T) {
	given := model{BaseMAC: attribute.NewText[attribute.MACKind]("e4:1d:2d:00:00:10"),
		BaseGUID: attribute.NullText[attribute.GUIDKind]()}
	m := given
	m.setIdentity(fromBase(t, "e4:1d:2d:e4:4e:d0"))
	m.keepGiven(given)
	if m.BaseMAC.ValueString() != "e4:1d:2d:00:00:10" || m.BaseGUID.ValueString() != "0xe41d2d0300e44ed0" {
		t.Errorf("got base_mac %s, base_guid %s", m.BaseMAC, m.BaseGUID)
	}
}
