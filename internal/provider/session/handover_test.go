package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

var (
	masterPort  = attribute.PortRef{Host: "nas", GUID: 1}
	standbyPort = attribute.PortRef{Host: "desk", GUID: 2}
)

// beginChange runs a change in the background; it writes its name when it is its turn.
func beginChange(o *Handover, port attribute.PortRef, role SMRole, order *[]string, work time.Duration) {
	go func() {
		_ = o.Do(context.Background(), port, role, func() error {
			*order = append(*order, port.Host)
			time.Sleep(work)
			return nil
		})
	}()
	synctest.Wait()
}

// The plan of the standby begins before the change of the master; its host answers
// late, and core takes its time between the plan and the change.
func TestHandover_standbyBeforeMaster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, start := NewHandover(), time.Now()
		var order []string
		o.Announce(masterPort)
		o.Announce(standbyPort)
		beginChange(o, masterPort, SMMaster, &order, 0)
		time.Sleep(announcedTimeout / 2)
		beginChange(o, standbyPort, SMStandby, &order, 2*announcedTimeout)
		time.Sleep(5 * announcedTimeout)
		if !slices.Equal(order, []string{"desk", "nas"}) {
			t.Errorf("changed in the order %v after %s", order, time.Since(start))
		}
	})
}

func TestHandover_doesNotWaitForNobody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others func(*Handover)
		role   SMRole
		wait   time.Duration
	}{
		"a master alone":             {func(*Handover) {}, SMMaster, 0},
		"one that does not run":      {func(o *Handover) { o.Announce(standbyPort) }, SMStopped, 0},
		"another that is left as is": {func(o *Handover) { o.Announce(standbyPort); o.Withdraw(standbyPort) }, SMMaster, 0},
		"another of its own host, whose change waits for it": {func(o *Handover) {
			o.Announce(attribute.PortRef{Host: "own", GUID: 3})
		}, SMMaster, 0},
		"another that never is begun":  {func(o *Handover) { o.Announce(standbyPort) }, SMMaster, announcedTimeout},
		"a standby, beside one coming": {func(o *Handover) { o.Announce(masterPort) }, SMStandby, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, start := NewHandover(), time.Now()
				c.others(o)
				_ = o.Do(t.Context(), attribute.PortRef{Host: "own"}, c.role, func() error { return nil })
				if got := time.Since(start); got != c.wait {
					t.Errorf("waited %s, expected %s", got, c.wait)
				}
			})
		})
	}
}

func TestHandover_oneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, start := NewHandover(), time.Now()
		var order []string
		beginChange(o, standbyPort, SMStandby, &order, time.Hour)
		if err := o.Do(t.Context(), masterPort, SMStandby, func() error { return nil }); err != nil ||
			time.Since(start) != time.Hour {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		beginChange(o, standbyPort, SMStandby, &order, time.Hour)
		over, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, role := range []SMRole{SMStandby, SMMaster} {
			if err := o.Do(over, masterPort, role, func() error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		}
		time.Sleep(2 * time.Hour)
	})
}
