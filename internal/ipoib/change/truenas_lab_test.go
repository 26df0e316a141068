package change_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
)

func truenasDesired() ipoib.Request {
	return ipoib.Request{Host: "xeon2zfs", PortGUID: truenasPort, Config: ipoib.Config{
		Mode: ib.ModeConnected, MTU: 9216, Addresses: prefixes("172.16.0.10/24"),
	}}
}

func TestLab_Apply_truenas(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := truenasDesired()
	if r := apply(t, l, d); !r.Changed {
		t.Errorf("first apply: %+v", r)
	}
	if r := apply(t, l, d); r.Changed {
		t.Errorf("the second apply changed something: %+v", r)
	}
	if s := l.snapshot(t, "xeon2zfs"); !fact.No(s.TrueNAS.PendingChanges) || s.TrueNAS.CheckinWaiting.Or(1) > 0 {
		t.Error("the change was not checked in")
	}
	// Live drift.
	name := found.At(l.snapshot(t, "xeon2zfs"), ipoib.Ref{PortGUID: truenasPort}).Name
	l.Machine("xeon2zfs").UpdateNetdev(name, func(n *labsim.Netdev) { n.MTU, n.AdminMTU = 2044, 2044 })
	if got := found.At(l.snapshot(t, "xeon2zfs"), ipoib.Ref{PortGUID: truenasPort}).Report(&d.Config).MTU; got != 2044 {
		t.Errorf("the state would show MTU %d", got)
	}
	apply(t, l, d)
}

