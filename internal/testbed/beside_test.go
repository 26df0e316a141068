//go:build testbed && linux

package testbed

import (
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// flashTime is how long an operation of the flash takes here, so that a burn lasts for
// several looks at the host.
const flashTime = 100 * time.Millisecond

// TestBeside_a_plan_leaves_a_burn_by_hand_alone burns with the real mstflint while the
// host is looked at as by plans, again and again. The burn succeeds, and each look that
// began and ended while it ran says who is at the card and asks the card for nothing.
// Without the look at the processes, such a burn ends with MFE_VERIFY_ERROR.
func TestBeside_a_plan_leaves_a_burn_by_hand_alone(t *testing.T) {
	t.Parallel()
	b := start(t, HostConfig{Name: "beside", Card: secondHand()})
	box := b.Hosts["beside"]
	if err := box.Put("/root/vpi.bin", imageVPI()); err != nil {
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
	looks := 0
	for {
		s := snapshot(t, h)
		select {
		case e := <-ended:
			model.Flash.SetHook(nil)
			if e.err != nil || !strings.Contains(e.out, "Restoring signature                     - OK") {
				t.Errorf("the burn by hand beside %d looks at the host: %v\n%s", looks, e.err, tail(e.out))
			}
			if looks == 0 {
				t.Fatal("the burn ended before the first look did")
			}
			t.Logf("%d looks at the host beside a burn of %d operations", looks, operations.Load())
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
