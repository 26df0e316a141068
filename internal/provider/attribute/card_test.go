package attribute

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// An import need not name the serial number. The record tells the card from another one
// that is in its slot later.
func TestSameCardThere(t *testing.T) {
	const place = "intel9/0000:01:00.0"
	who := types.StringValue("serial number MT1, part number MCX354A")
	for name, tt := range map[string]struct {
		state, plan string
		who         types.String
		want        bool
	}{
		"the same card":                  {place + "/MT1", place + "/MT1", who, true},
		"imported without serial number": {place, place + "/MT1", who, true},
		"another card in its slot":       {place, place + "/MT2", who, false},
		"another one, by its id":         {place + "/MT1", place + "/MT2", who, false},
		"moved":                          {place + "/MT1", "intel9/0000:02:00.0/MT1", who, false},
		"nothing is recorded":            {place, place + "/MT2", types.StringNull(), true},
	} {
		if got := SameCardThere(NewText[CardIDKind](tt.state), tt.who, NewText[CardIDKind](tt.plan)); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
