package planned

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

var claimType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"card_id": tftypes.String,
	"ports": tftypes.Map{ElementType: tftypes.String}, "mtu": tftypes.Number}}

func claimConfig(card string, mtu any) tftypes.Value {
	return tftypes.NewValue(claimType, map[string]tftypes.Value{
		"card_id": tftypes.NewValue(tftypes.String, card), "ports": tftypes.NewValue(tftypes.Map{ElementType: tftypes.String},
			nil),
		"mtu": tftypes.NewValue(tftypes.Number, mtu),
	})
}

// TestClaim_walks plays what core asks of a provider in one walk.
func TestClaim_walks(t *testing.T) {
	t.Parallel()
	a, b := claimConfig("nas/0000:01:00.0", 2044), claimConfig("nas/01:00.0", 4092)
	type call struct {
		exists bool
		config tftypes.Value
	}
	for _, tt := range []struct {
		name      string
		validated []tftypes.Value
		calls     []call
		taken     bool
	}{
		{"a new resource", []tftypes.Value{a}, []call{{false, a}}, false},
		{"one that exists", []tftypes.Value{a}, []call{{true, a}}, false},
		{"one that is replaced", []tftypes.Value{a}, []call{{true, a}, {false, a}}, false},
		{"an engine that does not validate while planning", nil, []call{{true, a}, {false, a}}, false},
		{"an engine that validates twice", []tftypes.Value{a, a}, []call{{true, a}}, false},
		{"two new ones", []tftypes.Value{a, b}, []call{{false, a}, {false, b}}, true},
		{"two new and equal ones", []tftypes.Value{a, a}, []call{{false, a}, {false, a}}, true},
		{"two that exist", []tftypes.Value{a, b}, []call{{true, a}, {true, b}}, true},
		{"two that exist and are equal", []tftypes.Value{a, a}, []call{{true, a}, {true, a}}, true},
		{"one beside one that exists", []tftypes.Value{a, b}, []call{{true, a}, {false, b}}, true},
		{"an equal one beside one that exists", []tftypes.Value{a, a}, []call{{true, a}, {false, a}}, true},
		{"the other way round", []tftypes.Value{a, a}, []call{{false, a}, {true, a}}, true},
		{"one beside one that is replaced", []tftypes.Value{a, b}, []call{{true, a}, {false, a}, {false, b}}, true},
		{"an equal one beside one that is replaced", []tftypes.Value{a, a}, []call{{true, a}, {false, a}, {false, a}}, true},
	} {
		p := NewWalk()
		for _, v := range tt.validated {
			p.CountResource("infiniband_firmware", v)
		}
		got := false
		for _, c := range tt.calls {
			_, taken := p.Claim(Claim{Kind: "infiniband_firmware", Key: "k", Name: "n", Config: c.config, Exists: c.exists})
			got = got || taken
		}
		if got != tt.taken {
			t.Errorf("%s: taken is %t", tt.name, got)
		}
		if len(p.claims.made[claimKey{"infiniband_firmware", "k"}]) == 0 {
			t.Errorf("%s: nothing is claimed", tt.name)
		}
		if len(p.claims.made[claimKey{"infiniband_guids", "k"}]) > 0 {
			t.Errorf("%s: another kind is claimed", tt.name)
		}
	}
}

func TestClaim_machinesByTheirFirstName(t *testing.T) {
	t.Parallel()
	snap := func(id, boot string) *inventory.Snapshot {
		return &inventory.Snapshot{MachineID: fact.Known(strings.Repeat(id, 32)), BootID: boot}
	}
	p := NewWalk()
	for _, tt := range []struct {
		name string
		snap *inventory.Snapshot
		want string
	}{
		{"nas", snap("1", "b1"), "nas"},
		{"desk", snap("2", "b2"), "desk"},
		{"alias", snap("1", "b1"), "nas"},
		{"alias", snap("1", "b3"), "nas"}, // restarted meanwhile
		{"nas", snap("1", "b3"), "nas"},
	} {
		if got := p.Machine(tt.name, tt.snap); got != tt.want {
			t.Errorf("%s is %s", tt.name, got)
		}
	}
}

func TestClaim_differsShowsArgumentsAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	got := Claim{Config: claimConfig("nas/0000:01:00.0", 2044)}.Differs(Claim{Config: claimConfig("nas/01:00.0", nil)})
	if len(got) != 2 || got[0].One != `"nas/0000:01:00.0"` || got[0].Other != `"nas/01:00.0"` || got[1].One != "2044" ||
		got[1].Other != "not set" {
		t.Errorf("%+v", got)
	}
}
