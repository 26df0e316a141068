package system

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
)

func (w *testLab) show(m *labsim.Machine, unit string, props ...string) string {
	w.t.Helper()
	return strings.TrimSpace(w.must(m, "systemctl show -p "+strings.Join(props, ",")+" "+unit))
}

func TestTransientService(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	r := w.run(w.a, `systemd-run --unit=job1 --collect --property=StandardOutput=file:/var/log/job1 -- /bin/sh -c 'echo begin; sleep 600; echo end'`)
	if r.status != 0 || !strings.HasPrefix(r.stderr, "Running as unit: job1.service; invocation ID: ") {
		t.Fatalf("%+v", r)
	}
	if got := w.show(w.a, "job1", "SubState", "ActiveState",
		"LoadState"); got != "LoadState=loaded\nActiveState=active\nSubState=running" {
		t.Errorf("%q: properties come in systemd's order", got)
	}
	if r := w.run(w.a, "systemd-run --unit=job1 /bin/true"); r.status != 1 ||
		r.stderr != "Failed to start transient service unit: Unit job1.service was already loaded or has a fragment file.\n" {
		t.Errorf("a second job of that name: %+v", r)
	}
	w.eventually("the job ends and is collected", func() bool {
		w.lab.Clock.Skip(60e9)
		return w.show(w.a, "job1", "LoadState") == "LoadState=not-found"
	})
	if got := w.must(w.a, "cat /var/log/job1"); got != "begin\nend\n" {
		t.Errorf("output %q", got)
	}
}

func TestTransientServiceDiesWithThePower(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.must(w.a, `systemd-run --unit=job --property=RemainAfterExit=yes /bin/sh -c 'sleep 3600; echo x > /root/done'`)
	boots := w.a.Boots()
	w.a.PowerCut()
	w.waitForBoots(w.a, boots+1)
	w.lab.Clock.Skip(7200e9)
	if w.a.FS.Exists("/root/done") {
		t.Error("the job went on after a power cut")
	}
	if got := w.show(w.a, "job", "LoadState", "ActiveState"); got != "LoadState=not-found\nActiveState=inactive" {
		t.Errorf("after boot: %q", got)
	}
}

func TestFailedTransientUnitStays(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.must(w.a, "systemd-run --unit=bad /bin/sh -c 'exit 3'")
	w.eventually("failure", func() bool { return w.show(w.a, "bad", "Result") == "Result=exit-code" })
	if got := w.show(w.a, "bad", "ExecMainStatus", "ActiveState",
		"ExecMainCode"); got != "ExecMainCode=1\nExecMainStatus=3\nActiveState=failed" {
		t.Errorf("%q", got)
	}
}

func TestTimerFiresUnlessStopped(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	r := w.run(w.a, "systemd-run --unit=undo --on-active=90s --timer-property=AccuracySec=1s /bin/sh -c 'echo x > /root/undone'")
	if r.status != 0 || r.stderr != "Running timer as unit: undo.timer\nWill run service as unit: undo.service\n" {
		t.Fatalf("%+v", r)
	}
	if r := w.run(w.a, "systemctl is-active undo.timer"); r.stdout != "active\n" {
		t.Errorf("%+v", r)
	}
	w.must(w.a, "systemctl stop undo.timer")
	w.lab.Clock.Skip(100e9)
	if w.a.FS.Exists("/root/undone") {
		t.Error("a stopped timer fired")
	}
	w.must(w.a, "systemd-run --unit=undo --on-active=90 /bin/sh -c 'echo x > /root/undone'")
	w.lab.Clock.Skip(100e9)
	w.eventually("the timer fires", func() bool { return w.a.FS.Exists("/root/undone") })
}

