package hca

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

var vpiVersion = ib.MustParseFWVersion("2.42.5000")

func TestApplyFirmware_cross_flash(t *testing.T) {
	for _, system := range []string{labs.Intel9, labs.Xeon2zfs} {
		t.Run(system, func(t *testing.T) {
			ctx := context.Background()
			b := newBench(t, system, 0)
			o, c := b.ops("alice"), b.card(ctx)
			f := crossFlash(c, b.image(card.VPI()))
			before := b.machine.BootID()
			state, err := o.ApplyFirmware(ctx, f)
			if err != nil {
				t.Fatal(explain(err))
			}
			flash, running := b.flash()
			if flash.PSID != card.PSIDVPI || running.PSID != card.PSIDVPI || b.machine.BootID() == before {
				t.Fatalf("flash %+v, running %+v, boot id changed: %t", flash, running, b.machine.BootID() != before)
			}
			if state.Pending || state.Running.Or(ib.Firmware{}).PSID != card.PSIDVPI || state.Flash.FW != vpiVersion {
				t.Errorf("state %+v", state)
			}
			if !state.GUIDs.Node.IsUnset() || state.GUIDs.MAC1 == 0 {
				t.Errorf("the burn changed the identity: %+v", state.GUIDs)
			}
			checkBackup(t, state.BackupPath)

			// Again: nothing is burned and nothing restarts.
			boots := b.machine.Boots()
			operations := b.device().Flash.Operations()
			again, err := o.ApplyFirmware(ctx, f)
			if err != nil {
				t.Fatal(explain(err))
			}
			if again.BackupPath != "" || b.machine.Boots() != boots || b.device().Flash.Operations() != operations {
				t.Errorf("the second apply did something: %+v", again)
			}
			b.clean()
		})
	}
}

func checkBackup(t *testing.T, dir string) {
	t.Helper()
	taken, err := backup.NewStore(cards.New(cards.Config{BackupDir: filepath.Join(dir, "..", "..", "..")})).Open(dir)
	if err != nil {
		t.Fatalf("backup: %v", err)
	}
	if taken.Image.PSID != card.PSIDEN {
		t.Errorf("backup holds %s", taken.Image.PSID)
	}
	text, err := os.ReadFile(dir + "/card.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{taken.Record.SHA256, card.PSIDEN, "e4:1d:2d:e4:4e:"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("card.json lacks %q:\n%s", want, text)
		}
	}
	info, err := os.Stat(taken.File())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the backup: %v, %v", info.Mode(), err)
	}
}

func TestAssessFirmware_refuses_without_consent_and_writes_nothing(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	o, c := b.ops("alice"), b.card(ctx)
	f := crossFlash(c, b.image(card.VPI()))
	f.Request.PSIDChange = &safety.Change[ib.PSID]{From: card.PSIDOther, To: card.PSIDVPI}
	operations := b.device().Flash.Operations()
	a, err := o.AssessFirmware(ctx, f)
	if err != nil {
		t.Fatal(explain(err))
	}
	if !a.Verdict.Has(finding.PSIDWouldChange) || !a.Verdict.Blocked() ||
		a.Verdict.Blockers()[0].Summary != "allow.psid_change names another pair than the one observed" {
		t.Errorf("findings %+v", a.Verdict.Findings)
	}
	_, err = o.ApplyFirmware(ctx, f)
	var refused *safety.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Blockers()[0].Consent, "psid_change = {") {
		t.Fatalf("apply: %v", err)
	}
	if n := b.device().Flash.Operations(); n != operations {
		t.Errorf("a refusal wrote to the flash: %d operations", n-operations)
	}
	b.clean()
}

func TestApplyFirmware_adopts_a_burn_whose_watcher_died(t *testing.T) {
	b := newBench(t, labs.Intel9, 2*time.Millisecond)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	o, c := b.ops("alice"), b.card(ctx)
	img := b.image(card.VPI())
	o.Progress = func(_ context.Context, m string) {
		if strings.HasSuffix(m, ": burning") {
			stop()
		}
	}
	_, err := o.ApplyFirmware(ctx, crossFlash(c, img))
	if err == nil || !strings.Contains(explain(err), "The job was not stopped and goes on") {
		t.Fatalf("the killed run said %v", err)
	}
	later := context.Background()
	second := b.card(later)
	plan, err := b.ops("bob").AssessFirmware(later, crossFlash(second, img))
	if err != nil || len(plan.Jobs) != 1 {
		t.Fatalf("plan: %v, jobs %+v, findings %+v", err, plan.Jobs, plan.Verdict.Findings)
	}
	if plan.Verdict.Blocked() {
		t.Errorf("the plan refuses while the burn runs: %+v", plan.Verdict.Findings)
	}
	state, err := b.ops("bob").ApplyFirmware(later, crossFlash(second, img))
	if err != nil {
		t.Fatal(explain(err))
	}
	if flash, running := b.flash(); flash.PSID != card.PSIDVPI || running.PSID != card.PSIDVPI {
		t.Errorf("flash %+v, running %+v", flash, running)
	}
	if state.BackupPath != "" {
		t.Errorf("it was burned twice: %+v", state.Did)
	}
	b.clean()
}

func TestApplyFirmware_survives_cut_connections(t *testing.T) {
	b := newBench(t, labs.Intel9, 2*time.Millisecond)
	ctx := context.Background()
	o, c := b.ops("alice"), b.card(ctx)
	img := b.image(card.VPI())
	burning := false
	o.Progress = func(_ context.Context, m string) {
		if strings.HasSuffix(m, ": burning") && !burning {
			burning = true
			b.machine.Faults.Update(func(f *labsim.FaultSpec) { f.Refuse = true })
			b.server.DropAll()
		}
	}
	var missing []string
	o.Step = func(s journal.Step) {
		if s.Name == "no answer" {
			missing = append(missing, s.Text)
			b.machine.Faults.Update(func(f *labsim.FaultSpec) { f.Refuse = false })
		}
	}
	if _, err := o.ApplyFirmware(ctx, crossFlash(c, img)); err != nil {
		t.Fatal(explain(err))
	}
	if len(missing) != 1 || !strings.HasSuffix(missing[0], "; trying again") {
		t.Errorf("it was told that the host does not answer: %q", missing)
	}
	if flash, _ := b.flash(); flash.PSID != card.PSIDVPI || !burning {
		t.Errorf("flash %+v, cut %t", flash, burning)
	}
	b.clean()
}

// TestApplyFirmware_content_unread holds that an image is not taken for the one in flash by its
// version alone if the comparison of the content was asked for and failed.
func TestApplyFirmware_content_unread(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	f := Firmware{Card: b.card(ctx), Image: b.image(card.EN())}
	f.Request.Activation = safety.ActivationNone
	if _, err := b.ops("alice").ApplyFirmware(ctx, f); err != nil {
		t.Fatalf("the image that is in flash: %v", explain(err))
	}
	b.machine.Faults.Trap("mstflint -d 0000:01:00.0 checksum", 1, labsim.ProgramFault{Exit: true, Status: 139})
	_, err := b.ops("alice").ApplyFirmware(ctx, f)
	var refused *safety.RefusedError
	if !errors.As(err, &refused) || len(refused.Blockers()) != 1 || refused.Blockers()[0].Rule != finding.VersionWouldBeSame ||
		!strings.Contains(refused.Blockers()[0].Evidence, "could not be read: mstflint checksum") {
		t.Errorf("content unread: %v", explain(err))
	}
	if n := b.device().Flash.Operations(); n != 0 {
		t.Errorf("%d flash operations", n)
	}
	b.clean()
}
