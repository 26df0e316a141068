package safety

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// TestLab_finds_what_a_comparison_with_all_finds keeps the index honest: it may
// leave cards out, never a finding.
func TestLab_finds_what_a_comparison_with_all_finds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	value := func() uint64 { // few values, so that many clash; some that are none
		switch n := rng.Uint64N(60); n {
		case 0:
			return 0
		case 1:
			return ^uint64(0)
		default:
			return 0xe41d2d0300e44000 + n
		}
	}
	identity := func() ib.GUIDSet {
		return ib.GUIDSet{
			Node: ib.GUID(value()), Port1: ib.GUID(value()), Port2: ib.GUID(value()), SystemImage: ib.GUID(value()),
			MAC1: ib.MAC(value() & 0xffffffffffff), MAC2: ib.MAC(value() & 0xffffffffffff),
		}
	}
	compared := 0
	for range 300 {
		lab, all, planned := clash.NewLab(), map[string]clash.Holder{}, map[string]clash.Holder{}
		runs := map[string]clash.Holder{}
		for i := range 8 {
			host := fmt.Sprintf("h%d", i)
			c := clash.Holder{Host: host, PCI: here, GUIDs: identity()}
			lab.Found(host, []clash.Holder{{PCI: here, GUIDs: identity()}}) // stale
			found := []clash.Holder{c}
			if rng.IntN(3) == 0 {
				runs[host] = clash.Holder{Host: host, PCI: here, GUIDs: identity(), Running: true}
				found = append(found, runs[host])
			}
			lab.Found(host, found)
			all[host] = c
			if rng.IntN(3) == 0 {
				p := clash.Holder{Host: host, PCI: here, GUIDs: identity(), Planned: true}
				restarts := rng.IntN(2) == 0
				before := identity()
				lab.Plan(host, here, &before, !restarts) // planned otherwise before
				lab.Plan(host, here, &p.GUIDs, restarts)
				planned[host] = p
				switch {
				case rng.IntN(3) == 0:
					lab.Plan(host, here, nil, false)
					delete(planned, host)
				case restarts:
					delete(runs, host)
				}
			}
		}
		var listed clash.Facts
		for i := range 8 {
			host := fmt.Sprintf("h%d", i)
			c, ok := planned[host]
			if !ok {
				c = all[host]
			}
			listed.Cards = append(listed.Cards, c)
			if r, ok := runs[host]; ok {
				listed.Cards = append(listed.Cards, r)
			}
		}
		req := GUIDRequest{HasGUIDs: true, HasMACs: true, Want: identity(), BaseGUID: ib.GUID(value())}
		want, got := GUIDValues("h0", here, req, listed), GUIDValues("h0", here, req, clash.Facts{Lab: lab})
		compared += len(want)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("with all:  %+v\nwith index: %+v", want, got)
		}
	}
	if compared < 1000 {
		t.Errorf("only %d findings were compared", compared)
	}
}

// A card that was found under two names of its host is one card. Where that is
// not known, the clash says so.
func TestLab_oneMachineUnderTwoNames(t *testing.T) {
	t.Parallel()
	own := ib.GUIDSet{Node: 0xe41d2d0300e44ed0, Port1: 0xe41d2d0300e44ed1, Port2: 0xe41d2d0300e44ed2,
		SystemImage: 0xe41d2d0300e44ed3, MAC1: 0xe41d2de44ed0, MAC2: 0xe41d2de44ed1}
	first, second := ib.MustParsePCIAddress("0000:01:00.0"), ib.MustParsePCIAddress("0000:02:00.0")
	req := GUIDRequest{Want: own, HasGUIDs: true, HasMACs: true, BaseGUID: own.Node}
	for _, tt := range []struct {
		name string
		pci  ib.PCIAddress
		same fact.Bool
		code string
		says string
	}{
		{"one machine", first, fact.Known(true), "HO032", "Hosts desk and nas of the provider are one machine"},
		{"another card of the machine", second, fact.Known(true), "GU006", "of nas/0000:02:00.0"},
		{"two machines", first, fact.Known(false), "GU006", "of nas/0000:01:00.0"},
		{"not known", first, fact.Unknown[bool]("there is no /etc/machine-id"), "GU006",
			"It may be the same card: whether hosts desk and nas are one machine is not known, because there is no /etc/machine-id"},
		{"not known, in another slot", second, fact.Unknown[bool]("there is no /etc/machine-id"), "GU006",
			"of nas/0000:02:00.0"},
	} {
		lab := clash.Facts{
			Cards:       []clash.Holder{{Host: "desk", PCI: first, GUIDs: own}, {Host: "nas", PCI: tt.pci, GUIDs: own}},
			SameMachine: func(string, string) fact.Bool { return tt.same },
		}
		said, codes := "", map[string]bool{}
		for _, f := range GUIDValues("desk", first, req, lab) {
			said += f.Rule.Code + " " + f.Evidence + "\n"
			codes[f.Rule.Code] = true
		}
		if len(codes) != 1 || !codes[tt.code] || !strings.Contains(said, tt.says) {
			t.Errorf("%s: %s", tt.name, said)
		}
	}
}
