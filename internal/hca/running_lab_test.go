package hca

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// inMidBurn does something once, when the tenth operation on the flash begins.
func (b *bench) inMidBurn(do func()) {
	var once sync.Once
	n := 0
	b.device().Flash.SetHook(func(card.Op) error {
		if n++; n >= 10 {
			once.Do(do)
		}
		return nil
	})
}

// TestRunning_systemd_that_does_not_answer holds that a burn goes on being watched when
// systemd says nothing of its unit, and is not called interrupted.
func TestRunning_systemd_that_does_not_answer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, time.Millisecond)
	img := b.image(card.VPI())
	c := b.card(ctx)
	b.inMidBurn(func() {
		for range 3 {
			b.machine.Faults.Trap("systemctl is-active", 1, labsim.ProgramFault{Exit: true, Status: 1})
		}
	})
	state, err := b.ops("alice").ApplyFirmware(ctx, crossFlash(c, img))
	if err != nil {
		t.Fatal(explain(err))
	}
	if flash, _ := b.flash(); flash.PSID != card.PSIDVPI || len(state.Did) == 0 {
		t.Errorf("flash %+v, did %q", flash, state.Did)
	}
	b.clean()
}

// TestRunning_directory_removed_in_mid_burn holds that a job whose directory somebody
// removed is waited for, also by a plan of somebody else, and that nothing is said of
// the flash that is not known.
func TestRunning_directory_removed_in_mid_burn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, time.Millisecond)
	img := b.image(card.VPI())
	c, other := b.card(ctx), b.card(ctx)
	plans := make(chan cards.Assessment, 1)
	b.inMidBurn(func() {
		b.machine.FS.Drop(inventory.StateDir + "/jobs")
		b.device().Flash.SetHook(nil)
		go func() {
			other.Host.Invalidate()
			a, err := b.ops("bob").AssessFirmware(ctx, crossFlash(other, img))
			if err != nil {
				t.Error(explain(err))
			}
			plans <- a
		}()
	})
	_, err := b.ops("alice").ApplyFirmware(ctx, crossFlash(c, img))
	var e *cards.Error
	if !errors.As(err, &e) {
		t.Fatalf("no error of ours: %v", err)
	}
	for _, want := range []string{"Somebody removed the directory of the job while it ran", "may have been written",
		"Do not restart the host before the flash verifies"} {
		if !strings.Contains(e.Explain(), want) {
			t.Errorf("lacks %q:\n%s", want, e.Explain())
		}
	}
	named := regexp.MustCompile(`-i (\S+/([0-9a-f]{64})\.bin) b`).FindStringSubmatch(e.Explain())
	if len(named) != 3 {
		t.Fatalf("names no file to burn back:\n%s", e.Explain())
	}
	if kept, err := b.machine.FS.ReadFile(named[1]); err != nil || fmt.Sprintf("%x", sha256.Sum256(kept)) != named[2] {
		t.Errorf("%s is not the backup: %v", named[1], err)
	}
	if strings.Contains(e.Explain(), "Nothing was written") {
		t.Errorf("says that nothing was written:\n%s", e.Explain())
	}
	if a := <-plans; a.Verdict.Action != safety.ActionWait && len(a.Jobs) > 0 {
		t.Errorf("a plan beside it: %+v", a.Verdict)
	}
	if flash, _ := b.flash(); flash.PSID != card.PSIDVPI {
		t.Errorf("flash %+v", flash)
	}
}

// TestRunning_plan_beside_a_silent_systemd holds that a plan takes a job for running of
// which systemd says nothing.
func TestRunning_plan_beside_a_silent_systemd(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	img := b.image(card.VPI())
	const id = "20260101T000000Z-0000-01-00-0-beef"
	b.machine.FS.PutDir(journal.Dir(id), 0o700, 0, 0)
	b.machine.FS.Put(journal.Dir(id)+"/request", "version=1\njob="+id+"\nkind=burn\npci=0000:01:00.0\noperator=eve\n",
		0o600)
	b.machine.FS.Put(journal.Dir(id)+"/states", "1 requested 2026-01-01T00:00:00Z\n4 burning 2026-01-01T00:00:01Z\n",
		0o600)
	b.machine.Faults.Trap("systemctl show --property=Id", 1, labsim.ProgramFault{Exit: true, Status: 1})
	c := b.card(ctx)
	s, err := c.Host.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if job, ok := s.Job(id); !ok || job.Running.Known() {
		t.Fatalf("job %+v", job)
	}
	a, err := b.ops("bob").AssessFirmware(ctx, crossFlash(c, img))
	if err != nil {
		t.Fatal(explain(err))
	}
	if a.Verdict.Action != safety.ActionWait || len(a.Jobs) != 1 ||
		!strings.Contains(a.Jobs[0].String(), "may be running in state burning: systemctl ended with status 1") {
		t.Errorf("%+v, jobs %v", a.Verdict, a.Jobs)
	}
	c.Host.Invalidate()
	if s, err = c.Host.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
	if job, ok := s.Job(id); !ok || !fact.No(job.Running) {
		t.Errorf("systemd answers again: %+v", job)
	}
}
