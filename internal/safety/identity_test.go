package safety

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// TestIdentity_moved_says_what_comes_first: an address that is corrected in the plan
// that also removes a resource of the card does not reach that resource's destroy.
func TestIdentity_moved_says_what_comes_first(t *testing.T) {
	found := Identity("0000:01:00.0 of intel9", IdentityFacts{
		Recorded: ib.Identity{Serial: "MT1234X00001"}, Now: ib.Identity{Serial: "MT1234X00002"},
		Elsewhere: "0000:02:00.0", Edit: `pci_address = "0000:02:00.0"`,
	})
	if len(found) != 1 || found[0].Rule != finding.CardMoved {
		t.Fatalf("found %+v", found)
	}
	way := found[0].WayOut
	if !strings.Contains(way, "Apply that before you remove any resource of the card") ||
		!strings.HasSuffix(way, `pci_address = "0000:02:00.0"`) {
		t.Errorf("the way out: %s", way)
	}
}
