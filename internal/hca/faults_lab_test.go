package hca

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/image"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// TestApplyFirmware_power_cut cuts the power at the n-th operation on the
// flash. The card must hold one whole image, and the next run must end with the
// new one.
func TestApplyFirmware_power_cut(t *testing.T) {
	whole := countOperations(t)
	for _, n := range []int{1, 2, whole / 3, whole / 2, whole - 2, whole - 1, whole} {
		t.Run(fmt.Sprintf("at operation %d of %d", n, whole), func(t *testing.T) {
			ctx := context.Background()
			b := newBench(t, labs.Intel9, 0)
			o, c := b.ops("alice"), b.card(ctx)
			img := b.image(card.VPI())
			b.machine.Faults.Set(labsim.FaultSpec{PowerCutAtFlash: n})
			_, err := o.ApplyFirmware(ctx, crossFlash(c, img))
			b.machine.Faults.Clear()
			// Nothing was left to write at the last operation: what is read back is what was asked for.
			if err == nil && n != whole {
				t.Error("a run whose host lost power says nothing")
			}
			b.powerOn()
			b.flash() // fails if no whole image is left
			again := b.card(ctx)
			plan, planErr := b.ops("bob").AssessFirmware(ctx, crossFlash(again, img))
			if planErr != nil || err != nil && len(plan.Jobs) != 1 && !settledBefore(err) {
				t.Fatalf("plan: %v, jobs %+v", planErr, plan.Jobs)
			}
			state, err := b.ops("bob").ApplyFirmware(ctx, crossFlash(again, img))
			if err != nil {
				t.Fatal(explain(err))
			}
			if flash, running := b.flash(); flash.PSID != card.PSIDVPI || running.PSID != card.PSIDVPI {
				t.Errorf("flash %+v, running %+v, did %q", flash, running, state.Did)
			}
			b.clean()
		})
	}
}

// settledBefore reports whether the run that met the power cut itself read the
// card after the host had come back.
func settledBefore(err error) bool {
	var e *cards.Error
	return errors.As(err, &e) && strings.Contains(e.Means, "one whole image")
}

func countOperations(t *testing.T) int {
	t.Helper()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	before := b.device().Flash.Operations()
	if _, err := b.ops("alice").ApplyFirmware(ctx, crossFlash(b.card(ctx), b.image(card.VPI()))); err != nil {
		t.Fatal(explain(err))
	}
	return b.device().Flash.Operations() - before
}

// powerOn starts the machine again, if nobody has.
func (b *bench) powerOn() {
	b.t.Helper()
	if !b.machine.Up() {
		b.machine.Start()
	}
	for range 200 {
		if b.machine.Up() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatal("the machine does not start")
}

func TestApplyFirmware_two_operators(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 3*time.Millisecond)
	img := b.image(card.VPI())
	first, second := b.ops("alice"), b.ops("bob")
	burning := make(chan struct{}, 1)
	first.Progress = func(_ context.Context, m string) {
		if strings.HasSuffix(m, ": burning") {
			burning <- struct{}{}
		}
	}
	// Both have looked at the card before either began.
	card1, card2 := b.card(ctx), b.card(ctx)
	l, err := card2.Look(ctx)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, applyErr := first.ApplyFirmware(ctx, crossFlash(card1, img))
		done <- applyErr
	}()
	<-burning
	ask := job.New(second.Session, card2,
		journal.Entry{Kind: journal.GUIDs, Argv: []string{"mstflint", "-d", b.pci.String(), "q"}})
	if _, err = ask.Start(ctx, l); err != nil {
		t.Fatal(explain(err))
	}
	_, err = ask.Finish(ctx)
	if err == nil || !strings.Contains(explain(err), "started by alice") || !strings.Contains(explain(err), "since 20") {
		t.Errorf("the second operator was told: %v", err)
	}
	if err := <-done; err != nil {
		t.Fatal(explain(err))
	}
	if flash, _ := b.flash(); flash.PSID != card.PSIDVPI {
		t.Errorf("flash %+v", flash)
	}
}

