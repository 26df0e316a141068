package hca

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/linktype"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// abandonedBench is a bench on which a run was killed while it watched its burn, which
// has ended since.
func abandonedBench(t *testing.T, changes ...func(*labsim.CardConfig)) (*bench, safety.ImageFacts) {
	t.Helper()
	b := newBench(t, labs.Intel9, time.Millisecond)
	if len(changes) > 0 {
		b.exchange(changes...)
	}
	img := b.image(card.VPI())
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	o := b.ops("alice")
	b.inMidBurn(kill)
	if _, err := o.ApplyFirmware(ctx, crossFlash(b.card(ctx), img)); err == nil {
		t.Fatal("the killed run says nothing")
	}
	b.awaitState(" burned ")
	return b, img
}

// awaitState waits until the journal of a job has a state.
func (b *bench) awaitState(state string) {
	b.t.Helper()
	for range 2000 {
		if strings.Contains(b.states(), state) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.t.Fatalf("no job comes to the state%s", state)
}

// states are the lines of all jobs' journals, settled how the jobs were settled.
func (b *bench) states() string { return b.run("cat " + inventory.StateDir + "/jobs/*/states") }
func (b *bench) settlements() string {
	return b.run("cat " + inventory.StateDir + "/jobs/*/settled 2>/dev/null || true")
}

// program sets the identity of the card by hand, and gives it.
func (b *bench) program(guids [4]uint64, macs [2]uint64) ([4]uint64, [2]uint64) {
	b.t.Helper()
	b.run(fmt.Sprintf("mstflint -y -d %s -guids %x %x %x %x -macs %x %x sg", b.pci, guids[0], guids[1], guids[2], guids[3],
		macs[0], macs[1]))
	return guids, macs
}

// TestAdopt_leaves_what_was_set_by_hand has an operator set GUIDs after a run was
// killed. No apply of any kind puts the old ones back, neither one that is refused.
func TestAdopt_leaves_what_was_set_by_hand(t *testing.T) {
	ctx := context.Background()
	b, img := abandonedBench(t)
	const node = 0xe41d2d0300770000
	guids, macs := b.program([4]uint64{node, node + 1, node + 2, node + 3}, [2]uint64{0xe41d2d770000, 0xe41d2d770001})
	operations := b.device().Flash.Operations()
	c := b.card(ctx)
	refused := crossFlash(c, b.image(card.OldVPI()))
	if _, err := b.ops("bob").ApplyFirmware(ctx, refused); err == nil {
		t.Error("the older image is not refused")
	}
	if n := b.device().Flash.Operations(); n != operations {
		t.Errorf("an apply that is refused did %d operations on the flash", n-operations)
	}
	for name, apply := range map[string]func() ([]string, error){
		"link types": func() ([]string, error) {
			s, err := linktype.Apply(ctx, b.ops("bob").Session,
				linktype.Ask{Card: c, Request: safety.LinkTypeRequest{Ports: map[int]ib.LinkType{1: ib.LinkTypeETH,
					2: ib.LinkTypeETH}}})
			return s.Did, err
		},
		"firmware": func() ([]string, error) {
			s, err := b.ops("bob").ApplyFirmware(ctx, crossFlash(c, img))
			return s.Did, err
		},
	} {
		if did, err := apply(); err != nil {
			t.Errorf("%s: %v, did %q", name, explain(err), did)
		}
		if flash, _ := b.flash(); flash.GUIDs != guids || flash.MACs != macs {
			t.Errorf("%s: the card has %x %x", name, flash.GUIDs, flash.MACs)
		}
	}
	if !strings.Contains(b.settlements(), "set since") {
		t.Errorf("the settled job does not say what was found: %q", b.settlements())
	}
	b.clean()
}

// TestAdopt_announces_what_a_burn_took has an abandoned burn leave a card without its
// MACs. The plan says that they are written back; only firmware does so, with a
// backup, and a verdict that may refuse it.
func TestAdopt_announces_what_a_burn_took(t *testing.T) {
	ctx := context.Background()
	b, img := abandonedBench(t)
	before := b.macs()
	ones := ^uint64(0)
	b.program([4]uint64{ones, ones, ones, ones}, [2]uint64{0x0002c9000001, 0x0002c9000002})
	c, o := b.card(ctx), b.ops("bob")
	plan, err := o.AssessFirmware(ctx, crossFlash(c, img))
	if err != nil || len(plan.Jobs) != 1 || !strings.Contains(plan.Jobs[0].String(), "Planned write: MACs "+before) {
		t.Fatalf("plan: %v, jobs %v", err, plan.Jobs)
	}
	operations := b.device().Flash.Operations()
	if _, err = linktype.Apply(ctx, o.Session,
		linktype.Ask{Card: c, Request: safety.LinkTypeRequest{Ports: map[int]ib.LinkType{1: ib.LinkTypeETH,
			2: ib.LinkTypeETH}}}); err != nil {
		t.Error(explain(err))
	}
	b.power("OB")
	_, err = o.ApplyFirmware(ctx, crossFlash(c, img))
	refusedFor(t, "on battery", err, "HO015", "The change was not made")
	if n := b.device().Flash.Operations(); n != operations {
		t.Errorf("%d operations on the flash before the write that was announced", n-operations)
	}
	b.power("OL")
	state, err := o.ApplyFirmware(ctx, crossFlash(c, img))
	if err != nil {
		t.Fatal(explain(err))
	}
	if b.macs() != before {
		t.Errorf("the card has MACs %s instead of %s; did %q", b.macs(), before, state.Did)
	}
	if plan, err = o.AssessFirmware(ctx, crossFlash(c, img)); err != nil || len(plan.Jobs) != 0 {
		t.Errorf("still to settle: %v, %v", plan.Jobs, err)
	}
	b.clean()
}

func (b *bench) macs() string {
	flash, _ := b.flash()
	return ib.MAC(flash.MACs[0]).String() + " " + ib.MAC(flash.MACs[1]).String()
}

// closePending begins an apply that has nothing to write.
func closePending(ctx context.Context, o *Ops, c cards.Card) (did []string, err error) {
	_, err = job.Begin(ctx, o.Session, c, "write nothing", &did,
		func(context.Context) (a cards.Assessment, err error) { return a, nil })
	return did, err
}

// TestAdopt_closes_nothing_in_observe_mode holds that no plan of such a host has an update for a job
// that no apply closes.
func TestAdopt_closes_nothing_in_observe_mode(t *testing.T) {
	ctx := context.Background()
	b, img := abandonedBench(t)
	for _, observe := range []bool{false, true} {
		b.observe = observe
		plan, err := b.ops("bob").AssessFirmware(ctx, crossFlash(b.card(ctx), img))
		if err != nil || len(plan.Jobs) != 1 || plan.ClosesJobs() == observe {
			t.Errorf("observe %t: closes %t of %v, %v", observe, plan.ClosesJobs(), plan.Jobs, err)
		}
	}
	b.clean()
}

// TestAdopt_leaves_a_watched_job_to_its_owner has a second apply begin while the first
// watches its burn.
func TestAdopt_leaves_a_watched_job_to_its_owner(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, labs.Intel9, time.Millisecond)
	img := b.image(card.VPI())
	first, second := b.ops("alice"), b.ops("bob")
	second.Owner.Process = "another process"
	burning := make(chan struct{})
	b.inMidBurn(func() { close(burning) })
	done := make(chan error, 1)
	go func() {
		_, err := first.ApplyFirmware(ctx, crossFlash(b.card(ctx), img))
		done <- err
	}()
	<-burning
	second.Alive = func(cards.Owner) bool { return true }
	did, err := closePending(ctx, second, b.card(ctx))
	if err != nil || len(did) != 0 {
		t.Errorf("the second apply did %q, %v", did, err)
	}
	if strings.TrimSpace(b.settlements()) != journal.Verified {
		t.Errorf("the second apply went on before the first had settled its job: %q", b.settlements())
	}
	if err := <-done; err != nil {
		t.Error(explain(err))
	}
}

