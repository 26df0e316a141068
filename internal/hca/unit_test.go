package hca

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

func ptr[T any](v T) *T { return &v }

func TestGUIDSpec_baseWithoutRoomIsAFinding(t *testing.T) {
	for _, spec := range []GUIDSpec{{BaseGUID: ptr(^ib.GUID(0) - 2)}, {BaseMAC: ptr(ib.MAC(0xfffffffffffe))}} {
		req, err := spec.Resolve()
		found := safety.GUIDValues("intel9", ib.PCIAddress{}, req, clash.Facts{})
		if err != nil || len(found) == 0 || found[0].Rule != finding.BaseTooHigh {
			t.Errorf("%+v: %v, %+v", spec, err, found)
		}
	}
}

func TestGUIDSpec_Resolve(t *testing.T) {
	mac := ib.MustParseMAC("e4:1d:2d:e4:4e:d0")
	guid := ib.MustParseGUID("0xe41d2d0300e44ed0")
	full := ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid + 3, MAC1: mac, MAC2: mac + 1}
	for name, c := range map[string]struct {
		spec GUIDSpec
		want ib.GUIDSet
		bad  string
	}{
		"base MAC": {spec: GUIDSpec{BaseMAC: &mac}, want: full},
		"base GUID": {spec: GUIDSpec{BaseGUID: &guid},
			want: ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid + 3}},
		"both": {spec: GUIDSpec{BaseGUID: ptr(guid + 16), BaseMAC: &mac},
			want: ib.GUIDSet{Node: guid + 16, Port1: guid + 17, Port2: guid + 18, SystemImage: guid + 19, MAC1: mac,
				MAC2: mac + 1}},
		"one by one": {spec: GUIDSpec{Node: &guid, Ports: map[int]*ib.GUID{1: ptr(guid + 5), 2: ptr(guid + 6)},
			SystemImage: ptr(guid + 9)}, want: ib.GUIDSet{Node: guid, Port1: guid + 5, Port2: guid + 6, SystemImage: guid + 9}},
		"single port": {spec: GUIDSpec{Node: &guid, Ports: map[int]*ib.GUID{1: ptr(guid + 1)}},
			want: ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid}},
		"base with exception": {spec: GUIDSpec{BaseGUID: &guid, SystemImage: &guid},
			want: ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid}},
		"MACs": {spec: GUIDSpec{MACs: map[int]*ib.MAC{1: &mac}}, want: ib.GUIDSet{MAC1: mac, MAC2: mac + 1}},
		"base with port 2": {spec: GUIDSpec{BaseGUID: &guid, Ports: map[int]*ib.GUID{2: ptr(guid + 9)}},
			want: ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 9, SystemImage: guid + 3}},
		"base MAC, port 1": {spec: GUIDSpec{BaseMAC: &mac, MACs: map[int]*ib.MAC{1: ptr(mac + 8)}},
			want: ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid + 3, MAC1: mac + 8, MAC2: mac + 1}},
		"base MAC, port 2": {spec: GUIDSpec{BaseMAC: &mac, MACs: map[int]*ib.MAC{2: ptr(mac + 8)}},
			want: ib.GUIDSet{Node: guid, Port1: guid + 1, Port2: guid + 2, SystemImage: guid + 3, MAC1: mac, MAC2: mac + 8}},
		"later chip, base MAC": {spec: GUIDSpec{BaseMAC: &mac, OneBase: true}, want: oneBase(guid, mac)},
		"later chip, both": {spec: GUIDSpec{BaseGUID: ptr(guid + 16), BaseMAC: &mac, OneBase: true},
			want: oneBase(guid+16, mac)},
		"later chip, MAC alone": {spec: GUIDSpec{MACs: map[int]*ib.MAC{1: &mac}, OneBase: true}, want: ib.GUIDSet{MAC1: mac}},
		"later chip, one by one": {spec: GUIDSpec{Node: &guid, Ports: map[int]*ib.GUID{1: &guid}, OneBase: true},
			want: oneBase(guid, 0)},
		"later chip, as ConnectX-3 has it": {spec: GUIDSpec{Node: &guid, Ports: map[int]*ib.GUID{1: ptr(guid + 1)},
			OneBase: true}, bad: "stores one GUID"},
		"later chip, another system image": {spec: GUIDSpec{BaseGUID: &guid, SystemImage: ptr(guid + 3), OneBase: true},
			bad: "stores one GUID"},
		"later chip, port 2": {spec: GUIDSpec{BaseGUID: &guid, Ports: map[int]*ib.GUID{2: ptr(guid + 1)}, OneBase: true},
			bad: `port "2" out`},
		"nothing":             {},
		"node alone":          {spec: GUIDSpec{Node: &guid}, bad: "port_guids"},
		"port 2 alone":        {spec: GUIDSpec{Node: &guid, Ports: map[int]*ib.GUID{2: &guid}}, bad: `port_guids["1"]`},
		"MAC of port 2 alone": {spec: GUIDSpec{MACs: map[int]*ib.MAC{2: &mac}}, bad: "that of port 1"},
	} {
		got, err := c.spec.Resolve()
		switch {
		case c.bad != "":
			if err == nil || !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || got.Want != c.want:
			t.Errorf("%s: %+v, %v; want %+v", name, got.Want, err, c.want)
		}
	}
}
