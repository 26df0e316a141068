package adoption

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Two files define one interface: each finding names both, and the argument is written once.
func TestConsents_once(t *testing.T) {
	w := &Walk{schema: &tfprotov6.GetProviderSchemaResponse{ResourceSchemas: map[string]*tfprotov6.Schema{
		ipoibType: {Block: &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{
			{Name: "adopt_files", Type: tftypes.List{ElementType: tftypes.String}, Optional: true},
			{Name: "adopt_without", Type: tftypes.List{ElementType: tftypes.String}, Optional: true},
		}}},
	}}}
	detail := "Add:\n\n    adopt_files = [\"/a\", \"/b\"]\n    allow_management_path = [\"ib0\"]\n"
	got := w.consents(ipoibType, []Problem{{Detail: detail}, {Detail: detail},
		{Detail: "Add:\n\n    adopt_without = [\"nameservers\"]\n"}})
	if len(got) != 2 || got[1].name != "adopt_without" || got[0].name != "adopt_files" || oneLine(got[0].value) != `["/a", "/b"]` {
		t.Errorf("%v", got)
	}
}