// TestAdopt_lets_another_machine_read_back has an apply of another machine begin when a job has just
// ended, and its own apply has yet to read the card.
func TestAdopt_lets_another_machine_read_back(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b, _ := abandonedBench(t)
	bob := b.ops("bob")
	bob.Owner.Machine, bob.Settle = "another machine", time.Minute // the clock of the lab runs ahead
	time.AfterFunc(500*time.Millisecond, func() {
		b.run("cd " + inventory.StateDir + "/jobs/*-*/ && echo verified by alice >settled")
	})
	did, err := closePending(ctx, bob, b.card(ctx))
	if err != nil || len(did) != 0 || strings.TrimSpace(b.settlements()) != "verified by alice" {
		t.Errorf("did %q, settled %q, %v", did, b.settlements(), err)
	}
	b.clean()
}

// TestAdopt_follows_a_card_that_has_moved has the card change its slot before anybody gave
// it back what the burn took. Its job goes with it; the card that comes into its slot has
// nothing to do with that job.
func TestAdopt_follows_a_card_that_has_moved(t *testing.T) {
	ctx := context.Background()
	b, img := abandonedBench(t)
	before, left := b.macs(), b.pci
	ones := ^uint64(0)
	b.program([4]uint64{ones, ones, ones, ones}, [2]uint64{0x0002c9000001, 0x0002c9000002})
	other, err := labsim.NewSpare(labs.Twin(b.device().Config, 900))
	if err != nil {
		t.Fatal(err)
	}
	if err = b.machine.Rebuild(func() error {
		return errors.Join(b.machine.Renumber(1), b.machine.PutIn(other, left.String()))
	}); err != nil {
		t.Fatal(err)
	}
	plan, err := b.ops("bob").AssessFirmware(ctx, crossFlash(b.card(ctx), img))
	if err != nil || len(plan.Jobs) != 0 {
		t.Errorf("the card in the old slot has the jobs %v: %v", plan.Jobs, err)
	}
	did, err := closePending(ctx, b.ops("bob"), b.card(ctx))
	if err != nil || len(did) > 0 || b.settlements() != "" {
		t.Errorf("an apply to that card did %q and settled %q: %v", did, b.settlements(), err)
	}
	b.pci = ib.MustParsePCIAddress("0000:02:00.0")
	plan, err = b.ops("bob").AssessFirmware(ctx, crossFlash(b.card(ctx), img))
	if err != nil || len(plan.Jobs) != 1 || !strings.Contains(plan.Jobs[0].String(), "Planned write: MACs "+before) {
		t.Fatalf("plan: %v, jobs %v", err, plan.Jobs)
	}
	state, err := b.ops("bob").ApplyFirmware(ctx, crossFlash(b.card(ctx), img))
	if err != nil {
		t.Fatal(explain(err))
	}
	if b.macs() != before {
		t.Errorf("the card has MACs %s instead of %s; did %q", b.macs(), before, state.Did)
	}
	if b.settlements() == "" {
		t.Error("the job is still open")
	}
	b.clean()
}

