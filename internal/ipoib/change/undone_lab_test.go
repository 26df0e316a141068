package change_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
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
			powerCycle(t, l)
		}
		shows := checked(t, l, d)
		mustContain(t, shows["IP047"], "/var/lib/terraform-provider-infiniband/undo/e41d2d0300e44e01 is still there")
		if shows["IP027"] != "" {
			t.Errorf("it was never confirmed: %s", shows["IP027"])
		}
		s := l.snapshot(t, "intel9")
		if !found.At(s, d.Ref()).ToDo(d) || !found.At(s, d.Ref()).OnlyPutsAway(d) {
			t.Error("the plan does not put it away")
		}
		before, _ := l.Machine("intel9").Netdev(handName)
		if r := apply(t, l, d); r.Changed {
			t.Errorf("the apply changed the interface: %+v", r)
		}
		if now, _ := l.Machine("intel9").Netdev(handName); now.Changes != before.Changes {
			t.Errorf("the interface was touched: %+v, was %+v", now, before)
		}
		if s := l.snapshot(t, "intel9"); len(s.Undos) > 0 || found.At(s, d.Ref()).ToDo(d) {
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

const undoOfUbuntu = "/var/lib/terraform-provider-infiniband/undo/e41d2d0300e44e01"

// A disk that becomes full during a change stops neither its confirmation nor its undo.
func TestLab_Apply_onADiskThatBecomesFull(t *testing.T) {
	t.Parallel()
	for name, holds := range map[string]bool{"confirmed": true, "cut off": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := stackLab(t, ifupdownCase(), speed(20))
			d := ubuntuDesired()
			apply(t, l, d)
			before := l.file("intel9", ifupdownCase().file)
			next := d
			next.Config.Addresses = prefixes("172.16.9.20/24")
			m := l.Machine("intel9")
			m.Faults.Trap("172.16.9.20/24 dev", 1, labsim.ProgramFault{Do: func() {
				if err := m.FS.SetQuota("/var", 0); err != nil {
					t.Error(err)
				}
			}})
			if holds {
				apply(t, l, next)
				nothingElseOfUndo(t, l)
				return
			}
			_ = applyUndone(t, l, "intel9", next)
			if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 || l.file("intel9", ifupdownCase().file) != before {
				t.Errorf("the host did not go back: %v", diff)
			}
			mustContain(t, checked(t, l, d)["IP027"], "it was undone by the host")
		})
	}
}

// An undo that cannot put a file back keeps what the file held, says so, and goes on when it can.
func TestLab_Apply_undoThatFails(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := ubuntuDesired()
	apply(t, l, d)
	before := l.file("intel9", netplanFile)
	clamped := d
	clamped.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 4092, Addresses: d.Config.Addresses}
	m := l.Machine("intel9")
	for n := range 2 { // cp and ln
		m.Faults.Trap(undoOfUbuntu+"/files/", n+1, labsim.ProgramFault{Exit: true, Status: 1})
	}
	_, err := change.Apply(t.Context(), l.hosts["intel9"], clamped, change.Options{SettleTimeout: time.Second})
	var unconfirmed *change.UnconfirmedError
	if !errors.As(err, &unconfirmed) || unconfirmed.Undone {
		t.Fatalf("apply: %v", err)
	}
	mustContain(t, unconfirmed.Explain(), "could not put back every file", "kept on the host in "+undoOfUbuntu+"/files",
		"apply again: that finishes the undo first", "not put back: "+netplanFile)
	for _, text := range []string{unconfirmed.Explain(), err.Error()} {
		if strings.Contains(text, "othing has to be done") || strings.Contains(text, "was restored") {
			t.Errorf("it says too much:\n%s", text)
		}
	}
	mustContain(t, checked(t, l, d)["IP027"], "could not put back every file", undoOfUbuntu+"/files")
	mustContain(t, runText(t, l, "cat "+undoOfUbuntu+"/files/*"), before)
	mustContain(t, strings.Join(apply(t, l, d).Warnings, " "), "it was undone first")
	if l.file("intel9", netplanFile) != before || len(l.snapshot(t, "intel9").Undos) > 0 {
		t.Errorf("the former file is not back:\n%s", l.file("intel9", netplanFile))
	}
	nothingElseOfUndo(t, l)
}

// A mark of the undo without a word, as a disk that was full may have left it, is no silence.
func TestLab_Check_undoneWithoutAWord(t *testing.T) {
	t.Parallel()
	l := withSM(t, speed(20))
	d := ubuntuDesired()
	apply(t, l, d)
	next := d
	next.Config.Addresses = prefixes("172.16.9.20/24")
	_ = applyUndone(t, l, "intel9", next)
	l.Machine("intel9").FS.Put(undoOfUbuntu+"/undone", "", 0o600)
	mustContain(t, checked(t, l, d)["IP027"], "it was undone by the host")
	mustContain(t, strings.Join(apply(t, l, next).Warnings, " "), "it was undone by the host")
}

// A provider that was killed before the confirmation, and its engine with it, leaves a host that shows what is
// configured, and takes it back by itself. The next plan has that to do: the apply undoes it, and makes it again.
func TestLab_Apply_ofWhatTheHostWillUndo(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := ubuntuDesired()
	apply(t, l, d)
	d.Config = ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes("172.16.9.20/24")}
	_, err := change.Apply(t.Context(), l.cutOff("intel9"), d,
		change.Options{ConfirmTimeout: time.Hour, SettleTimeout: time.Second})
	if err == nil {
		t.Fatal("the change was confirmed over a connection that there was not")
	}
	l.Machine("intel9").Faults.Set(labsim.FaultSpec{})
	l.hosts["intel9"].Drop()
	look := found.At(l.snapshot(t, "intel9"), d.Ref())
	if !look.Satisfies(d.Config) || look.Undone != found.UndoWaits {
		t.Fatalf("the host shows %v, undo %q", look.Differences(d.Config), look.Undone)
	}
	if !look.ToDo(d) || !look.OnlyPutsAway(d) {
		t.Error("the plan shows no change of what the host takes back")
	}
	mustContain(t, checked(t, l, d)["IP027"], "The apply does that first, and then makes what is configured.")
	r := apply(t, l, d)
	mustContain(t, strings.Join(r.Warnings, " "), "never confirmed; it was undone first")
	if s := l.snapshot(t, "intel9"); !r.Changed || len(s.Undos) > 0 || found.At(s, d.Ref()).ToDo(d) {
		t.Errorf("changed: %t; left: %v, %v", r.Changed, s.Undos, found.At(s, d.Ref()).Differences(d.Config))
	}
}
