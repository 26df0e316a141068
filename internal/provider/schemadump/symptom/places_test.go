package symptom

import (
	"slices"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// Whoever has a code finds its resource. That a resource shows what the table says of it
// is held by TestFindings_each_appears_in_a_plan.
func TestPlaces_have_each_finding(t *testing.T) {
	t.Parallel()
	for _, rule := range finding.All() {
		if !slices.ContainsFunc(Places(), func(p Place) bool { return slices.Contains(p.Rules, rule) }) {
			t.Errorf("%s belongs to no resource", rule)
		}
	}
	if Shows("infiniband_card", "IP005") || !Shows("infiniband_ipoib_interface", "IP005") {
		t.Error("IP005 is of interfaces")
	}
}