// TestAdopt_settles_the_job_of_another_card has a job whose card shows other addresses now,
// and names no serial number: the job says nothing about the card that is there.
func TestAdopt_settles_the_job_of_another_card(t *testing.T) {
	ctx := context.Background()
	b, _ := abandonedBench(t)
	var request strings.Builder
	for line := range strings.Lines(b.run("cat " + inventory.StateDir + "/jobs/*-*/request")) {
		switch key, _, _ := strings.Cut(line, "="); {
		case key == "card_identity":
			request.WriteString(key + "=MAC e4:1d:2d:77:00:00\n")
		case !strings.HasSuffix(key, "_guids") && !strings.HasSuffix(key, "_macs"):
			request.WriteString(line)
		}
	}
	b.run("cd " + inventory.StateDir + "/jobs/*-*/ && cat >request <<'END'\n" + request.String() + "END\n")
	did, err := closePending(ctx, b.ops("bob"), b.card(ctx))
	if err != nil || !strings.Contains(strings.Join(did, " "), "another card") ||
		!strings.Contains(b.settlements(), "another card") {
		t.Errorf("did %q, settled %q, %v", did, b.settlements(), err)
	}
	b.clean()
}

// TestConclude_leaves_what_was_set_meanwhile has somebody set GUIDs of a card that had
// none, between the end of its burn and the look of the run that watches it.
func TestConclude_leaves_what_was_set_meanwhile(t *testing.T) {
	ctx := context.Background()
	b, _ := abandonedBench(t)
	const node = 0xe41d2d0300770000
	guids, _ := b.program([4]uint64{node, node + 1, node + 2, node + 3}, [2]uint64{0xe41d2d770000, 0xe41d2d770001})
	o, c := b.ops("alice"), b.card(ctx)
	l, err := c.Look(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = job.New(o.Session, c, l.Jobs[0].Entry).Finish(ctx)
	if err == nil || !strings.Contains(explain(err), "They are left as they are") {
		t.Errorf("the run says %v", explain(err))
	}
	if flash, _ := b.flash(); flash.GUIDs != guids {
		t.Errorf("the card has %x", flash.GUIDs)
	}
	b.clean()
}
