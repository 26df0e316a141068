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
