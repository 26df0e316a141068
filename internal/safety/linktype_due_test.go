package safety

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Where firmware that may know InfiniBand is in flash and does not run yet, the way out is the
// restart and no burn.
func TestLinkTypes_restartIsDue(t *testing.T) {
	holds := func(in *LinkTypeInput, psid ib.PSID) {
		flash := in.Card.InFlash()
		flash.PSID = psid
		in.Card.Flash = &flash
	}
	for name, tt := range map[string]struct {
		change func(*LinkTypeInput)
		due    bool
	}{
		"ConnectX-3": {func(in *LinkTypeInput) {
			in.HasTypes = fact.Known(false)
			runsPSID(&in.Card, psidEN)
			holds(in, psidVPI)
		}, true},
		"ConnectX-4": {func(in *LinkTypeInput) {
			mlx5(in, nil)
			runsPSID(&in.Card, "MT_9000000008")
			holds(in, "MT_9000000009")
		}, true},
		"Ethernet only in flash too": {func(in *LinkTypeInput) {
			in.HasTypes = fact.Known(false)
			runsPSID(&in.Card, "MT_9000000023")
			holds(in, psidEN)
		}, false},
		"what runs is in flash": {func(in *LinkTypeInput) {
			in.HasTypes = fact.Known(false)
			runsPSID(&in.Card, psidVPI)
			holds(in, psidVPI)
		}, false},
		"burned, and nothing shows what runs": {func(in *LinkTypeInput) {
			in.HasTypes, in.Card.Running, in.Card.StagedBy = fact.Known(false), fact.Unknown[ib.Firmware](notRead), "7"
			holds(in, psidVPI)
		}, true},
		"nothing shows what runs": {func(in *LinkTypeInput) {
			in.HasTypes, in.Card.Running, in.Card.StagedBy = fact.Known(false), fact.Unknown[ib.Firmware](notRead), ""
			holds(in, psidVPI)
		}, false},
		"the flash could not be read": {func(in *LinkTypeInput) {
			in.HasTypes, in.Card.Flash = fact.Known(false), (*inventory.Flash)(nil)
			runsPSID(&in.Card, psidEN)
		}, false},
	} {
		in := goodLink()
		tt.change(&in)
		found := false
		for _, f := range LinkTypes(in).Findings {
			if f.Rule.Code != "LT001" {
				continue
			}
			found = true
			due := strings.HasPrefix(f.WayOut, "The restart is due.") && strings.Contains(f.Evidence, "In flash: ")
			if due != tt.due {
				t.Errorf("%s: %s\n%s", name, f.Evidence, f.WayOut)
			}
		}
		if !found {
			t.Errorf("%s: no LT001", name)
		}
	}
}