func TestLab_Apply_truenasSurvivesReboot(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := truenasDesired()
	d.Config.MTU, d.Consent.PrivateMTU = 65520, 65520
	apply(t, l, d)
	plat, pci := lastingIB(t, l), ib.MustParsePCIAddress(labCard)
	if r := plat.LinkTypePlaces(l.snapshot(t, "xeon2zfs"), pci).Ours(); r.Types[1] != ib.LinkTypeIB {
		t.Errorf("stored link types: %+v", r)
	}
	if _, err := plat.Reboot(t.Context(), l.hosts["xeon2zfs"],
		reboot.Policy{Timeout: 30 * time.Second, Poll: 50 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if line := l.snapshot(t, "xeon2zfs").Cmdline; !strings.Contains(line, "mlx4_core.port_type_array=1") {
		t.Errorf("link types are still not in effect: %s", line)
	}
	if diff := found.At(l.snapshot(t, "xeon2zfs"), ipoib.Ref{PortGUID: truenasPort}).Differences(d.Config); len(diff) > 0 {
		t.Errorf("after the reboot: %v", diff)
	}
	if r := apply(t, l, d); r.Changed {
		t.Errorf("apply after the reboot changed something: %+v", r)
	}
}

// lastingIB has the card's ports come up as InfiniBand after a restart.
func lastingIB(t *testing.T, l *testLab) platform.Platform {
	t.Helper()
	plat, err := platform.Of(l.snapshot(t, "xeon2zfs"))
	if err != nil {
		t.Fatal(err)
	}
	types := map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeIB}
	if err := plat.PersistLinkTypes(t.Context(), l.hosts["xeon2zfs"], ib.MustParsePCIAddress(labCard), types); err != nil {
		t.Fatal(err)
	}
	return plat
}

func TestLab_Apply_truenasMTU(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := truenasDesired()
	d.Config.MTU = 65520
	_, err := change.Apply(t.Context(), l.hosts["xeon2zfs"], d, change.Options{})
	var refused *safety.RefusedError
	if !errors.As(err, &refused) || refused.Findings[0].Rule != finding.MTUAboveTrueNAS ||
		refused.Findings[0].Consent != "private_mtu = 65520" {
		t.Fatalf("apply: %+v", err)
	}
	mustContain(t, err.Error(), "65520 is 56304 more than the 9216")
	d.Consent.PrivateMTU = 65520
	apply(t, l, d)
	if r := apply(t, l, d); r.Changed {
		t.Errorf("the second apply changed something: %+v", r)
	}
	d.Config.Addresses = prefixes("172.16.3.10/24")
	apply(t, l, d)
}

func TestLab_Apply_truenasFresh(t *testing.T) {
	t.Parallel()
	l := withSM(t, freshTrueNAS)
	d := truenasDesired()
	_, err := change.Apply(t.Context(), l.hosts["xeon2zfs"], d, change.Options{})
	var refused *safety.RefusedError
	if !errors.As(err, &refused) || refused.Findings[0].Rule != finding.TrueNASFirstInterface ||
		refused.Findings[0].Consent != `keep_interface = "eno1"` {
		t.Fatalf("apply: %+v", err)
	}
	d.Consent.KeepInterface = "eno1"
	apply(t, l, d)
}

func TestLab_Apply_truenasRefusals(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	m := l.Machine("xeon2zfs")
	m.FS.Put("/etc/udev/rules.d/99-mine.rules", "# mine\n", 0o644)
	_, err := change.Apply(t.Context(), l.hosts["xeon2zfs"], truenasDesired(), change.Options{})
	if err == nil {
		t.Fatal("a foreign udev rule would have been deleted")
	}
	mustContain(t, err.Error(), "IP017", "99-mine.rules")
	m.FS.Drop("/etc/udev/rules.d/99-mine.rules")
	overlap := truenasDesired()
	overlap.Config.Addresses = prefixes("192.0.2.77/24")
	_, err = change.Apply(t.Context(), l.hosts["xeon2zfs"], overlap, change.Options{})
	if err == nil {
		t.Fatal("an overlapping subnet was accepted")
	}
	mustContain(t, err.Error(), "IP013", "192.0.2.10/24 of eno1")
}

// What the first apply has stored is not foreign to the second one, be it of
// another mode or of the other port.
func TestLab_Apply_truenasChangesAfterTheFirst(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := truenasDesired()
	apply(t, l, d)
	d.Config.Mode, d.Config.MTU = ib.ModeDatagram, 2044
	apply(t, l, d)
	second := d
	second.PortGUID, second.Config.Addresses = truenasPort+1, prefixes("172.16.1.10/24")
	apply(t, l, second)
	if r := apply(t, l, d); r.Changed {
		t.Errorf("the second port has changed the first: %+v", r)
	}
}

// Whatever of a change fails, nothing of it stays.
func TestLab_Apply_truenasRefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		program    string
		from, want ipoib.Config
	}{
		// Of the whole script the guard has these words, too, and in other quotes.
		"store":        {`call interface.update "`, datagram(), connectedConfig(9216)},
		"commit":       {`call interface.commit {"checkin`, datagram(), connectedConfig(9216)},
		"to datagram":  {`call interface.commit {"checkin`, connectedConfig(9216), datagram()},
		"mode at boot": {"call -j -jp description tunable.update", datagram(), connectedConfig(9216)},
		"private MTU":  {"call datastore.update", datagram(), connectedConfig(65520)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := withSM(t)
			d := truenasDesired()
			d.Consent.PrivateMTU = 65520
			d.Config = tt.from
			apply(t, l, d)
			before := storedOn(t, l)
			next := d
			next.Config = tt.want
			m := l.Machine("xeon2zfs")
			m.Faults.Trap(tt.program, 1, labsim.ProgramFault{Exit: true, Status: 1})
			if _, err := change.Apply(t.Context(), l.hosts["xeon2zfs"], next, change.Options{}); err == nil {
				t.Fatal("the middleware has refused it, and apply says nothing")
			}
			if diff := found.At(l.snapshot(t, "xeon2zfs"), ipoib.Ref{PortGUID: truenasPort}).Differences(d.Config); len(diff) > 0 {
				t.Errorf("not as before: %v", diff)
			}
			if diff := cmp.Diff(before, storedOn(t, l)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// If the middleware also refuses to take back what is stored, nobody says that it is gone, and
// its guard against a restart stays.
func TestLab_Apply_truenasNotTakenBack(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := truenasDesired()
	d.Config = datagram()
	apply(t, l, d)
	before := storedOn(t, l)
	next := d
	next.Config = connectedConfig(9216)
	m := l.Machine("xeon2zfs")
	m.Faults.Trap(`call interface.commit {"checkin`, 1, labsim.ProgramFault{Exit: true, Status: 1})
	refuseRollback(t, m)
	_, err := change.Apply(t.Context(), l.hosts["xeon2zfs"], next, change.Options{})
	if err == nil {
		t.Fatal("the middleware has refused it, and apply says nothing")
	}
	if strings.Contains(err.Error(), "removed what it had stored") {
		t.Error(err)
	}
	var e *explain.Failure
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	mustContain(t, e.Explain(), "[EFAULT] the lock is held", "The middleware of xeon2zfs refused the change of ",
		"The new configuration may still be stored", "within 15 minutes", "midclt call interface.rollback",
		"Init script: Terraform (ibfabric/infiniband): undo an unconfirmed change of ")
	ask := func(method string) string {
		r, err := l.hosts["xeon2zfs"].Run(t.Context(), shellcmd.New("midclt", "call", method).AsRoot())
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Stdout)
	}
	if scripts := ask("initshutdownscript.query"); !strings.Contains(scripts, "undo an unconfirmed change") {
		t.Errorf("the guard is gone: %s", scripts)
	}
	// It is what the next plan and apply say, too; and what is to be done helps.
	if s := l.snapshot(t, "xeon2zfs"); !fact.Yes(s.TrueNAS.PendingChanges) {
		t.Errorf("pending: %v", s.TrueNAS.PendingChanges)
	}
	ask("interface.rollback")
	if diff := cmp.Diff(before, storedOn(t, l)); diff != "" {
		t.Error(diff)
	}
	apply(t, l, next)
	if scripts := ask("initshutdownscript.query"); strings.Contains(scripts, "undo an unconfirmed change") {
		t.Errorf("the guard stays: %s", scripts)
	}
}

// refuseRollback has the middleware refuse its next rollback. A trap would strike the script that
// asks for it.
func refuseRollback(t *testing.T, m *labsim.Machine) {
	t.Helper()
	const path = "/usr/bin/midclt"
	info, err := m.FS.Stat(vfs.Root, path, true)
	program, ok := info.Attached.(labsim.Program)
	if err != nil || !ok {
		t.Fatalf("%s: %v", path, err)
	}
	m.Install(path, func(ctx context.Context, p *labsim.Proc) int {
		if !slices.Contains(p.Args, "interface.rollback") {
			return program(ctx, p)
		}
		m.Install(path, program)
		p.Errorf("[EFAULT] the lock is held\n")
		return 1
	})
}

func datagram() ipoib.Config {
	return ipoib.Config{Mode: ib.ModeDatagram, MTU: 2044, Addresses: prefixes("172.16.0.10/24")}
}

func connectedConfig(mtu int) ipoib.Config {
	return ipoib.Config{Mode: ib.ModeConnected, MTU: mtu, Addresses: prefixes("172.16.7.10/24")}
}

// The middleware goes back by itself if nobody checks in.
func TestLab_Apply_truenasRollsBack(t *testing.T) {
	t.Parallel()
	l := withSM(t, speed(20))
	d := truenasDesired()
	apply(t, l, d)
	next := d
	next.Config = ipoib.Config{Mode: ib.ModeConnected, MTU: 4092, Addresses: prefixes("172.16.5.10/24")}
	err := applyUndone(t, l, "xeon2zfs", next)
	if diff := found.At(l.snapshot(t, "xeon2zfs"), ipoib.Ref{PortGUID: truenasPort}).Differences(d.Config); len(diff) > 0 {
		t.Errorf("the middleware did not go back: %v\nerror was: %v", diff, err)
	}
}

// The middleware forgets its timer and what was before when the host restarts;
// the guard does not.
func TestLab_Apply_truenasRestartsUnconfirmed(t *testing.T) {
	t.Parallel()
	for name, mtu := range map[string]int{"public": 9216, "private MTU": 65520, "nothing stored": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l *testLab
			d := truenasDesired()
			if mtu == 0 {
				l = withSM(t, freshTrueNAS)
				d.Consent.KeepInterface = "eno1"
			} else {
				l = withSM(t)
				d.Config.MTU = mtu
				if mtu > 9216 {
					d.Consent.PrivateMTU = mtu
				}
				apply(t, l, d)
			}
			lastingIB(t, l)
			before := storedOn(t, l)
			next := d
			next.Config = ipoib.Config{Mode: ib.ModeConnected, MTU: 4092, Addresses: prefixes("172.16.5.10/24")}
			_ = applyCutOff(t, l, "xeon2zfs", next)
			m := l.Machine("xeon2zfs")
			boots := m.Boots()
			m.Halt()
			m.Faults.Set(labsim.FaultSpec{})
			m.Start()
			if err := m.AwaitBoot(t.Context(), boots+1); err != nil {
				t.Fatal(err)
			}
			l.hosts["xeon2zfs"].Drop()
			// Init scripts run after the host can be reached.
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
				diff := cmp.Diff(before, storedOn(t, l))
				if diff == "" {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal(diff)
				}
				l.hosts["xeon2zfs"].Invalidate()
			}
			r := apply(t, l, d)
			mustContain(t, strings.Join(r.Warnings, " "), "was never confirmed, so that the host went back")
			if left := string(l.snapshot(t, "xeon2zfs").TrueNAS.InitScripts); left != "[]" {
				t.Errorf("init scripts: %s", left)
			}
		})
	}
}

