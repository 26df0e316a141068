package hca

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/truenas"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// trouble is what becomes of a host between a verdict and the write.
type trouble struct {
	name, code string
	happens    func(*bench)
	restarts   bool // it forbids a restart, too
}

func troubles() []trouble {
	return []trouble{
		{"power is lost", "HO015", func(b *bench) { truenas.SetUPS(b.machine, "OB DISCHRG") }, true},
		{"a program of the job is removed", "HO010", func(b *bench) { b.run("mv " + inhibit + " " + inhibit + ".away") },
			false},
		{"storage moves to the card", "HO012", func(b *bench) {
			b.run("ip addr add 198.51.100.2/24 dev " + iface + "; ip link set dev " + iface + " up")
			b.machine.FS.Put("/proc/mounts",
				"/dev/sda2 / ext4 rw 0 0\nnas:/tank /mnt/tank nfs4 rw,vers=4.2,addr=198.51.100.9 0 0\n", 0o444)
		}, true},
	}
}

// TestApply_decides_on_facts_of_the_moment has the host change after it was looked
// at: before the apply begins, and while the backup is taken. Nothing is written.
func TestApply_decides_on_facts_of_the_moment(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	img := b.image(card.VPI())
	for _, x := range troubles() {
		for _, during := range []string{"", "Backing up"} {
			b.fresh()
			o, c := b.ops("alice"), b.card(ctx)
			f := crossFlash(c, img)
			if a, err := o.AssessFirmware(ctx, f); err != nil || a.Verdict.Blocked() {
				t.Fatalf("the card is refused before anything happens: %v, %+v", err, a.Verdict.Blockers())
			}
			if during == "" {
				x.happens(b)
			}
			o.Progress = b.on(during, func() { x.happens(b) })
			operations := b.device().Flash.Operations()
			_, err := o.ApplyFirmware(ctx, f)
			refusedFor(t, x.name+" "+during+": firmware", err, x.code, "The change was not made")
			_, err = o.ApplyGUIDs(ctx, GUIDs{Card: c, Lab: aloneInFabric(), Request: someGUIDs(t)})
			refusedFor(t, x.name+" "+during+": GUIDs", err, x.code, "The change was not made")
			if n := b.device().Flash.Operations() - operations; n != 0 {
				t.Errorf("%s %s: %d operations on the flash", x.name, during, n)
			}
		}
	}
}

// TestApply_refuses_a_restart_on_facts_of_the_moment has the host change after the
// burn, and before an apply that has nothing to do but the restart.
func TestApply_refuses_a_restart_on_facts_of_the_moment(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	img := b.image(card.VPI())
	boots := b.machine.Boots()
	for i, x := range troubles() {
		if !x.restarts {
			continue
		}
		b.fresh()
		o, c := b.ops("alice"), b.card(ctx)
		f := crossFlash(c, img)
		if i == 0 { // the burn itself; afterwards only the restart is left
			b.inMidBurn(func() { x.happens(b) })
		} else {
			if _, err := o.AssessFirmware(ctx, f); err != nil {
				t.Fatal(explain(err))
			}
			x.happens(b)
		}
		_, err := o.ApplyFirmware(ctx, f)
		if i == 0 {
			refusedFor(t, x.name, err, x.code, "The flash is written and verified; the host was not restarted")
		} else {
			refusedFor(t, x.name, err, x.code, "The change was not made")
		}
	}
	if flash, running := b.flash(); flash.PSID != card.PSIDVPI || running.PSID != card.PSIDEN ||
		b.machine.Boots() != boots {
		t.Errorf("flash %s, running %s, %d boots", flash.PSID, running.PSID, b.machine.Boots()-boots)
	}
}

