package change_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// The subnet manager is tested here because IPoIB and it need the same lab.

const smDropIn = "/etc/systemd/system/opensm@0xe41d2d0300e44e01.service.d/terraform-infiniband.conf"

const smConf = "/etc/opensm/terraform-0xe41d2d0300e44e01.conf"

// applySM and stopSM look at the port first, as the resource does.
func applySM(ctx context.Context, h *hosts.Host, d opensm.Request, o change.Options) (change.Result, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return change.Result{}, err
	}
	return change.Apply(ctx, h, found.Of(s, d.PortGUID), d, o)
}

func stopSM(ctx context.Context, h *hosts.Host, port ib.GUID) (change.Result, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return change.Result{}, err
	}
	return change.Remove(ctx, h, found.Of(s, port))
}

func smDesired() opensm.Request {
	return opensm.Request{Host: "intel9", PortGUID: ubuntuPort, Priority: 14}
}

func TestLab_OpenSM_mendsDrift(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	m := l.Machine("intel9")
	for _, tt := range []struct {
		name  string
		spoil func()
		want  string
	}{
		{"stopped", func() { run(t, l, "systemctl", "stop", "opensm@0xe41d2d0300e44e01.service") }, "does not run"},
		{"disabled", func() { run(t, l, "systemctl", "disable", "opensm.service") }, "does not start at boot"},
		{"priority", func() { m.FS.Put(smConf, strings.Replace(l.file("intel9", smConf), "14", "3", 1), 0o644) },
			"priority is 3, not 14"},
		{"option added", func() { m.FS.Put(smConf, l.file("intel9", smConf)+"routing_engine updn\n", 0o644) },
			"routing_engine updn"},
		{"option unknown", func() { m.FS.Put(smConf, l.file("intel9", smConf)+"lmc 2\n", 0o644) },
			smConf + " was changed by hand"},
		{"file gone", func() { m.FS.Drop(smConf) }, "priority is not set"},
		{"drop-in edited", func() { m.FS.Put(smDropIn, l.file("intel9", smDropIn)+"RestartSec=9\n", 0o644) },
			smDropIn + " was changed by hand"},
		{"list edited", func() { m.FS.Put("/etc/default/opensm", "PORTS=NONE\n", 0o644) }, "does not start at boot"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spoil()
			o := found.Of(l.snapshot(t, "intel9"), ubuntuPort)
			mustContain(t, strings.Join(judge.Differences(o, smDesired()), "; "), tt.want)
			r, err := applySM(t.Context(), l.hosts["intel9"], smDesired(), change.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := judge.Differences(r.Look, smDesired()); len(diff) > 0 || !r.Changed {
				t.Errorf("after apply: %v", diff)
			}
		})
	}
	if r, err := applySM(t.Context(), l.hosts["intel9"], smDesired(), change.Options{}); err != nil || r.Changed {
		t.Errorf("an apply without drift changed something: %+v, %v", r, err)
	}
}

// An edited file is replaced in one step: on a full disk it is still there, and what was
// replaced before it is named all the same.
func TestLab_OpenSM_fullDiskKeepsEdits(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	m, h := l.Machine("intel9"), l.hosts["intel9"]
	m.FS.Put(smConf, l.file("intel9", smConf)+"lmc 2\n", 0o644)
	m.FS.Put(smDropIn, l.file("intel9", smDropIn)+"RestartSec=9\n", 0o644)
	l.snapshot(t, "intel9")
	if err := m.FS.SetQuota("/etc/opensm", 0); err != nil {
		t.Fatal(err)
	}
	r, err := applySM(t.Context(), h, smDesired(), change.Options{})
	if err == nil {
		t.Fatal("an apply on a full disk succeeded")
	}
	mustContain(t, l.file("intel9", smConf), "lmc 2\n")
	mustContain(t, strings.Join(r.Warnings, " "), smDropIn+" had lines that somebody has written. The file is kept as ")
	if err = m.FS.SetQuota("/etc/opensm", 1<<20); err != nil {
		t.Fatal(err)
	}
	h.Invalidate()
	if r, err = applySM(t.Context(), h, smDesired(), change.Options{}); err != nil {
		t.Fatal(err)
	}
	_, kept, _ := strings.Cut(strings.Join(r.Warnings, " "), smConf+" had lines that somebody has written. The file is kept as ")
	kept, _, _ = strings.Cut(kept+" ", ". ")
	mustContain(t, l.file("intel9", strings.TrimSuffix(kept, ".")), "lmc 2\n")
	if text := l.file("intel9", smConf); strings.Contains(text, "lmc") {
		t.Errorf("not replaced:\n%s", text)
	}
}

