package provider_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// The glossary of the surface of fabric and network.
var netGlossary = []term{
	{name: `_guid$`, form: attribute.GUIDType{}},
	{name: `^(min_)?width$`, form: types.StringType, starts: "Width "},
	{name: `^widths_`, form: types.ListType{ElemType: types.StringType}, starts: "Widths "},
	{name: `_lanes$`, form: types.Int64Type, starts: "Lanes "},
	{name: `^(timeout|sminfo_polling_timeout)$`, form: attribute.DurationType{}},
	{name: `_us$|gbps$|_percent$`},
	{name: `^port$`, form: types.Int64Type},
	{name: `^mode$|_?state$`, form: types.StringType},
	{name: `^allow_`, form: types.ListType{ElemType: types.StringType}, starts: "Consent to "},
}

// The resources and data sources of fabric and network.
var ofNet = []string{
	"infiniband_opensm", "infiniband_ipoib_interface", "infiniband_port", "infiniband_fabric", "infiniband_connectivity", "infiniband_benchmark", "infiniband_host",
}

var formerNetNames = []string{"brief", "slots_of", "pcie_width", "allow_session_interface", "truenas_keep_interface", "truenas_private_mtu"}

func TestSurface_fabric_and_network_have_one_form_for_each_kind_of_value(t *testing.T) {
	attrs := schemasOf(t, ofNet)
	if len(attrs) < 150 {
		t.Fatalf("found %d attributes", len(attrs))
	}
	for _, at := range slices.Sorted(maps.Keys(attrs)) {
		a, name := attrs[at], at[strings.LastIndex(at, ".")+1:]
		text := a.GetMarkdownDescription()
		switch {
		case slices.Contains(formerNetNames, name):
			t.Errorf("%s: a name that is gone", at)
		case strings.Contains(text, "`Initialize`"):
			t.Errorf("%s: a state is called as ibstat calls it, Initializing: %q", at, text)
		case !strings.HasSuffix(text, "."):
			t.Errorf("%s: the description is no sentence: %q", at, text)
		}
		for _, term := range netGlossary {
			if !regexp.MustCompile(term.name).MatchString(name) {
				continue
			}
			if term.form != nil && !a.GetType().Equal(term.form) {
				t.Errorf("%s is %s, expected %s", at, a.GetType(), term.form)
			}
			if !strings.HasPrefix(text, term.starts) {
				t.Errorf("%s: the description does not start with %q: %q", at, term.starts, text)
			}
			break
		}
	}
}
