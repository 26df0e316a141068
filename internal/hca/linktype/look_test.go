package linktype

import (
	"maps"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

func TestShownType(t *testing.T) {
	t.Parallel()
	for shown, want := range map[string][2]ib.LinkType{
		"ib": {ib.LinkTypeIB, ib.LinkTypeIB}, "eth": {ib.LinkTypeETH, ib.LinkTypeETH},
		"auto (ib)": {ib.LinkTypeAuto, ib.LinkTypeIB}, "auto (eth)": {ib.LinkTypeAuto, ib.LinkTypeETH},
	} {
		if configured, effective := shownType(shown); configured != want[0] || effective != want[1] {
			t.Errorf("%s: %s, %s", shown, configured, effective)
		}
	}
}

// TestWholeCard holds that a port that is not asked for keeps what was asked of it, and
// a port without a driver has no type to keep.
func TestWholeCard(t *testing.T) {
	t.Parallel()
	card := &inventory.Card{Ports: []inventory.Port{{Number: 1, TypeNow: "ib"}, {Number: 2, TypeNow: "auto (eth)"},
		{Number: 3}}}
	want := map[int]ib.LinkType{1: ib.LinkTypeETH, 2: ib.LinkTypeAuto}
	if got := wholeCard(map[int]ib.LinkType{1: ib.LinkTypeETH}, card); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestShownTypes_withoutRDMADevice holds that with mlx5 an Ethernet interface shows the type of its
// port, and that a port without any device has none that is shown.
func TestShownTypes_withoutRDMADevice(t *testing.T) {
	t.Parallel()
	chip, _ := ib.ChipByPCI(0x1013)
	first, second := ib.MustParsePCIAddress("0000:01:00.0"), ib.MustParsePCIAddress("0000:01:00.1")
	s := &inventory.Snapshot{Cards: []inventory.Card{{PCI: first, Chip: chip}, {PCI: second, Chip: chip}},
		Netdevs: []inventory.Netdev{{Name: "enp1s0np0", PCI: first}, {Name: "ibp1s0f1", PCI: second, IB: true}}}
	if got, want := shownTypes(s, &s.Cards[0]), map[int]string{1: "eth"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTypesReached_isKnownOfAskedPorts: a port of two that is shown says nothing of the other one.
func TestTypesReached_isKnownOfAskedPorts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want  map[int]ib.LinkType
		known bool
	}{
		"the port that is shown": {map[int]ib.LinkType{1: ib.LinkTypeIB}, true},
		"both":                   {map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeIB}, false},
	} {
		reached, known := typesReached(c.want, map[int]string{1: "ib"})
		if reached != c.known || known != c.known {
			t.Errorf("%s: reached %v, known %v", name, reached, known)
		}
	}
}