func TestLab_OpenSM_keepsOtherPorts(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	l.Machine("intel9").FS.Put("/etc/default/opensm", "# mine\nPORTS=\"0xe41d2d0300e44e02\"\nOTHER=1\n", 0o644)
	l.hosts["intel9"].Invalidate()
	if _, err := applySM(t.Context(), l.hosts["intel9"], smDesired(), change.Options{}); err != nil {
		t.Fatal(err)
	}
	want := "# mine\nPORTS=\"0xe41d2d0300e44e01 0xe41d2d0300e44e02\"\nOTHER=1\n"
	if got := l.file("intel9", "/etc/default/opensm"); got != want {
		t.Errorf("list of ports:\n%s", got)
	}
	if _, err := stopSM(t.Context(), l.hosts["intel9"], ubuntuPort); err != nil {
		t.Fatal(err)
	}
	if got := l.file("intel9", "/etc/default/opensm"); got != strings.Replace(want, "0xe41d2d0300e44e01 ", "", 1) {
		t.Errorf("after remove:\n%s", got)
	}
	if o := found.Of(l.snapshot(t, "intel9"), 0xe41d2d0300e44e02); !fact.Yes(o.Enabled) {
		t.Errorf("the other port's SM does not start at boot any more: %+v", o)
	}
}

func TestLab_OpenSM_namesTheCause(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	l.Disconnect(labsim.CardEnd("intel9", labCard, 1))
	_, err := applySM(t.Context(), l.hosts["intel9"], smDesired(), change.Options{ProofTimeout: time.Second})
	var e *change.NotServingError
	if !errors.As(err, &e) {
		t.Fatalf("apply: %v", err)
	}
	if !e.IsSM || e.Active != "active" || e.Physical != "Polling" {
		t.Errorf("error: %+v", e)
	}
	mustContain(t, err.Error(), "nothing answers at the other end of the cable", "a port in Ethernet mode never answers")
	// The configuration stayed, so the cable is all that was missing.
	if err := l.Connect(labsim.CardEnd("intel9", labCard, 1), labsim.SwitchEnd("switch", 1)); err != nil {
		t.Fatal(err)
	}
	if diff := judge.Differences(found.Of(l.snapshot(t, "intel9"), ubuntuPort), smDesired()); len(diff) > 0 {
		t.Errorf("after the cable is back: %v", diff)
	}
}

// Whatever keeps opensm from working, an apply ends with its cause: the texts are
// those of opensm 3.3.23, printed where it prints them.
func TestLab_OpenSM_namesWhatOpensmSays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, says string
		cause      change.CauseKind
		want       string
	}{
		{"kernel", "osm_vendor_bind: ERR 5426: Unable to register class 129 version 1\nExiting SM\n", change.CauseKernel,
			"Linux 6.8.0"},
		{"cache", "FATAL: Error restoring Guid-to-Lid persistent database\n", change.CauseCache, "mv /var/cache/opensm"},
		{"umad", "ibwarn: [1] umad_init: can't read ABI version from /sys/class/infiniband_mad/abi_version (No such file or directory): is ib_umad module loaded?\n", change.CauseUMAD, "modprobe ib_umad"},
		{"back to back", "Errors on subnet. Duplicate GUID found by link from a port to itself. See verbose opensm.log for more details\n", change.CauseBackToBack, "infiniband_guids"},
		{"held", "Error from osm_opensm_bind (0x2A)\nPerhaps another instance of OpenSM is already running\nExiting SM\n",
			change.CauseNotBound, "pgrep -a opensm"},
		{"silent", "", change.CauseNotRunning, "does not run"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := withSM(t)
			l.Machine("intel9").Install("/usr/sbin/opensm", func(_ context.Context, p *labsim.Proc) int {
				p.Printf("%s", tt.says)
				return 0 // as opensm does
			})
			d := smDesired()
			d.Tuning.RoutingEngine = "updn" // restarts it
			_, err := applySM(t.Context(), l.hosts["intel9"],
				d, change.Options{ProofTimeout: time.Second, Poll: 50 * time.Millisecond})
			var e *change.NotServingError
			if !errors.As(err, &e) || e.Cause.Kind != tt.cause {
				t.Fatalf("%v", err)
			}
			mustContain(t, err.Error(), tt.want, "cause: "+string(tt.cause))
		})
	}
}

func TestLab_OpenSM_refusals(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	for _, tt := range []struct {
		host string
		d    opensm.Request
		want []string
	}{
		{"xeon2zfs", opensm.Request{Host: "xeon2zfs", PortGUID: truenasPort, Priority: 1},
			[]string{"SM001", "TrueNAS SCALE 25.10"}},
		{"intel9", opensm.Request{Host: "intel9", PortGUID: 0x42, Priority: 1},
			[]string{"PF006", "0xe41d2d0300e44e01 (InfiniBand)"}},
	} {
		_, err := applySM(t.Context(), l.hosts[tt.host], tt.d, change.Options{})
		var refused *safety.RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("%+v: %v", tt.d, err)
			continue
		}
		mustContain(t, err.Error(), tt.want...)
	}
}

