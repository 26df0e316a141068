package card

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// What cannot be read is neither what is expected nor another card.
func TestMismatches(t *testing.T) {
	text := map[string]attr.Type{"serial_number": types.StringType, "part_number": types.StringType,
		"chip": types.StringType}
	m := model{Expect: types.ObjectValueMust(text, map[string]attr.Value{
		"serial_number": types.StringValue("MT1"), "part_number": types.StringValue("MCX354A-FCCT"),
		"chip": types.StringValue("ConnectX-3 Pro"),
	})}
	wrong, unread := m.mismatches(&inventory.Card{Chip: ib.Chip{Name: "ConnectX-3"}}, ib.Identity{}, "MT1 ", "")
	if !slices.Equal(wrong, []string{`chip is "ConnectX-3", expected "ConnectX-3 Pro"`}) ||
		!slices.Equal(unread, []string{"part number"}) {
		t.Errorf("%q and %q", wrong, unread)
	}
	m.Expect = types.ObjectValueMust(map[string]attr.Type{"node_guid": types.StringType},
		map[string]attr.Value{"node_guid": types.StringValue("0xe41d2d0300e44ed0")})
	for name, c := range map[string]struct {
		now           ib.Identity
		wrong, unread int
	}{
		"it":      {now: ib.Identity{GUIDs: []ib.GUID{1, 0xe41d2d0300e44ed0}}},
		"another": {now: ib.Identity{GUIDs: []ib.GUID{1}}, wrong: 1},
		"unread":  {unread: 1},
	} {
		wrong, unread = m.mismatches(&inventory.Card{}, c.now, "", "")
		if len(wrong) != c.wrong || len(unread) != c.unread {
			t.Errorf("node GUID of %s: %q and %q", name, wrong, unread)
		}
	}
}