// TestApply_leaves_the_card_to_the_apply_that_wrote_it has another apply write the card while the
// backup is taken. Whoever comes second writes nothing, whether the first has read the card back
// or not, and no reason mixes facts from before that write with facts from after it.
func TestApply_leaves_the_card_to_the_apply_that_wrote_it(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*bench, *Ops, context.Context, cards.Card, safety.ImageFacts){
		"burned and read back": func(b *bench, bob *Ops, ctx context.Context, c cards.Card, img safety.ImageFacts) {
			f := crossFlash(c, img)
			f.Request.Activation = safety.ActivationNone
			if _, err := bob.ApplyFirmware(ctx, f); err != nil {
				b.t.Error(explain(err))
			}
		},
		"other GUIDs, not read back yet": func(b *bench, bob *Ops, ctx context.Context, c cards.Card, _ safety.ImageFacts) {
			killed, kill := context.WithCancel(ctx)
			defer kill()
			b.inMidBurn(kill)
			if _, err := bob.ApplyGUIDs(killed, GUIDs{Card: c, Lab: aloneInFabric(), Request: someGUIDs(b.t)}); err == nil {
				b.t.Error("the killed run says nothing")
			}
			b.awaitState(" burned ")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			b := newBench(t, labs.Intel9, time.Millisecond)
			img := b.image(card.VPI())
			var operations int
			alice, c := b.ops("alice"), b.card(ctx)
			alice.Progress = b.on("Backing up", func() {
				write(b, b.ops("bob"), ctx, b.card(ctx), img)
				operations = b.device().Flash.Operations()
			})
			_, err := alice.ApplyFirmware(ctx, crossFlash(c, img))
			refusedFor(t, name, err, "HO019", "The change was not made")
			var refused *safety.RefusedError
			if errors.As(err, &refused) && len(refused.Blockers()) != 1 {
				t.Errorf("other reasons beside it: %v", refused.Blockers())
			}
			if n := b.device().Flash.Operations() - operations; n != 0 {
				t.Errorf("%d operations on the flash after those of the other apply", n)
			}
			// What was read in between is no backup of the card that the first look has seen.
			if kept, err := filepath.Glob(filepath.Join(b.backups, "*", "*", "*", "card.json")); err != nil || len(kept) != 1 {
				t.Errorf("backups: %q, %v; want that of the other apply", kept, err)
			}
			b.clean()
		})
	}
}

func refusedFor(t *testing.T, name string, err error, code, left string) {
	t.Helper()
	var refused *safety.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("%s: %v", name, explain(err))
		return
	}
	for _, f := range refused.Blockers() {
		if f.Rule.Code == code && strings.Contains(f.Evidence, left) {
			return
		}
	}
	t.Errorf("%s: refused without %s and %q: %v", name, code, left, refused.Blockers())
}

func someGUIDs(t *testing.T) safety.GUIDRequest {
	t.Helper()
	base := ib.MustParseMAC("e4:1d:2d:e4:4f:00")
	req, err := GUIDSpec{BaseMAC: &base}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	req.Activation, req.Change = safety.ActivationReboot, fromFactory(req.Want)
	return req
}

// fromFactory is the consent to replace the MACs that the cards of the lab came with.
func fromFactory(want ib.GUIDSet) (c safety.GUIDChange) {
	for _, mac := range []ib.MAC{0xe41d2de44ed0, 0xe41d2de44ee0} {
		c.From = append(c.From, mac.String(), (mac + 1).String())
		c.To = append(c.To, want.MAC1.String(), want.MAC2.String())
	}
	return c
}

// aloneInFabric is a lab in whose fabric is nobody else.
func aloneInFabric() clash.Facts {
	return clash.Facts{Fabric: fact.Known[[]clash.Node](nil)}
}

// iface is an interface of the card while it is Ethernet.
const iface = "enp1s0"

const inhibit = "/usr/bin/systemd-inhibit"

// run runs a command on the host as root, and gives what it prints.
func (b *bench) run(command string) string {
	b.t.Helper()
	var out bytes.Buffer
	if status := b.server.Run(context.Background(), "root", command, strings.NewReader(""), &out, &out); status != 0 {
		b.t.Fatalf("%s ended with %d:\n%s", command, status, out.String())
	}
	return out.String()
}

// fresh undoes every trouble.
func (b *bench) fresh() {
	b.power("OL")
	b.run("if [ -e " + inhibit + ".away ]; then mv " + inhibit + ".away " + inhibit + "; fi")
	b.machine.FS.Put("/proc/mounts", "/dev/sda2 / ext4 rw 0 0\n", 0o444)
}

// on runs do once when progress is told that holds text.
func (b *bench) on(text string, do func()) func(context.Context, string) {
	done := text == ""
	return func(_ context.Context, m string) {
		b.t.Log(m)
		if !done && strings.Contains(m, text) {
			done = true
			do()
		}
	}
}

