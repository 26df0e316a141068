package safety

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

func TestRestart_stopsForWhatCameUpSince(t *testing.T) {
	burn := burnAt(there)
	for name, c := range map[string]struct {
		change func(h *HostFacts)
		want   string
	}{
		"nothing": {func(*HostFacts) {}, ""},
		"shares":  {func(h *HostFacts) { h.Servers = fact.Known([]inventory.Server{{Name: "NFS"}}) }, ""},
		"battery": {func(h *HostFacts) { h.Battery = fact.Known([]inventory.UPS{{Name: "ups", Status: "OB"}}) },
			"HO015"},
		"scrub": {func(h *HostFacts) { h.Scans = fact.Known([]inventory.Pool{{Name: "tank", Doing: "scrub"}}) },
			"HO014"},
		"users":         {func(h *HostFacts) { h.Users = fact.Known([]inventory.CardUser{burn}) }, "HO045"},
		"unknown users": {func(h *HostFacts) { h.Users = fact.Unknown[[]inventory.CardUser]("no /proc") }, "HO045"},
		"job of a card": {func(h *HostFacts) { h.Jobs = []inventory.Job{journal("J", there, true)} }, "HO004"},
		"old job":       {func(h *HostFacts) { h.Jobs = []inventory.Job{journal("J", there, false)} }, ""},
	} {
		host := goodHost()
		c.change(&host)
		if got := strings.Join(codes(Restart(host)), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCardState_saysHowASemaphoreIsCleared(t *testing.T) {
	found := cardState(CardFacts{Card: inventory.Card{PCI: here, FlashTaken: true,
		FlashError: "Can not obtain Flash semaphore"}})
	if len(found) != 1 || found[0].Rule != finding.FlashUnreadable ||
		!strings.Contains(found[0].Detail(), "mstflint -clear_semaphore -d "+here.String()) {
		t.Errorf("got %+v", found)
	}
}

// Our own lock is no semaphore: nothing is to be done at the card, here or before a restart.
func TestOwnLock_isWaitedFor(t *testing.T) {
	card := CardFacts{Card: inventory.Card{PCI: here, FlashTaken: true, FlashFailure: inventory.FlashLocked,
		FlashError: "another operation holds the lock of the cards on this host"}}
	for _, found := range [][]finding.Finding{cardState(card), bootable(card)} {
		if len(found) != 1 || !strings.Contains(found[0].WayOut, "Wait until") || strings.Contains(found[0].WayOut, "mstflint") ||
			!found[0].Severity.Blocks() {
			t.Errorf("got %+v", found)
		}
	}
	host := goodHost()
	host.Cards = append(host.Cards, card.Card)
	other := &host.Cards[len(host.Cards)-1]
	other.PCI, other.VendorID, other.DeviceID = there, ib.MellanoxVendor, 0x1003
	other.Chip, _ = ib.ChipByPCI(0x1003)
	if found := othersLoad(goodCard(), host); len(found) != 0 {
		t.Errorf("it is asked again before the restart: %+v", found)
	}
}
