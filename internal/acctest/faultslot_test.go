package acctest

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// slotCases have something else be at the card's address when the power comes back.
func slotCases() []*faultCase {
	var all []*faultCase
	for _, x := range []struct {
		fault  string
		says   []string
		change func(*faultRun) (mend func(*faultRun))
		quick  []int
	}{
		{"Another card in the slot", []string{"FW080", "MT1234X00900"}, (*faultRun).exchange, []int{4, 7}},
		{"Cards are renumbered", []string{"0000:02:00.0"}, (*faultRun).renumber, []int{5}},
	} {
		for i, at := range faultPoints() {
			c := &faultCase{fault: x.fault, step: at.step, point: at.point, says: x.says, burns: 1}
			for _, q := range x.quick {
				c.quick = c.quick || q == i
			}
			var mend func(*faultRun)
			c.arm = func(r *faultRun) { at.arm(r, func() { mend = x.change(r) }) }
			c.mend = func(r *faultRun) {
				if mend == nil {
					r.t.Fatal("the slot was not changed")
				}
				mend(r)
			}
			all = append(all, c)
		}
	}
	return all
}

// faultPoint is a point of an apply at which something may happen.
type faultPoint struct {
	step  string
	point int
	arm   func(r *faultRun, do func())
}

// faultPoints are the moments of an apply, and two in the midst of the burn.
func faultPoints() []faultPoint {
	var all []faultPoint
	points := map[string]int{}
	for _, m := range moments {
		points[m.step]++
		all = append(all, faultPoint{m.step, points[m.step], func(r *faultRun, do func()) {
			r.m.Faults.Trap(m.holds, m.nth, labsim.ProgramFault{Do: do})
		}})
	}
	for i, n := range []int{1, 150} {
		all = append(all, faultPoint{"flash is being written", i + 1, func(r *faultRun, do func()) {
			r.m.Faults.Set(labsim.FaultSpec{})
			r.hw.Flash.SetHook(r.atFlash(n, do))
		}})
	}
	return all
}

// exchange has the power fail and another card come back. Nothing may be written
// to that one, whatever the apply goes on to do.
func (r *faultRun) exchange() (mend func(*faultRun)) {
	bdf := r.hw.Config.BDF
	twin, err := labsim.NewSpare(labs.Twin(r.hw.Config, 900))
	if err != nil {
		r.t.Error(err)
		return nil
	}
	written := twin.Card.Flash.Operations()
	var own *labsim.Spare
	r.comesBack = true
	if err := r.m.PowerCutThen(func() error {
		var out error
		if own, out = r.m.TakeOut(bdf); out != nil {
			return out
		}
		return r.m.PutIn(twin, bdf)
	}); err != nil {
		r.t.Error(err)
	}
	return func(r *faultRun) {
		if n := twin.Card.Flash.Operations() - written; n > 0 {
			r.t.Errorf("%d flash operations on the card that nobody has asked to write", n)
		}
		if _, err := r.m.Exchange(bdf, own); err != nil {
			r.t.Error(err)
		}
	}
}

// renumber has the power fail and the card come back at the next address.
func (r *faultRun) renumber() (mend func(*faultRun)) {
	r.comesBack = true
	if err := r.m.PowerCutThen(func() error { return r.m.Renumber(1) }); err != nil {
		r.t.Error(err)
	}
	return func(r *faultRun) {
		if err := r.m.Rebuild(func() error { return r.m.Renumber(-1) }); err != nil {
			r.t.Error(err)
		}
	}
}

// meanwhileCases have somebody else work on the host while an apply does.
func meanwhileCases() []*faultCase {
	var all []*faultCase
	for i, at := range faultPoints() {
		all = append(all, &faultCase{
			fault: "Restart of the host by somebody else", step: at.step, point: at.point, quick: i == 6, burns: 1,
			arm: func(r *faultRun) { at.arm(r, r.m.Reboot) },
		})
		byHand := &faultCase{
			fault: "Burn by hand", step: at.step, point: at.point, quick: i == 3 || i == 19, burns: 2,
			arm: func(r *faultRun) { at.arm(r, r.burnByHand) },
		}
		switch at.step {
		case "restarting the host":
			if at.point == 3 {
				break // the host goes down already, and the restart makes it run
			}
			fallthrough
		case "taking the backup", "job is stored", "job has the lock", "job has burned", "job is being settled":
			byHand.says, byHand.mend = []string{"FW045", " 2.36.5000. Running: "}, (*faultRun).powerCycle
		case "job has inspected the card", "job is about to burn":
			// Nothing can be seen of a burn that begins and ends in the milliseconds
			// between the job's last look at the card and the tool's first one.
			continue
		}
		all = append(all, byHand)
	}
	return all
}

// burnByHand burns an older version of what is in the flash. Beside a burn that is
// under way it fails and has that one fail, too.
func (r *faultRun) burnByHand() {
	const file = "/root/by-hand.bin"
	image := card.OldEN()
	if r.w.Flash(r.host).PSID == card.PSIDVPI {
		image = card.OldVPI()
	}
	if err := r.m.FS.WriteFile(file, image, 0o600); err != nil {
		r.t.Error(err)
		return
	}
	r.w.Try(r.host, "mstflint -y -d 0000:01:00.0 -i "+file+" b")
	if fw := r.w.Flash(r.host); fw.PSID == card.PSIDEN {
		r.before = fw
	}
}