func TestApplyFirmware_no_backup_no_burn(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	// A file where the directory should be: no backup can be written below it.
	if err := os.WriteFile(b.backups, []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	operations := b.device().Flash.Operations()
	_, err := b.ops("alice").ApplyFirmware(ctx, crossFlash(b.card(ctx), b.image(card.VPI())))
	if err == nil || !strings.Contains(explain(err), "BK010") {
		t.Errorf("apply: %v", err)
	}
	if b.device().Flash.Operations() != operations {
		t.Error("the flash was written without a backup")
	}
	b.clean()
}

func TestApplyFirmware_flash_verify_error(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	boots := b.machine.Boots()
	img := b.image(card.VPI())
	b.machine.Faults.Set(labsim.FaultSpec{FlashVerifyFail: 40})
	_, err := b.ops("alice").ApplyFirmware(ctx, crossFlash(b.card(ctx), img))
	b.machine.Faults.Clear()
	if err == nil {
		t.Fatal("a failed burn is reported as success")
	}
	for _, want := range []string{"the old one", "Backup: ", "The host was not restarted", "Job directory"} {
		if !strings.Contains(explain(err), want) {
			t.Errorf("the error lacks %q:\n%s", want, explain(err))
		}
	}
	if b.machine.Boots() != boots {
		t.Error("a failed burn rebooted the host")
	}
	if _, err := b.ops("alice").ApplyFirmware(ctx, crossFlash(b.card(ctx), img)); err != nil {
		t.Fatal(explain(err))
	}
	if flash, _ := b.flash(); flash.PSID != card.PSIDVPI {
		t.Errorf("flash %+v", flash)
	}
	b.clean()
}

func TestApplyFirmware_reboot_that_does_not_help_is_not_repeated(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	c := b.card(ctx)
	restarts := 0
	// The machine restarts and the card keeps its old firmware in memory.
	c.Rebooter = rebootFunc(func() string {
		restarts++
		b.machine.FS.Put("/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n", 0o444)
		return "11111111-2222-3333-4444-555555555555"
	})
	o := b.ops("alice")
	o.Settle = 200 * time.Millisecond
	img := b.image(card.VPI())
	for range 3 {
		_, err := o.ApplyFirmware(ctx, crossFlash(c, img))
		if err == nil || !strings.Contains(explain(err), "Switch the machine off") {
			t.Fatalf("apply: %v", err)
		}
	}
	if restarts != 1 {
		t.Errorf("%d restarts", restarts)
	}
}

type rebootFunc func() string

func (rebootFunc) Drained(ctx context.Context, do func(context.Context) error) error { return do(ctx) }

func (r rebootFunc) Reboot(ctx context.Context, _ string, ready func(context.Context) error) (string, error) {
	if err := ready(ctx); err != nil {
		return "", err
	}
	return r(), nil
}

func TestApplyFirmware_image_changed_on_the_host(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	img := b.image(card.VPI())
	b.machine.FS.Put(image.Path(img.SHA256), string(card.OldVPI()), 0o600)
	_, err := b.ops("alice").ApplyFirmware(ctx, crossFlash(b.card(ctx), img))
	if err == nil || !strings.Contains(explain(err), "SHA-256 found") {
		t.Errorf("apply: %v", err)
	}
	if flash, _ := b.flash(); flash.PSID != card.PSIDEN {
		t.Errorf("flash %+v", flash)
	}
	b.clean()
}

// TestApplyFirmware_connection_cut_at_every_command cuts the connection at the
// k-th command of a run, before, while and after it runs. Whatever that run
// says, the next one must end with the new image, burned once.
func TestApplyFirmware_connection_cut_at_every_command(t *testing.T) {
	moments := []labsim.CutWhen{labsim.CutBefore, labsim.CutDuring, labsim.CutAfter}
	for k := 2; k < 26; k += 3 {
		moment := moments[(k/3)%len(moments)]
		t.Run(fmt.Sprintf("%s command %d", moment, k), func(t *testing.T) {
			ctx := context.Background()
			b := newBench(t, labs.Intel9, 0)
			img, c := b.image(card.VPI()), b.card(ctx)
			b.machine.Faults.Set(labsim.FaultSpec{CutAtExec: k, CutWhen: moment})
			_, first := b.ops("alice").ApplyFirmware(ctx, crossFlash(c, img))
			b.machine.Faults.Clear()
			if first != nil {
				t.Logf("the cut run: %v", first)
			}
			b.powerOn()
			state, err := b.ops("alice").ApplyFirmware(ctx, crossFlash(b.card(ctx), img))
			if err != nil {
				t.Fatal(explain(err))
			}
			flash, running := b.flash()
			if flash.PSID != card.PSIDVPI || running.PSID != card.PSIDVPI || state.Pending {
				t.Errorf("flash %+v, running %+v, state %+v", flash, running, state)
			}
			if n := b.burns(); n != 1 {
				t.Errorf("the flash was burned %d times", n)
			}
			b.clean()
		})
	}
}

// burns counts the burns that the simulated host has run to the end.
func (b *bench) burns() int {
	n := 0
	for _, e := range b.machine.Journal() {
		if len(e.Args) > 1 && strings.HasSuffix(e.Args[0], "mstflint") && e.Args[len(e.Args)-1] == "b" && e.Exit == 0 {
			n++
		}
	}
	return n
}

func TestApplyFirmware_host_that_stays_away(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, time.Millisecond)
	o := b.ops("alice")
	o.Lost = 100 * time.Millisecond
	o.Progress = func(_ context.Context, m string) {
		if strings.HasSuffix(m, ": burning") {
			b.machine.Faults.Update(func(f *labsim.FaultSpec) { f.Refuse = true })
			b.server.DropAll()
		}
	}
	img := b.image(card.VPI())
	_, err := o.ApplyFirmware(ctx, crossFlash(b.card(ctx), img))
	if err == nil {
		t.Fatal("a host that stays away is not reported")
	}
	for _, want := range []string{"has not answered", "The job was not stopped and goes on", "Job directory: /var/lib/",
		"Unit: infiniband-flash-", "Backup: "} {
		if !strings.Contains(explain(err), want) {
			t.Errorf("the error lacks %q:\n%s", want, explain(err))
		}
	}
	b.machine.Faults.Clear()
	state, err := b.ops("bob").ApplyFirmware(ctx, crossFlash(b.card(ctx), img))
	if err != nil {
		t.Fatal(explain(err))
	}
	if state.Pending || b.burns() != 1 {
		t.Errorf("%d burns, state %+v", b.burns(), state)
	}
	b.clean()
}

func TestAssess_observe_mode(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	img := b.image(card.VPI())
	b.observe = true
	c := b.card(ctx)
	o := b.ops("alice")
	_, err := o.ApplyFirmware(ctx, crossFlash(c, img))
	if err == nil || !strings.Contains(err.Error(), "HO008") {
		t.Errorf("firmware: %v", err)
	}
	if operations := b.device().Flash.Operations(); operations != 0 {
		t.Errorf("%d operations on the flash of an observed host", operations)
	}
	b.clean()
}