// TestOvertaken_names_what_differs has a card or a host that changed while the backup
// was taken in a way that forbids nothing. What has no value is not told.
func TestOvertaken_names_what_differs(t *testing.T) {
	flash := func(psid, fw string) ib.Firmware {
		return ib.Firmware{PSID: ib.PSID(psid), FW: ib.MustParseFWVersion(fw)}
	}
	en, vpi := flash("MT_9000000001", "2.40.5032"), flash("MT_9000000002", "2.42.5000")
	burn := safety.Verdict{
		Action: safety.ActionBurn, Activation: safety.ActivationReboot, From: en, To: vpi,
		Answers: []safety.Question{safety.QuestionPSID},
	}
	other, later := burn, burn
	other.From = flash("MT_9000000003", "2.36.5000")
	later.Answers = append(later.Answers, safety.QuestionVersion)
	job := func(running bool) *inventory.Snapshot {
		return &inventory.Snapshot{Jobs: []inventory.Job{{
			ID: "j7", Kind: journal.Burn, PCI: ib.MustParsePCIAddress("0000:01:00.0"), Operator: "bob",
			Running: fact.Known(running),
			States:  []inventory.JobState{{Name: "burning", Time: "2026-01-02T03:04:05Z"}},
		}}}
	}
	const who = "Job j7 (burn of card 0000:01:00.0), started by bob at 2026-01-02T03:04:05Z"
	for name, x := range map[string]struct {
		final safety.Verdict
		now   *inventory.Snapshot
		want  string
	}{
		"done by somebody": {safety.Verdict{Action: safety.ActionNone, Activation: safety.ActivationNone},
			&inventory.Snapshot{},
			"HO019|The card already has what the configuration asks for. Nothing is left to write."},
		"burned by somebody": {other, &inventory.Snapshot{},
			"HO019|The flash held MT_9000000001 2.40.5032, and now holds MT_9000000003 2.36.5000."},
		"another consent": {later, &inventory.Snapshot{},
			"HO019|mstflint would now ask for a consent that was not needed before: version is not newer."},
		"job that runs": {safety.Verdict{Action: safety.ActionWait}, job(true),
			"HO004|" + who + ", is changing this card. It belongs to another apply, which began while the backup was taken."},
		"job that has ended": {safety.Verdict{Action: safety.ActionNone}, job(false),
			"HO019|The card already has what the configuration asks for. Nothing is left to write. " + who +
				", has written the card meanwhile. It belongs to another apply."},
	} {
		err := cards.RefuseOvertaken(cards.Card{PCI: ib.MustParsePCIAddress("0000:01:00.0")},
			&cards.Look{Snap: &inventory.Snapshot{}}, &cards.Look{Snap: x.now}, "burn firmware on card a", burn, x.final)
		var refused *safety.RefusedError
		if !errors.As(err, &refused) || len(refused.Blockers()) != 1 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := refused.Blockers()[0]
		evidence, _, _ := strings.Cut(found.Evidence, "\n\n")
		if got := found.Rule.Code + "|" + strings.TrimPrefix(evidence,
			"While the backup was taken, the card or its host changed. "); got != x.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, x.want)
		}
	}
}

// power says what the power supply of the host reports.
func (b *bench) power(status string) { truenas.SetUPS(b.machine, status) }

// TestApplyGUIDs_without_a_driver has nothing show what the card uses: that is no
// error, and no reason to restart for values that are in flash already.
func TestApplyGUIDs_without_a_driver(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	c, req := b.card(ctx), someGUIDs(t)
	req.Activation, req.UnprovenFlash = safety.ActivationNone, "2.40.5032"
	b.run("modprobe -r mlx4_ib; modprobe -r mlx4_en; modprobe -r mlx4_core")
	if state, err := b.ops("alice").ApplyGUIDs(ctx, GUIDs{Card: c, Lab: aloneInFabric(), Request: req}); err != nil ||
		state.Shown || state.Pending {
		t.Fatalf("written: %v, %+v", explain(err), state)
	}
	boots := b.machine.Boots()
	req.Activation = safety.ActivationReboot
	if state, err := b.ops("alice").ApplyGUIDs(ctx, GUIDs{Card: c, Lab: aloneInFabric(), Request: req}); err != nil ||
		state.Shown || b.machine.Boots() != boots {
		t.Errorf("again: %v, %+v, %d restarts", explain(err), state, b.machine.Boots()-boots)
	}
	b.clean()
}

// TestApplyFirmware_does_no_more_than_was_announced has a plan that showed less than the apply
// would do. Nothing is written, and what was announced is done.
func TestApplyFirmware_does_no_more_than_was_announced(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	f := crossFlash(b.card(ctx), b.image(card.VPI()))
	o, from := b.ops("alice"), card.PSIDEN+" 2.40.5032"
	operations := b.device().Flash.Operations()
	for says, planned := range map[string]Announced{
		"to write nothing, because the flash held " + card.PSIDVPI + " 2.42.5000": {Restarts: true},
		"to change MT_9000000001 1.0.0 -> " + card.PSIDVPI + " 2.42.5000":         {Burns: true, Restarts: true, From: "MT_9000000001 1.0.0"},
		"not to restart the host": {Burns: true, From: from},
	} {
		f.Planned = &planned
		_, err := o.ApplyFirmware(ctx, f)
		refusedFor(t, says, err, "HO019", says)
	}
	if n := b.device().Flash.Operations() - operations; n != 0 {
		t.Errorf("%d operations on the flash", n)
	}
	f.Planned = &Announced{Burns: true, Restarts: true, From: from}
	if _, err := o.ApplyFirmware(ctx, f); err != nil {
		t.Error(explain(err))
	}
}