// From a host without the modules' package: it is installed, the modules are
// loaded, and the port is found by the GUID in flash until then.
func TestLab_OpenSM_wakesThePort(t *testing.T) {
	t.Parallel()
	l := startLab(t, asleep)
	o := found.Of(l.snapshot(t, "intel9"), ubuntuPort)
	if !o.Sleeping || o.PortPresent || o.LinkLayer != "InfiniBand" {
		t.Fatalf("before: %+v", o)
	}
	for _, f := range judge.Check(found.Of(l.snapshot(t, "intel9"), ubuntuPort), smDesired(), judge.PlanFacts{}) {
		if f.Severity.Blocks() {
			t.Errorf("plan refuses: %s: %s", f.Rule.Code, f.Evidence)
		}
	}
	r, err := applySM(t.Context(), l.hosts["intel9"], smDesired(), change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := judge.Differences(r.Look, smDesired()); len(diff) > 0 || r.Look.State != "Active" {
		t.Errorf("after apply: %v, %+v", diff, r.Look)
	}
	mustContain(t, l.file("intel9", "/etc/modules-load.d/terraform-infiniband.conf"), "ib_umad\n", "mlx4_ib\n")
	apply(t, l, ubuntuDesired())
	apply(t, l, truenasDesired())
}

func TestOpenSM_equalPriorities(t *testing.T) {
	all := judge.CheckConfig(smDesired(),
		judge.PlanFacts{Rivals: []opensm.Request{{Host: "other", PortGUID: ib.GUID(7), Priority: 14}}})
	if len(all) != 1 || all[0].Rule != finding.OpensmPriorityEqual || all[0].Severity.Blocks() {
		t.Fatalf("findings: %+v", all)
	}
	mustContain(t, all[0].Summary+all[0].Detail(), "(intel9 and other)", "lower port GUID wins", "have priority 14")
}

// An sminfo that fails is no proof that there is no subnet manager, whatever way it
// fails in; a fabric that cannot be walked gets none.
func TestLab_OpenSM_asksAndIsNotAnswered(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	nas := l.Machine("xeon2zfs")
	port := ib.GUID(nas.Cards()[0].Ports[0].View().GUID)
	if err := nas.LoadModule("ib_umad"); err != nil {
		t.Fatal(err)
	}
	m := l.Machine("intel9")
	run(t, l, "systemctl", "stop", "opensm@0xe41d2d0300e44e01.service")
	l.AddSM(&labsim.SM{Port: nas.Cards()[0].Ports[0], Priority: 9})
	findings := func() []finding.Finding {
		t.Helper()
		v, err := change.Survey(t.Context(), l.hosts["intel9"], found.Of(l.snapshot(t, "intel9"), ubuntuPort))
		if err != nil {
			t.Fatal(err)
		}
		return judge.CheckFabric(smDesired(), v, found.Lab{})
	}
	if found := findings(); len(found) != 1 || found[0].Rule != finding.SubnetManagerCompetes ||
		!strings.Contains(found[0].Evidence, port.String()) {
		t.Fatalf("a subnet manager that answers: %+v", found)
	}
	for _, c := range []struct {
		program    string
		fault      labsim.ProgramFault
		code, says string
	}{
		{"sminfo", labsim.ProgramFault{Exit: true, Status: 1}, "SM028", "sminfo ended with status 1"},
		{"sminfo", labsim.ProgramFault{Truncate: true, Keep: 20}, "SM028", "its answer was not understood"},
		{"sminfo", labsim.ProgramFault{Signal: syscall.SIGKILL}, "SM028", "sminfo ended with status 137"},
		{"saquery", labsim.ProgramFault{Exit: true, Status: 255}, "SM028", "saquery SMIR ended with status 255"},
	} {
		m.Faults.Trap(c.program, 1, c.fault)
		found := findings()
		if !slices.ContainsFunc(found,
			func(f finding.Finding) bool { return f.Rule.Code == c.code && strings.Contains(f.Evidence, c.says) }) {
			t.Errorf("%s, %+v: %+v", c.program, c.fault, found)
		}
	}
	m.Faults.Trap("sminfo", 1, labsim.ProgramFault{Exit: true, Status: 255})
	m.Faults.Trap("ibnetdiscover", 1, labsim.ProgramFault{Exit: true, Status: 255})
	_, err := applySM(t.Context(), l.hosts["intel9"], smDesired(), change.Options{})
	var refused *safety.RefusedError
	if !errors.As(err, &refused) || refused.Findings[0].Rule != finding.FabricGUIDTwice ||
		!strings.Contains(err.Error(), "ibnetdiscover ended with status 255") {
		t.Errorf("apply over a fabric that could not be walked: %v", err)
	}
	if o := found.Of(l.snapshot(t, "intel9"), ubuntuPort); !fact.No(o.Active) {
		t.Errorf("the subnet manager was started: %+v", o)
	}
}
