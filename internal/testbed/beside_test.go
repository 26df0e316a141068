//go:build testbed && linux

package testbed

import (
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// flashTime is how long an operation of the flash takes here, so that a burn lasts for
// several looks at the host.
const flashTime = 100 * time.Millisecond

// TestBeside_a_plan_leaves_a_burn_by_hand_alone burns with the real mstflint while the
// host is looked at as by plans, again and again. The burn succeeds, each look that
// began and ended while it ran says who is at the card, and no program of the provider
// is at the card meanwhile: the card itself counts. Without the look at the processes
// before each tool, such a burn ends with MFE_VERIFY_ERROR, or does not, as it happens.
func TestBeside_a_plan_leaves_a_burn_by_hand_alone(t *testing.T) {
	t.Parallel()
	b := start(t, HostConfig{Name: "beside", Card: secondHand()})
	box := b.Hosts["beside"]
	// Several looks must fall into its burn.
	longer := imageOf(0x1000, card.PSIDVPI, [3]uint16{2, 42, 5000}, 0x20170905)
	if err := box.Put("/root/vpi.bin", longer); err != nil {
		t.Fatal(err)
	}
	h := open(t, b, "beside")
	if s := snapshot(t, h); s.Cards[0].Flash == nil {
		t.Fatalf("nobody is at the card, and it is not read: %s", s.Cards[0].FlashError)
	}
	var operations atomic.Int32
	model := box.Device.Card()
	model.Flash.SetHook(func(card.Op) error {
		operations.Add(1)
		time.Sleep(flashTime)
		return nil
	})
	type end struct {
		out string
		err error
	}
	ended := make(chan end, 1)
	go func() {
		out, err := box.Exec(t.Context(), "mstflint -y -allow_psid_change -d 01:00.0 -i /root/vpi.bin b </dev/null")
		ended <- end{out, err}
	}()
	for operations.Load() == 0 {
		select {
		case e := <-ended:
			t.Fatalf("the burn ended before it wrote: %v\n%s", e.err, e.out)
		case <-time.After(10 * time.Millisecond):
		}
	}
	looks, asked := 0, 0
	for {
		s := snapshot(t, h)
		if isKeptOut(t, h) {
			asked++
		}
		select {
		case e := <-ended:
			model.Flash.SetHook(nil)
			if e.err != nil || !strings.Contains(e.out, "Restoring signature                     - OK") {
				t.Errorf("the burn by hand beside %d looks at the host: %v\n%s", looks, e.err, tail(e.out))
			}
			if looks == 0 || asked == 0 {
				t.Fatal("the burn ended before the first look did")
			}
			t.Logf("%d looks at the host and %d questions beside a burn of %d operations", looks, asked, operations.Load())
			checkAlone(t, box.Device)
			if c := snapshot(t, h).Cards[0]; c.Flash == nil || c.Flash.PSID != card.PSIDVPI {
				t.Errorf("after the burn: %+v, %s", c.Flash, c.FlashError)
			}
			return
		default:
			looks++
			busy(t, s)
		}
	}
}

var burning = regexp.MustCompile(`^busy: mstflint -y -allow_psid_change -d 01:00\.0 -i /root/vpi\.bin b, pid \d+, user root, since 20\d\d-`)

func busy(t *testing.T, s *inventory.Snapshot) {
	t.Helper()
	c := s.Cards[0]
	if c.Flash != nil || c.FlashFailure != inventory.FlashBusy || !burning.MatchString(c.FlashError) {
		t.Errorf("beside a burn: flash %+v, %q: %q", c.Flash, c.FlashFailure, c.FlashError)
	}
}

// isKeptOut asks the card as a command of the provider does outside of the collection, and
// reports whether it was kept from it by the one who burns.
func isKeptOut(t *testing.T, h *hosts.Host) bool {
	t.Helper()
	pci := ib.MustParsePCIAddress(DefaultBDF)
	_, err := h.Run(t.Context(), cardusers.WithSharedLock(mstflint.Query(pci, false), pci))
	var exit *host.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return exit != nil && exit.Status == cardusers.Busy
}

// checkAlone holds that nobody was at the card beside the burn, and that the card would
// have noticed: it has seen the burn.
func checkAlone(t *testing.T, d *Device) {
	t.Helper()
	all, clashes := d.Users()
	burns := 0
	for _, line := range all {
		if strings.Contains(line, " -i /root/vpi.bin b") {
			burns++
		}
	}
	if burns != 1 {
		t.Errorf("the card saw %d burns: %q", burns, all)
	}
	for _, clash := range clashes {
		t.Error(clash)
	}
}
