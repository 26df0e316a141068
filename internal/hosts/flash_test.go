package hosts

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
)

// A card that was not asked, because our own lock was taken, is taken: a reader waits for it, and
// nothing is concluded about its flash.
func TestReadFlash_ownLock(t *testing.T) {
	t.Parallel()
	c := inventory.Card{PCI: ib.MustParsePCIAddress("0000:01:00.0"), VendorID: ib.MellanoxVendor, DeviceID: 0x1003}
	s := &inventory.Snapshot{Users: fact.Known[[]inventory.CardUser](nil)}
	s.MSTFlint.Present = true
	readFlash(&c, s, &collect.Answer{Runs: map[string]collect.Run{"flash 0000:01:00.0": {Status: flock.Taken}}})
	if !c.FlashTaken || c.FlashFailure != inventory.FlashLocked {
		t.Errorf("taken %t, %q: %s", c.FlashTaken, c.FlashFailure, c.FlashError)
	}
}
