package acctest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
)

var (
	allFaults    = flag.Bool("faults.all", false, "run every fault case instead of a representative part")
	updateFaults = flag.Bool("faults.update", false,
		"record the outcomes of the fault cases that run, and write the page of them")
)

// How a case ended. Anything else fails the test.
const (
	carriedOn = "carried on"    // the apply in which the fault struck ended right
	nextApply = "next apply"    // it ended with an error, and the next apply ended right
	mended    = "after mending" // the same, after somebody did what the message says
)

// stateDir is where the provider keeps things on a host.
const stateDir = "/var/lib/terraform-provider-infiniband"

// faultCase is one fault at one point of one step.
type faultCase struct {
	fault string // what strikes
	step  string // what was going on
	point int    // which of the points of the step
	quick bool   // part of the default run

	options Options
	backup  bool                // of a configuration that takes a backup and burns nothing
	guids   bool                // strike while the GUIDs are written; else while the firmware is
	arrange func(*faultRun)     // before the plan
	arm     func(*faultRun)     // after the plan
	mend    func(*faultRun)     // what the operator has to do by hand; nil: nothing
	says    []string            // what one message must hold before anything is mended
	burns   int                 // how often the flash may be written beyond once
	misses  bool                // the fault may strike nothing, because what it waits for depends on chance
	whole   func(*faultRun)     // replaces the run
	tuning  func(*cards.Config) // of the operator's machine
	hosts   func(w *Lab) any    // replaces the provider's entry of the host
}

// faultRun is a case under way.
type faultRun struct {
	*faultCase
	t       *testing.T
	w       *Lab
	ws      *Workspace
	cfg     Config
	host    string
	m       *labsim.Machine
	hw      *labsim.Card
	before  card.Firmware // in flash, when the fault struck
	ctx     context.Context
	cancel  context.CancelFunc
	said    Diags
	outcome string
	// comesBack says that the host is down for a moment, and back before anybody
	// looks at what became of it.
	comesBack bool

	mu       sync.Mutex
	unproven int // writes of flash that began without a proven backup
}

func TestFaults(t *testing.T) {
	t.Parallel()
	results := newFaultRecord()
	t.Run("cases", func(t *testing.T) {
		for _, c := range faultCases() {
			if !c.quick && !*allFaults {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%d", c.fault, c.step, c.point), func(t *testing.T) {
				t.Parallel()
				begin := time.Now()
				defer func() {
					if *allFaults { // the sweep takes long, and go test shows nothing before its end
						fmt.Fprintf(os.Stderr, "%.1fs failed=%t %s\n", time.Since(begin).Seconds(), t.Failed(), t.Name())
					}
				}()
				outcome := c.run(t)
				if !t.Failed() {
					results.add(c, outcome)
				}
			})
		}
	})
	if t.Failed() {
		return
	}
	results.compare(t)
}