// storedOn gives what the middleware has stored of each interface.
func storedOn(t *testing.T, l *testLab) []midclt.Interface {
	t.Helper()
	all, err := midclt.ParseInterfaces(l.snapshot(t, "xeon2zfs").TrueNAS.Interfaces)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].State = midclt.State{}
	}
	return all
}

func TestLab_Remove_truenas(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := truenasDesired()
	apply(t, l, d)
	r, err := change.Remove(t.Context(), l.hosts["xeon2zfs"], d, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Look.Persisted.Found || len(r.Look.Live.Addresses) > 0 {
		t.Errorf("after remove: %+v", r.Look)
	}
	if s := l.snapshot(t, "xeon2zfs"); !fact.No(s.TrueNAS.PendingChanges) || s.TrueNAS.CheckinWaiting.Or(1) > 0 {
		t.Error("the removal was not checked in")
	}
}

// Also where nothing differs: that nothing waits for a check-in has to be known.
func TestLab_Check_truenasUnknownWhetherConfirmed(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := truenasDesired()
	apply(t, l, d)
	s := l.snapshot(t, "xeon2zfs")
	s.Derived = nil // it changes below
	if found.At(s, d.Ref()).ToDo(d) {
		t.Fatal("there is something to do")
	}
	s.TrueNAS.CheckinWaiting = fact.Unknown[int]("the tool hung")
	if !found.At(s, d.Ref()).ToDo(d) || !found.At(s, d.Ref()).OnlyPutsAway(d) {
		t.Error("the apply does not look again")
	}
	for held, want := range map[bool]finding.Severity{true: finding.Warn, false: finding.Refuse} {
		i := slices.IndexFunc(judge.Check(found.At(s, d.Ref()), d, judge.PlanFacts{Held: held}), func(f finding.Finding) bool {
			return f.Rule == finding.TrueNASChangePending && f.Severity == want &&
				strings.Contains(f.Evidence, "is not known: the tool hung. The interface is as asked now.")
		})
		if i < 0 {
			t.Errorf("in the state: %t: %v", held, judge.Check(found.At(s, d.Ref()), d, judge.PlanFacts{Held: held}))
		}
	}
}
