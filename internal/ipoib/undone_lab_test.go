package ipoib_test

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// What a change has left whose last step was lost is named by the plan as that of a confirmed
// change, and the next apply puts it away, also after a restart. The interface is left alone.
func TestLab_Apply_leavesOfAConfirmedChange(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		l := stackLab(t, ifupdownCase())
		d := ubuntuDesired()
		l.Machine("intel9").Faults.Set(labsim.FaultSpec{ExecHolds: "infiniband-undo-e41d2d0300e44e01.timer", CutAtExec: 1})
		r := apply(t, l, d)
		if len(r.Warnings) == 0 {
			t.Fatal("nothing was left")
		}
		if restart {
			reboot(t, l)
		}
		found := checked(t, l, d)
		mustContain(t, found["IP047"], "/var/lib/terraform-provider-infiniband/undo/e41d2d0300e44e01 is still there")
		if found["IP027"] != "" {
			t.Errorf("it was never confirmed: %s", found["IP027"])
		}
		s := l.snapshot(t, "intel9")
		if !ipoib.ToDo(s, d) || !ipoib.OnlyPutsAway(s, d) {
			t.Error("the plan does not put it away")
		}
		before, _ := l.Machine("intel9").Netdev(handName)
		if r := apply(t, l, d); r.Changed {
			t.Errorf("the apply changed the interface: %+v", r)
		}
		if now, _ := l.Machine("intel9").Netdev(handName); now.Changes != before.Changes {
			t.Errorf("the interface was touched: %+v, was %+v", now, before)
		}
		if s := l.snapshot(t, "intel9"); len(s.Undos) > 0 || ipoib.ToDo(s, d) {
			t.Errorf("left: %v", s.Undos)
		}
		nothingElseOfUndo(t, l)
	}
}

// nothingElseOfUndo checks that no unit of an undo is left either.
func nothingElseOfUndo(t *testing.T, l *testLab) {
	t.Helper()
	if out := runText(t, l, "ls /etc/systemd/system /etc/systemd/system/sysinit.target.wants | grep infiniband-undo || true"); out != "" {
		t.Errorf("units are left: %s", out)
	}
}