func (c *faultCase) run(t *testing.T) string {
	if c.options.Hosts == nil {
		c.options.Hosts = boughtHost()
	}
	w := Start(t, c.options)
	host := labs.Intel9
	r := &faultRun{faultCase: c, t: t, w: w, host: host, m: w.Machine(host), hw: w.Card(host)}
	r.ws = r.workspace()
	r.cfg = w.cardOnly(host)[:3]
	if c.backup {
		r.cfg = w.backupOnly(host)
	}
	if c.guids {
		mustApply(t, r.ws, r.cfg)
		r.cfg = w.cardOnly(host)[:4]
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	defer r.cancel()
	if c.arrange != nil {
		c.arrange(r)
	}
	r.before = w.Flash(host)
	if c.whole != nil {
		c.whole(r)
	} else {
		r.strike()
	}
	r.checkEnd()
	if t.Failed() {
		t.Logf("outcome %q; on the way:\n%s", r.outcome, r.said)
	}
	return r.outcome
}

// workspace is an operator with the tuning of the case.
func (r *faultRun) workspace() *Workspace {
	tuning := provider.Tuning{Pace: pace, Lost: 30 * time.Second, Cards: r.tuning}
	config := r.w.Provider()
	if r.hosts != nil {
		config["hosts"] = map[string]any{r.host: r.hosts(r.w)}
	}
	ws := NewWorkspace(func() (tfprotov6.ProviderServer, error) {
		return provider.Server(provider.NewTuned("test", tuning)()), nil
	}, config)
	ws.Ended = r.w.DropAll
	return ws
}

// strike plans, lets the fault strike in the apply, and goes on until the card is
// as configured.
func (r *faultRun) strike() {
	t := r.t
	plan := cleanPlan(t, r.ws, r.cfg)
	boots := r.m.Boots()
	r.arm(r)
	r.guard()
	struck := r.m.Faults.Struck()
	diags, err := r.ws.Apply(r.ctx, plan)
	if err != nil {
		t.Fatal(err)
	}
	r.said = append(r.said, diags...)
	checkUntainted(t, r.ws)
	r.waitUntilSettled()
	r.waitForRestart(boots)
	r.bootable("after the fault")
	if !r.misses && r.faultCounts() && r.m.Faults.Struck() == struck {
		t.Fatalf("the fault did not strike; the apply said:\n%s", diags)
	}
	failed := diags.HasError()
	lasts := r.mend != nil && r.explained(failed)
	if r.mend != nil {
		r.mend(r)
	}
	r.m.Faults.Clear()
	r.w.up(r.host)
	r.guard()
	r.outcome = carriedOn
	if failed {
		r.outcome = nextApply
	}
	if lasts {
		r.outcome = mended
	}
	if failed || lasts {
		r.again()
	}
}

// faultCounts reports whether the lab counts the strikes of what was injected.
func (r *faultRun) faultCounts() bool {
	s := r.m.Faults.Get()
	return s.CutAtExec > 0 || s.PowerCutAtFlash > 0 || s.KillAtFlash > 0 || s.FlashVerifyFail > 0 || s.HangAtExec > 0
}

// explained holds that a fault that lasts is named by the apply or by the next
// plan, which changes nothing. It gives false if neither of them minds it.
func (r *faultRun) explained(failed bool) bool {
	if r.comesBack {
		r.w.up(r.host)
	}
	operations, boots := r.hw.Flash.Operations(), r.m.Boots()
	plan := mustPlan(r.t, r.ws, r.cfg)
	r.said = append(r.said, plan.Diags...)
	if now := r.hw.Flash.Operations(); now != operations || r.m.Boots() != boots && r.m.Up() {
		r.t.Errorf("the plan did %d flash operations, %d boots", now-operations, r.m.Boots()-boots)
	}
	if !failed && !plan.Diags.HasError() {
		return false
	}
	for _, text := range r.says {
		if len(r.said.Find(text)) == 0 {
			r.t.Errorf("nothing says %q", text)
		}
	}
	return true
}

// again is the next apply: it ends right.
func (r *faultRun) again() {
	operations := r.hw.Flash.Operations()
	plan := mustPlan(r.t, r.ws, r.cfg)
	r.said = append(r.said, plan.Diags...)
	if r.hw.Flash.Operations() != operations {
		r.t.Errorf("a plan wrote to the flash")
	}
	if plan.Diags.HasError() {
		r.t.Errorf("the plan after the fault fails")
		return
	}
	diags, err := r.ws.Apply(context.Background(), plan)
	if err != nil {
		r.t.Fatal(err)
	}
	r.said = append(r.said, diags...)
	if diags.HasError() {
		r.t.Errorf("the apply after the fault fails")
	}
	checkUntainted(r.t, r.ws)
}

// waitUntilSettled waits until the host does nothing of its own any more: a job that goes
// on is part of what the fault leaves behind only if it hangs.
func (r *faultRun) waitUntilSettled() {
	for range 400 {
		if !r.m.Up() || len(r.m.Processes()) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// waitForRestart waits for a restart that the apply has asked for: systemd does it two
// seconds later, and a plan that comes before it loses its connection. Some faults
// keep the host from restarting.
func (r *faultRun) waitForRestart(boots int) {
	if len(r.said.Find("The restart was asked for")) == 0 {
		return
	}
	for range 200 {
		if r.m.Boots() > boots {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// bootable holds that the card boots one of its two images, with the identity it
// had or the one it is to get.
func (r *faultRun) bootable(when string) {
	r.t.Helper()
	img, err := r.hw.Flash.Bootable()
	if err != nil {
		r.t.Errorf("%s the card boots nothing: %v", when, err)
		return
	}
	fw := img.Firmware()
	if fw.PSID != r.before.PSID && fw.PSID != card.PSIDVPI {
		r.t.Errorf("%s the card has PSID %s", when, fw.PSID)
	}
	node := NodeGUID(r.host)
	if fw.GUIDs != r.before.GUIDs && fw.GUIDs != [4]uint64{node, node + 1, node + 2, node + 3} ||
		fw.MACs != r.before.MACs {
		r.t.Errorf("%s the card has GUIDs %x and MACs %x", when, fw.GUIDs, fw.MACs)
	}
}

// guard looks for a proven backup whenever the flash is about to be written.
func (r *faultRun) guard() {
	look := labsim.ProgramFault{Do: func() {
		if err := r.checkBackup(); err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.unproven++
		}
	}}
	r.m.Faults.Trap(" -allow_psid_change ", 0, look)
	r.m.Faults.Trap(" sg", 0, look)
}

// checkBackup looks on the operator's disk for a backup of the card with the firmware
// and the identity that it had, and checks it with the lab's own reading.
func (r *faultRun) checkBackup() error {
	var found []string
	err := filepath.WalkDir(r.w.Backups, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "card.json" && !strings.Contains(path, "/.") {
			found = append(found, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		return err
	}
	why := []error{errors.New("no backup is like the card")}
	for _, dir := range found {
		bad := r.restores(dir)
		if bad == nil {
			return nil
		}
		why = append(why, bad)
	}
	return errors.Join(why...)
}

// restores burns a backup into a fresh card and compares it with what was there.
func (r *faultRun) restores(dir string) error {
	b, err := backup.NewStore(cards.New(cards.Config{BackupDir: r.w.Backups})).Open(dir)
	if err != nil {
		return err
	}
	data, err := readFile(b.File())
	if err != nil {
		return err
	}
	img, err := card.Parse(data)
	if err != nil {
		return err
	}
	if err = img.Verify(); err != nil {
		return err
	}
	fw := img.Firmware()
	if fw.PSID != r.before.PSID || fw.Version != r.before.Version || fw.GUIDs != r.before.GUIDs ||
		fw.MACs != r.before.MACs {
		return fmt.Errorf("%s holds %s %v with GUIDs %x and MACs %x", dir, fw.PSID, fw.Version, fw.GUIDs, fw.MACs)
	}
	record := b.Record.GUIDs
	if uint64(record.Node) != fw.GUIDs[0] || uint64(record.Port2) != fw.GUIDs[2] {
		return fmt.Errorf("card.json of %s records node GUID %s", dir, record.Node)
	}
	blank, err := card.New(card.Config{Chip: r.hw.Chip, Rev: r.hw.Rev, Image: card.VPI(), GUIDs: [4]uint64{1, 2, 3, 4},
		MACs: [2]uint64{2, 4}})
	if err != nil {
		return err
	}
	if err = blank.Write(data, func(int) error { return nil }); err != nil {
		return err
	}
	blank.Boot()
	if got := blank.Running(); got.PSID != fw.PSID || got.GUIDs != fw.GUIDs {
		return fmt.Errorf("a card with %s restored runs %s", dir, got.PSID)
	}
	return nil
}

// checkEnd holds what must be true in the end, whatever happened on the way.
func (r *faultRun) checkEnd() {
	t := r.t
	if t.Failed() {
		return
	}
	if r.backup {
		r.checkCardUntouched()
		return
	}
	flash, running := r.w.Flash(r.host), r.w.Card(r.host).Running()
	if flash.PSID != card.PSIDVPI || running.PSID != card.PSIDVPI || flash.Version != running.Version {
		t.Errorf("in the end: in flash %s %v, running %s %v", flash.PSID, flash.Version, running.PSID, running.Version)
	}
	want := r.before.GUIDs
	if node := NodeGUID(r.host); r.guids {
		want = [4]uint64{node, node + 1, node + 2, node + 3}
	}
	if flash.GUIDs != want || running.GUIDs != want || flash.MACs != r.before.MACs {
		t.Errorf("in the end: GUIDs in flash %x, running %x, expected %x; MACs %x", flash.GUIDs, running.GUIDs, want,
			flash.MACs)
	}
	if r.unproven > 0 {
		t.Errorf("%d times the flash was written without a proven backup", r.unproven)
	}
	if err := r.checkBackup(); err != nil {
		t.Errorf("in the end: %v", err)
	}
	images, guids := burns(r.w, r.host)
	if written := images + guids; r.guids && written > 2+r.burns || !r.guids && written > 1+r.burns {
		t.Errorf("the flash was written %d times", written)
	}
	emptyPlan(t, r.ws, r.cfg)
	checkUntainted(t, r.ws)
}

// sortedKeys gives the keys of the cells in the order of the cases.
func sortedKeys(points []int) []int {
	points = slices.Clone(points)
	slices.Sort(points)
	return slices.Compact(points)
}
