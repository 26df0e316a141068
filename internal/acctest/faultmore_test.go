package acctest

import (
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

func readFile(path string) ([]byte, error) { return os.ReadFile(path) }

// atFlash runs do before the n-th flash operation from now on.
func (r *faultRun) atFlash(n int, do func()) func(card.Op) error {
	return func(card.Op) error {
		if n--; n == 0 {
			do()
		}
		return nil
	}
}

// rebootCases have the restart go wrong that makes the new firmware run.
func rebootCases() []*faultCase {
	var all []*faultCase
	for _, x := range []struct {
		fault string
		spec  labsim.FaultSpec
		quick bool
		says  []string
		mend  func(*faultRun)
	}{
		{"Host does not come back", labsim.FaultSpec{RebootNever: true}, false,
			[]string{"is burned; the restart failed", "The flash is written and verified",
				"Run the same command again when the host answers"},
			func(r *faultRun) { r.m.Faults.Clear(); r.m.Start() }},
		{"Host does not restart although it says so", labsim.FaultSpec{RebootIgnored: true}, false,
			[]string{"The flash is written and verified"},
			func(*faultRun) {}},
		{"Host comes back with another host key", labsim.FaultSpec{NewKeyAtReboot: true}, true,
			[]string{"host key", "SHA256:"},
			func(*faultRun) {}},
		{"Card keeps its old firmware over the restart", labsim.FaultSpec{CardKeepsPower: true}, true,
			[]string{"Switch the machine off", "does not restart the host a second time"},
			(*faultRun).powerCycle},
		{"Card is gone after the restart", labsim.FaultSpec{CardGone: true}, true,
			[]string{"The flash is written and verified. After the restart the card is not on the bus", "Backup: "},
			(*faultRun).powerCycle},
	} {
		all = append(all, &faultCase{
			fault: x.fault, step: "restarting the host", point: 1, quick: x.quick, says: x.says, mend: x.mend,
			tuning: func(c *cards.Config) { c.Settle = 300 * time.Millisecond },
			hosts: func(w *Lab) any {
				entry := w.Host("intel9")
				entry["reboot"] = map[string]any{"allowed": true, "timeout": "4s"}
				entry["connect_timeout"] = "1s"
				return entry
			},
			arm: func(r *faultRun) { r.m.Faults.Set(x.spec) },
		})
	}
	return all
}

// powerCycle switches the machine off and on.
func (r *faultRun) powerCycle() {
	r.m.Faults.Clear()
	boots := r.m.Boots()
	r.m.PowerCut()
	if err := r.m.AwaitBoot(r.t.Context(), boots+1); err != nil {
		r.t.Fatal(err)
	}
}

// full makes a directory of the host's state full, from the next byte on.
func (r *faultRun) full(dir string) {
	dir = stateDir + "/" + dir
	if !r.m.FS.Exists(dir) {
		r.m.FS.PutDir(dir, 0o700, 0, 0)
	}
	_, used, err := r.m.FS.Space(dir)
	if err == nil {
		err = r.m.FS.SetQuota(dir, 0)
	}
	if err != nil {
		r.t.Errorf("%s (%d bytes): %v", dir, used, err)
	}
}

// room gives the directories their space back.
func (r *faultRun) room() {
	for _, dir := range []string{"/home/ops", stateDir + "/images", stateDir + "/backups", stateDir + "/jobs"} {
		if r.m.FS.Exists(dir) {
			if err := r.m.FS.SetQuota(dir, 1<<30); err != nil {
				r.t.Error(err)
			}
		}
	}
}

func diskCases() []*faultCase {
	space := []string{"o space left"}
	all := []*faultCase{
		{fault: "Disk of the host is full", step: "staging the image: home directory", quick: true, says: space,
			arm: func(r *faultRun) {
				if err := r.m.FS.SetQuota("/home/ops", 100_000); err != nil {
					r.t.Error(err)
				}
			}},
		{fault: "Disk of the host is full", step: "staging the image: its place", says: space,
			arm: func(r *faultRun) { r.full("images") }},
	}
	for i, m := range moments {
		if m.step != "taking the backup" {
			continue
		}
		all = append(all, &faultCase{fault: "Disk of the host is full", step: "taking the backup", point: i, quick: i == 1,
			says: []string{"The backup of the present firmware failed"},
			arm: func(r *faultRun) {
				r.m.Faults.Trap(m.holds, m.nth, labsim.ProgramFault{Do: func() { r.full("backups") }})
			}})
	}
	all = append(all, &faultCase{fault: "Disk of the host is full", step: "storing the job",
		says: []string{"Nothing was written to the card"}, arm: func(r *faultRun) { r.full("jobs") }})
	for n := 1; n <= 10; n++ {
		all = append(all, &faultCase{fault: "Disk of the host is full", step: "writing the journal", point: n, quick: n == 3,
			arm: func(r *faultRun) {
				r.m.Faults.Trap("sync "+stateDir+"/jobs/", n, labsim.ProgramFault{Do: func() { r.full("jobs") }})
			}})
	}
	for i, c := range all {
		c.mend = (*faultRun).room
		if c.step != "writing the journal" {
			c.point = i + 1
		}
	}
	return append(all, operatorDisk()...)
}

// fullFile is a file on a disk that takes so many bytes more, and then says that it
// is full; or one that cannot be synced.
type fullFile struct {
	cards.File
	left  int
	syncs bool
}

func (f *fullFile) Write(p []byte) (int, error) {
	if len(p) > f.left {
		n, _ := f.File.Write(p[:f.left])
		f.left = 0
		return n, syscall.ENOSPC
	}
	f.left -= len(p)
	return f.File.Write(p)
}

func (f *fullFile) Sync() error {
	if !f.syncs {
		return syscall.EIO
	}
	return f.File.Sync()
}

func operatorDisk() []*faultCase {
	var all []*faultCase
	for i, x := range []struct {
		step, name string
		left       int
		syncs      bool
		says       string
	}{
		{"storing the backup: firmware.bin", "firmware.bin", 0, true, "no space left"},
		{"storing the backup: firmware.bin", "firmware.bin", 1, true, "no space left"},
		{"storing the backup: firmware.bin", "firmware.bin", 300_000, true, "no space left"},
		{"storing the backup: card.json", "card.json", 100, true, "no space left"},
		{"bringing the backup to the disk (fsync)", "firmware.bin", 1 << 30, false, "input/output error"},
		{"bringing the backup to the disk (fsync)", "card.json", 1 << 30, false, "input/output error"},
	} {
		full := false
		c := &faultCase{fault: "Disk of the operator is full", step: x.step, point: i + 1, quick: i == 2,
			says: []string{"storing it on this machine failed", x.says},
			arm:  func(*faultRun) { full = true },
			mend: func(*faultRun) { full = false },
		}
		c.tuning = func(cfg *cards.Config) {
			cfg.Create = func(path string) (cards.File, error) {
				f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
				if err != nil || !full || !strings.HasSuffix(path, x.name) {
					return f, err
				}
				return &fullFile{File: f, left: x.left, syncs: x.syncs}, nil
			}
		}
		all = append(all, c)
	}
	return all
}

// elseCases are those that are of no other kind.
func elseCases() []*faultCase {
	all := truncatedCases()
	all = append(all, &faultCase{
		fault: "mstflint says that it is done and did nothing", step: "writing the flash", point: 1, quick: true, burns: 1,
		arm: func(r *faultRun) {
			r.m.Faults.Trap(" -allow_psid_change ", 1, labsim.ProgramFault{Exit: true})
		},
	}, &faultCase{
		fault: "mstflint says that it failed and did everything", step: "writing the flash", point: 1, quick: true,
		arm: func(r *faultRun) {
			r.m.Faults.Trap(" -allow_psid_change ", 1, labsim.ProgramFault{Lie: true, Status: 1})
		},
	}, &faultCase{
		fault: "mstflint does not end", step: "reading host and card", point: 1, says: []string{"did not end within"},
		hosts: func(w *Lab) any {
			entry := w.Host("intel9")
			entry["command_timeout"] = "3s"
			return entry
		},
		arm: func(r *faultRun) {
			r.m.Faults.Trap("mstflint -d 0000:01:00.0 q", 0, labsim.ProgramFault{Hang: true})
		},
		mend: (*faultRun).endTools,
	}, &faultCase{
		fault: "mstflint does not end", step: "writing the flash", point: 2, quick: true, burns: 1,
		says: []string{"it has not ended within", "Apply again", "is running in state burning"},
		// The burn of the next apply must end within it, also on a machine that has other work.
		tuning: func(c *cards.Config) { c.Deadline = 3 * time.Second },
		arm: func(r *faultRun) {
			r.m.Faults.Trap(" -allow_psid_change ", 1, labsim.ProgramFault{Hang: true})
		},
		mend: (*faultRun).endTools,
	}, &faultCase{
		fault: "Journal of another version", step: "planning", point: 1, quick: true, says: []string{"HO017",
			"journal is of version 2", "/settled"},
		arm: func(r *faultRun) { r.w.journalOfOtherVersion(r.host, "2") },
		mend: func(r *faultRun) {
			r.w.Run(r.host, "echo by hand >"+stateDir+"/jobs/20200101T000000Z-0000-01-00-0-ffff/settled")
		},
	}, &faultCase{
		fault: "Clock set back ten years", step: "of the host, before the burn", point: 1, quick: true,
		arm: func(r *faultRun) { r.m.Lab.Clock.Skip(-10 * 365 * 24 * time.Hour) },
	}, &faultCase{
		fault: "Clock set back ten years", step: "of the operator, between firmware and GUIDs", point: 1, guids: true,
		quick:  true,
		tuning: func(c *cards.Config) { c.Now = operatorClock() },
		arm:    func(*faultRun) {},
	}, &faultCase{
		fault: "Two applies at once", step: "from two working directories", point: 1, quick: true,
		whole: (*faultRun).together,
	})
	return all
}

// operatorClock goes back ten years with every process that asks it.
var operatorClock = func() func() time.Time {
	calls := 0
	return func() time.Time {
		calls++
		return time.Now().Add(-time.Duration(calls) * 10 * time.Hour)
	}
}

// endTools ends the programs that hang, as an operator does who has looked.
func (r *faultRun) endTools() {
	r.m.Faults.Clear()
	for _, p := range r.m.Processes() {
		if p.Name() == "mstflint" {
			p.Signal(syscall.SIGTERM)
		}
	}
	r.waitUntilSettled()
}

// truncatedCases cut what the tool prints, once in the collection of facts and for
// good in the job's own look at the card.
func truncatedCases() []*faultCase {
	var all []*faultCase
	for _, x := range []struct {
		step, holds string
		nth         int
		points      []int
	}{
		{"reading the flash, by byte", "mstflint -d 0000:01:00.0 q", 0, []int{0, 20, 80, 160, 240, 320, 400, 440}},
		{"reading the silicon's id, by byte", "mstflint -d 0000:01:00.0 hw query", 0, []int{0, 10, 30}},
		{"verifying the flash, by byte", "mstflint -d 0000:01:00.0 v", 0, []int{0, 40, 200, 600}},
	} {
		for i, n := range x.points {
			all = append(all, &faultCase{
				fault: "Output of mstflint is cut off", step: x.step, point: n, quick: i == 4,
				arm: func(r *faultRun) {
					r.m.Faults.Trap(x.holds, x.nth, labsim.ProgramFault{Truncate: true, Keep: n})
				},
				mend: func(*faultRun) {},
			})
		}
	}
	return all
}

// together applies the same configuration from two working directories at once.
func (r *faultRun) together() {
	t := r.t
	other := r.workspace()
	r.ws.Ended, other.Ended = func() {}, func() {}
	r.guard()
	r.m.Faults.Update(func(s *labsim.FaultSpec) { s.FlashSlow = time.Millisecond })
	plans := [2]*Plan{cleanPlan(t, r.ws, r.cfg), cleanPlan(t, other, r.cfg)}
	type end struct {
		diags Diags
		err   error
	}
	ends := make(chan end, 2)
	for i, ws := range []*Workspace{r.ws, other} {
		go func() {
			diags, err := ws.Apply(r.ctx, plans[i])
			ends <- end{diags, err}
		}()
	}
	var failed Diags
	for range plans {
		e := <-ends
		if e.err != nil {
			t.Fatal(e.err)
		}
		r.said = append(r.said, e.diags...)
		failed = append(failed, e.diags.Errors()...)
	}
	// Which of them it is depends on what the first one was doing just then.
	told := 0
	for _, why := range []string{"started by", "the facts that the plan was made on have changed",
		"while another program reads or writes the card"} {
		told += len(failed.Find(why))
	}
	if len(failed) > 0 && told == 0 {
		t.Errorf("the one that came second is not told why")
	}
	r.m.Faults.Clear()
	r.guard()
	r.waitUntilSettled()
	r.again()
	r.outcome = nextApply
}

var _ io.Writer = (*fullFile)(nil)
