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
	wrong, unread := m.mismatches(&inventory.Card{Chip: ib.Chip{Name: "ConnectX-3"}}, "MT1 ", "")
	if !slices.Equal(wrong, []string{`chip is "ConnectX-3", expected "ConnectX-3 Pro"`}) ||
		!slices.Equal(unread, []string{"part number"}) {
		t.Errorf("%q and %q", wrong, unread)
	}
}
