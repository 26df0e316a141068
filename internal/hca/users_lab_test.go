package hca

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// byHand starts a burn of somebody else that waits for an answer, with the card open,
// until the returned function gives it.
func (b *bench) byHand(image []byte) (pid int, answer func(string) int) {
	b.t.Helper()
	b.machine.FS.Put("/root/by-hand.bin", string(image), 0o600)
	in, keyboard := io.Pipe()
	p := &labsim.Proc{
		Args: []string{"mstflint", "-allow_psid_change", "-d", b.pci.String(), "-i", "/root/by-hand.bin",
			"b"}, User: "root", Stdin: in,
	}
	done := b.machine.Spawn(p)
	return p.PID, func(text string) int {
		_, _ = io.WriteString(keyboard, text)
		_ = keyboard.Close()
		return <-done
	}
}

// TestUsers_a_plan_beside_a_burn_by_hand holds that a plan says who is at the card,
// reads nothing of it, and leaves that burn to end well.
func TestUsers_a_plan_beside_a_burn_by_hand(t *testing.T) {
	t.Parallel()
	b := newBench(t, labs.Intel9, 0)
	ctx := context.Background()
	img := b.image(card.VPI())
	pid, answer := b.byHand(card.VPI())
	before := len(b.toolRuns())
	a, err := b.ops("a").AssessFirmware(ctx, crossFlash(b.card(ctx), img))
	if err != nil {
		t.Fatal(explain(err))
	}
	blocking := safety.Blockers(a.Verdict.Findings)
	if len(blocking) != 1 || blocking[0].Rule != finding.CardInUse ||
		!strings.Contains(blocking[0].Evidence, "by-hand.bin b, pid "+strconv.Itoa(pid)+", user root, since ") {
		t.Errorf("findings: %+v", blocking)
	}
	if asked := b.toolRuns()[before:]; len(asked) != 0 {
		t.Errorf("the card was opened: %q", asked)
	}
	if status := answer("y\n"); status != 0 {
		t.Errorf("the burn by hand ended with %d", status)
	}
	b.clean()
}

// toolRuns are the runs of the tools on the card that have ended.
func (b *bench) toolRuns() []string {
	var list []string
	for _, e := range b.machine.Journal() {
		line := strings.Join(e.Args, " ")
		if strings.HasPrefix(line, "mst") && strings.Contains(line, b.pci.String()) {
			list = append(list, line)
		}
	}
	return list
}

// TestUsers_a_burn_by_hand_that_begins_later holds that each command that opens the card
// looks again who is there: a backup is refused before it touches the card.
func TestUsers_a_burn_by_hand_that_begins_later(t *testing.T) {
	t.Parallel()
	b := newBench(t, labs.Intel9, 0)
	ctx := context.Background()
	c := b.card(ctx)
	_, answer := b.byHand(card.VPI())
	o := b.ops("a")
	l, err := c.Look(ctx) // of before
	if err != nil {
		t.Fatal(err)
	}
	before := len(b.toolRuns())
	_, err = o.Backups.Keep(ctx, c, l, l.Facts)
	var refused *safety.RefusedError
	if !errors.As(err, &refused) || refused.Findings[0].Rule != finding.CardInUse ||
		!strings.Contains(refused.Error(), "refusing to back up the firmware of card intel9/") {
		t.Errorf("backup beside a burn by hand: %v", explain(err))
	}
	if asked := b.toolRuns()[before:]; len(asked) != 0 {
		t.Errorf("the card was opened: %q", asked)
	}
	if status := answer("y\n"); status != 0 {
		t.Errorf("the burn by hand ended with %d", status)
	}
	b.clean()
}

// TestUsers_readers_of_ours_take_turns holds that two plans at once are no users to each
// other, and that both read the card.
func TestUsers_readers_of_ours_take_turns(t *testing.T) {
	t.Parallel()
	b := newBench(t, labs.Intel9, 0)
	ctx := context.Background()
	img := b.image(card.VPI())
	errs := make(chan error, 4)
	for range cap(errs) {
		c := crossFlash(b.card(ctx), img)
		c.Card.Host.Invalidate()
		go func() {
			a, err := b.ops("a").AssessFirmware(ctx, c)
			if err == nil && (!a.Card.FlashKnown() || a.Card.Verified != safety.VerifyGood || len(a.Card.InUse) > 0) {
				err = errors.New(a.Card.FlashError + a.Card.VerifyError + strings.Join(a.Card.InUse, ";"))
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(explain(err))
		}
	}
	b.clean()
}

// TestUsers_a_backup_beside_assessments_of_ours holds that a backup is not refused because
// other resources, of this run or of another, have their look at the card meanwhile.
func TestUsers_a_backup_beside_assessments_of_ours(t *testing.T) {
	t.Parallel()
	b := newBench(t, labs.Intel9, 0)
	ctx := context.Background()
	img := b.image(card.VPI())
	one := b.ops("one")
	errs := make(chan error, 4)
	for _, o := range []*Ops{one, one, b.ops("another")} {
		c := crossFlash(b.card(ctx), img)
		go func() {
			a, err := o.AssessFirmware(ctx, c)
			if err == nil && len(a.Card.InUse) > 0 {
				err = errors.New(strings.Join(a.Card.InUse, ";"))
			}
			errs <- err
		}()
	}
	c := b.card(ctx)
	go func() {
		_, err := one.Backups.Take(ctx, c)
		errs <- err
	}()
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(explain(err))
		}
	}
	b.clean()
}

