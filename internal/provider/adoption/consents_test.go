package adoption

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// Each finding on an interface names all its consents, and the argument is written once.
func TestConsents_once(t *testing.T) {
	names := tftypes.List{ElementType: tftypes.String}
	w := &Walk{schema: &tfprotov6.GetProviderSchemaResponse{ResourceSchemas: map[string]*tfprotov6.Schema{
		ipoibType: {Block: &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{
			{Name: "allow", Optional: true, Type: tftypes.Object{AttributeTypes: map[string]tftypes.Type{
				"adopt_files": names, "adopt_without": names, "management_path": names}}},
		}}},
	}}}
	for name, c := range map[string]struct {
		details []string
		want    string
	}{
		"two findings": {[]string{finding.AllowLines(`adopt_files = ["/a", "/b"]`, `management_path = ["ib0"]`),
			finding.AllowLines(`adopt_files = ["/a", "/b"]`, `management_path = ["ib0"]`)}, `{ adopt_files = ["/a", "/b"] }`},
		"one line":     {[]string{finding.AllowLines(`adopt_without = ["nameservers"]`)}, `{ adopt_without = ["nameservers"] }`},
		"for a person": {[]string{finding.AllowLines(`management_path = ["ib0"]`)}, ""},
	} {
		var all []Problem
		for _, text := range c.details {
			all = append(all, Problem{Detail: "Add:\n\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n\nFinding: IP042"})
		}
		got := w.consents(ipoibType, all)
		if c.want == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0].name != "allow" || oneLine(got[0].value) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
