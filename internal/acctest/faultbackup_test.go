package acctest

import (
	"path/filepath"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// withoutBurn is the step of the cases of infiniband_firmware_backup, which is what
// a careful user applies first: nothing may ever reach the flash.
const withoutBurn = "taking a backup without a burn"

// backupOnly is a configuration that takes a backup and burns nothing.
func (w *Lab) backupOnly(host string) Config {
	first := w.cardOnly(host)[0]
	return Config{first, {Type: "infiniband_firmware_backup", Name: host,
		Attrs: map[string]any{"card_id": To(first.Address(), "id")}}}
}

// backupCases let the same go wrong while only a backup is taken.
func backupCases() []*faultCase {
	var all []*faultCase
	points := map[string]int{}
	add := func(c faultCase) {
		points[c.fault]++
		c.step, c.point, c.backup = withoutBurn, points[c.fault], true
		all = append(all, &c)
	}
	for _, f := range []struct {
		name string
		when labsim.CutWhen
	}{
		{"Connection lost before a command starts", labsim.CutBefore},
		{"Connection lost while a command runs", labsim.CutDuring},
		{answerLost, labsim.CutAfter},
	} {
		for _, c := range commands {
			if c.step != "taking the backup" {
				continue
			}
			for n := 1; n <= c.times; n++ {
				// Whether the answer was on its way already when the line broke is chance.
				quick := c.holds == " ri " && n == 2 && f.when != labsim.CutAfter
				add(faultCase{fault: f.name, quick: quick, arm: func(r *faultRun) {
					r.m.Faults.Set(labsim.FaultSpec{ExecHolds: c.holds, CutAtExec: n, CutWhen: f.when})
				}})
			}
		}
	}
	for i, m := range moments {
		if m.step != "taking the backup" {
			continue
		}
		trap := func(do func(*faultRun)) func(*faultRun) {
			return func(r *faultRun) {
				r.m.Faults.Trap(m.holds, m.nth, labsim.ProgramFault{Do: func() { do(r) }})
			}
		}
		add(faultCase{fault: "Provider killed", quick: i == 1, arm: trap((*faultRun).kill)})
		add(faultCase{fault: "Power cut of the host", quick: i == 0, arm: trap(func(r *faultRun) { r.m.PowerCut() })})
		add(faultCase{fault: "Disk of the host is full", arm: trap(func(r *faultRun) { r.full("backups") }),
			mend: (*faultRun).room})
		add(faultCase{fault: "sudo withdrawn", says: []string{"sudo"}, mend: func(*faultRun) {}, arm: trap(func(r *faultRun) {
			r.m.Faults.Update(func(s *labsim.FaultSpec) { s.SudoRefused = true })
		})})
	}
	for _, c := range operatorDisk() {
		full := *c
		full.quick = false
		add(full)
	}
	add(faultCase{fault: "mstflint crashes (segmentation fault)", mend: func(*faultRun) {}, arm: func(r *faultRun) {
		r.m.Faults.Trap(" ri ", 0, labsim.ProgramFault{Signal: syscall.SIGSEGV})
	}})
	add(faultCase{fault: "mstflint says that it is done and did nothing", mend: func(*faultRun) {},
		arm: func(r *faultRun) {
			r.m.Faults.Trap(" ri ", 0, labsim.ProgramFault{Exit: true})
		}})
	return all
}

// checkCardUntouched holds, of a case that only takes a backup, that the card is what it was.
func (r *faultRun) checkCardUntouched() {
	if flash := r.w.Flash(r.host); flash != r.before || r.hw.Flash.Operations() != 0 {
		r.t.Errorf("in the end: %d flash operations, and in flash %+v, before %+v", r.hw.Flash.Operations(), flash, r.before)
	}
	if r.unproven > 0 {
		r.t.Error("something wrote to the flash")
	}
	if err := r.checkBackup(); err != nil {
		r.t.Errorf("in the end: %v", err)
	}
	// What was begun and not finished is no backup, and is taken away.
	if left, err := filepath.Glob(filepath.Join(r.w.Backups, "*", "*", ".*")); err != nil || len(left) > 0 {
		r.t.Errorf("left behind: %v %v", left, err)
	}
	emptyPlan(r.t, r.ws, r.cfg)
	checkUntainted(r.t, r.ws)
}