// TestUsers_damage_and_what_only_looks_so holds that a verification that fails once, as it
// does beside another program, is not taken for a damaged flash, and that one that fails
// for what is in the flash, again and with nobody else there, is.
func TestUsers_damage_and_what_only_looks_so(t *testing.T) {
	t.Parallel()
	says := func(text string) labsim.ProgramFault {
		return labsim.ProgramFault{Says: func(*labsim.Proc, string) string { return text }, Lie: true, Status: 1}
	}
	const disturbed = "-E- Cannot open Device: 0000:01:00.0. Resource temporarily unavailable. MFE_BAD_PARAMS\n"
	const bad = "-E- FW image verification failed: Bad CRC.. AN HCA DEVICE CAN NOT BOOT FROM THIS IMAGE.\n"
	wrong := labsim.ProgramFault{Lie: true, Status: 1, Says: func(_ *labsim.Proc, line string) string {
		return strings.Replace(line, "- OK", "- wrong CRC (exp:0x1234, act:0x5678)", 1)
	}}
	for name, tt := range map[string]struct {
		fault labsim.ProgramFault
		times int    // 0: always
		want  string // the one finding on the flash
	}{
		"wrong CRC once":       {wrong, 1, "FW056"},
		"wrong CRC":            {wrong, 0, "FW043"},
		"bad CRC once":         {says(bad), 1, "FW056"},
		"bad CRC":              {says(bad), 0, "FW043"},
		"cannot open once":     {says(disturbed), 1, ""},
		"cannot open":          {says(disturbed), 0, "FW056"},
		"bad CRC, cannot open": {says(bad + disturbed), 0, "FW056"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, labs.Intel9, 0)
			ctx := context.Background()
			img := b.image(card.VPI())
			c := crossFlash(b.card(ctx), img)
			b.machine.Faults.Trap("mstflint -d "+b.pci.String()+" v", tt.times, tt.fault)
			a, err := b.ops("a").AssessFirmware(ctx, c)
			if err != nil {
				t.Fatal(explain(err))
			}
			var got []string
			for _, code := range findingCodes(a.Verdict.Findings) {
				if code == "FW043" || code == "FW056" || code == "FW008" {
					got = append(got, code)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("findings on the flash %v, want %q", got, tt.want)
			}
		})
	}
}

func findingCodes(findings []finding.Finding) []string {
	codes := make([]string, len(findings))
	for i, f := range findings {
		codes[i] = f.Rule.Code
	}
	return codes
}

// TestUsers_at_a_planned_restart_without_a_driver holds that a restart is refused, and not left
// out, where somebody uses a card that no driver shows: its flash is not read then.
func TestUsers_at_a_planned_restart_without_a_driver(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	o := b.ops("alice")
	for _, module := range []string{"ib_ipoib", "ib_umad", "mlx4_ib", "mlx4_en", "mlx4_core"} {
		if b.machine.ModuleLoaded(module) {
			if err := b.machine.UnloadModule(module); err != nil {
				t.Fatal(err)
			}
		}
	}
	f := crossFlash(b.card(ctx), b.image(card.VPI()))
	f.Request.Activation, f.Request.UnprovenFlash = safety.ActivationNone, "2.40.5032"
	if state, err := o.ApplyFirmware(ctx, f); err != nil || !state.Pending {
		t.Fatalf("burned, and not restarted: %v, %+v", explain(err), state)
	}
	_, answer := b.byHand(card.VPI())
	var did []string
	c := b.card(ctx)
	err := activation.Run(ctx, o.Session, c, safety.ActivationReboot, firmwareGoal(c, f.Image.Firmware, nil), &did)
	var refused *safety.RefusedError
	if !errors.As(err, &refused) || len(refused.Findings) != 1 || refused.Findings[0].Rule != finding.CardInUse {
		t.Errorf("beside a burn by hand: %v, %q", explain(err), did)
	}
	answer("n\n")
	b.clean()
}