func TestUnitFiles(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.must(w.a, `cat > /etc/systemd/system/mode.service <<'E'
[Unit]
Description=Test
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo run >> /root/ran'
[Install]
WantedBy=multi-user.target
E
systemctl daemon-reload`)
	if got := w.show(w.a, "mode", "UnitFileState"); got != "UnitFileState=disabled" {
		t.Errorf("%q", got)
	}
	if r := w.run(w.a, "systemctl enable --now mode"); r.status != 0 ||
		!strings.HasPrefix(r.stderr, "Created symlink /etc/systemd/system/multi-user.target.wants/mode.service → ") {
		t.Errorf("%+v", r)
	}
	w.reboot(w.a)
	if got := w.must(w.a, "cat /root/ran; systemctl is-active mode"); got != "run\nrun\nactive\n" {
		t.Errorf("%q", got)
	}
	w.must(w.a, "systemctl disable mode")
	w.reboot(w.a)
	if r := w.run(w.a, "systemctl is-active mode"); r.status != 3 || r.stdout != "inactive\n" {
		t.Errorf("%+v", r)
	}
	for script, want := range map[string]result{
		"systemctl start nothing":     {5, "", "Failed to start nothing.service: Unit nothing.service not found.\n"},
		"systemctl is-active nothing": {4, "inactive\n", ""},
	} {
		if got := w.run(w.a, script); got != want {
			t.Errorf("%s: %+v, want %+v", script, got, want)
		}
	}
	w.must(w.a, "rm /etc/systemd/system/mode.service; systemctl mask mode")
	if r := w.run(w.a, "systemctl start mode"); r.status != 1 ||
		r.stderr != "Failed to start mode.service: Unit mode.service is masked.\n" {
		t.Errorf("%+v", r)
	}
	if r := w.as(w.a, "ops", "systemctl stop ssh"); r.status != 1 {
		t.Errorf("%+v", r)
	}
}

func TestInhibitor(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.must(w.a, "systemd-run --unit=burn systemd-inhibit --what=shutdown:sleep --who=lab --why='burning' --mode=block /bin/sleep 600")
	w.eventually("the lock is held", func() bool { return len(systemd.Inhibitors(w.a)) == 1 })
	if i := systemd.Inhibitors(w.a)[0]; i.What != "shutdown:sleep" || i.Who != "lab" || i.Mode != "block" {
		t.Errorf("%+v", i)
	}
	w.must(w.a, "systemctl stop burn")
	w.eventually("the lock is released", func() bool { return len(systemd.Inhibitors(w.a)) == 0 })
}

func TestUnknownFlagsAreViolations(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	for _, script := range []string{"systemctl frobnicate", "systemd-run --bogus x", "ip neigh", "netplan try",
		"udevadm monitor", "journalctl -f"} {
		if r := w.run(w.a, script); r.status == 0 {
			t.Errorf("%s succeeded", script)
		}
	}
	if n := len(w.a.Violations()); n != 6 {
		t.Errorf("%d violations: %q", n, w.a.Violations())
	}
	w.tolerate = true
}

func TestStopSignal(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.must(w.a, `systemd-run --unit=burn --property=KillMode=mixed --property=KillSignal=SIGCONT --property=SendSIGKILL=no --property=TimeoutStopSec=45min systemd-inhibit --mode=block /bin/sh -c 'sleep 120; echo x > /root/finished'`)
	w.eventually("the job runs", func() bool { return len(systemd.Inhibitors(w.a)) == 1 })
	boots := w.a.Boots()
	w.must(w.a, "systemctl reboot")
	for range 10 {
		w.lab.Clock.Skip(15e9)
	}
	w.waitForBoots(w.a, boots+1)
	if !w.a.FS.Exists("/root/finished") {
		t.Error("an orderly reboot must wait for a job that no stop signal ends")
	}
	w.must(w.a, `systemd-run --unit=plain systemd-inhibit --mode=block /bin/sh -c 'sleep 120; echo x > /root/late'`)
	w.eventually("the job runs", func() bool { return len(systemd.Inhibitors(w.a)) == 1 })
	w.must(w.a, "systemctl stop plain")
	w.lab.Clock.Skip(300e9)
	if w.a.FS.Exists("/root/late") {
		t.Error("the children of a stopped unit went on")
	}
}
