package hosts

import (
	"reflect"
	"strings"
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

// What the driver tells counts only where no tool can reach the card: a tool that fails may say more.
func TestReadFlash_byTheDriver(t *testing.T) {
	t.Parallel()
	const told = "pci/0000:01:00.0:\n  versions:\n      fixed:\n        fw.psid MT_9180110032\n      running:\n" +
		"        fw.version 12.28.2006\n      stored:\n        fw.version 12.28.4512\n"
	denied := collect.Run{Status: 1, Output: "-E- Cannot open Device: 0000:01:00.0. Operation not permitted. MFE_CR_ERROR\n"}
	locked := func(s *inventory.Snapshot) { s.Lockdown = fact.Known("integrity") }
	for name, tt := range map[string]struct {
		host   func(*inventory.Snapshot)
		driver collect.Run
		knows  bool
		says   string
	}{
		"locked down":       {locked, collect.Run{Output: told}, true, "Operation not permitted"},
		"no mstflint":       {func(s *inventory.Snapshot) { s.MSTFlint.Present = false }, collect.Run{Output: told}, true, "not installed"},
		"a tool that fails": {func(*inventory.Snapshot) {}, collect.Run{Output: told}, false, "Operation not permitted"},
		"mstflint's own module": {func(s *inventory.Snapshot) { locked(s); s.Modules = map[string]bool{"mstflint_access": true} },
			collect.Run{Output: told}, false, "Operation not permitted"},
		"after an update that was cancelled": {locked, collect.Run{Status: 1, Output: "kernel answers: No data available\n"}, false,
			"devlink dev info, status 1: kernel answers: No data available"},
		"a job of ours": {locked, collect.Run{Status: flock.Taken, Output: ""}, false, "status 75"},
	} {
		c := inventory.Card{PCI: ib.MustParsePCIAddress("0000:01:00.0"), VendorID: ib.MellanoxVendor, DeviceID: 0x1013,
			Chip: ib.Chip{Format: "FS3"}}
		s := &inventory.Snapshot{Users: fact.Known[[]inventory.CardUser](nil)}
		s.MSTFlint.Present = true
		tt.host(s)
		answer := &collect.Answer{Runs: map[string]collect.Run{"devlink 0000:01:00.0": tt.driver}}
		if s.MSTFlint.Present {
			answer.Runs["flash 0000:01:00.0"] = denied
		}
		readFlash(&c, s, answer)
		want := inventory.Flash{ImageType: "FS3", ByDriver: true, RunningFW: ib.FWVersion{Major: 12, Minor: 28, Sub: 2006},
			Firmware: ib.Firmware{PSID: "MT_9180110032", FW: ib.FWVersion{Major: 12, Minor: 28, Sub: 4512}}}
		if known := c.FlashKnown(); known != tt.knows || known && !reflect.DeepEqual(*c.Flash, want) || c.ReadFlash() != nil ||
			!strings.Contains(c.FlashError, tt.says) {
			t.Errorf("%s: %+v, %q", name, c.Flash, c.FlashError)
		}
	}
}
