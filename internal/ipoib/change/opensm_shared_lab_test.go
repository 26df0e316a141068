package change_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
)

const (
	ubuntuUnit = "opensm@0xe41d2d0300e44e01.service"
	otherPort  = 0xe41d2d0300e44e02
	otherUnit  = "opensm@0xe41d2d0300e44e02.service"
)

// shown is a property of a unit of intel9.
func shown(t *testing.T, l *testLab, property, unit string) string {
	t.Helper()
	return strings.TrimSpace(run(t, l, "systemctl", "show", "--property="+property, "--value", unit))
}

func removeSM(t *testing.T, l *testLab) change.Result {
	t.Helper()
	l.hosts["intel9"].Invalidate()
	r, err := stopSM(t.Context(), l.hosts["intel9"], ubuntuPort)
	if err != nil {
		t.Fatal(err)
	}
	if state := shown(t, l, "ActiveState", ubuntuUnit); state != "inactive" {
		t.Errorf("%s is %s after the removal", ubuntuUnit, state)
	}
	return r
}

// The instances of a host are parts of one service: to stop it stops those that somebody else has started.
func TestLab_OpenSM_removalKeepsOthersRunning(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, before, list string // the lists of ports at the removal and after it
		left               string
	}{
		{"not listed", "", "PORTS=NONE", "opensm.service stays, because " + otherUnit + " runs and would stop with it"},
		{"ALL again", "PORTS=ALL\n", "PORTS=ALL", "PORTS=ALL in /etc/default/opensm stays"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := withSM(t)
			run(t, l, "systemctl", "start", otherUnit)
			if tt.before != "" {
				l.Machine("intel9").FS.Put("/etc/default/opensm", tt.before, 0o644)
			}
			r := removeSM(t, l)
			if state := shown(t, l, "ActiveState", otherUnit); state != "active" {
				t.Errorf("the instance of somebody else is %s", state)
			}
			if state := shown(t, l, "UnitFileState", "opensm.service"); state != "enabled" {
				t.Errorf("opensm.service is %s", state)
			}
			mustContain(t, l.file("intel9", "/etc/default/opensm"), tt.list)
			mustContain(t, strings.Join(r.Left, "\n"), tt.left)
		})
	}
}

// A service that nobody needs any more goes with the last instance.
func TestLab_OpenSM_removalOfTheLast(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	removeSM(t, l)
	if state, boot := shown(t, l, "ActiveState", "opensm.service"), shown(t, l, "UnitFileState",
		"opensm.service"); state != "inactive" || boot != "disabled" {
		t.Errorf("opensm.service is %s and %s", state, boot)
	}
}

// Without its package opensm has no units: there is nothing to stop, and no list to edit.
func TestLab_OpenSM_removalAfterThePackage(t *testing.T) {
	t.Parallel()
	for name, purged := range map[string]bool{"removed": false, "purged": true} {
		t.Run(name, func(t *testing.T) {
			l := withSM(t)
			// As the scripts of the package do.
			run(t, l, "systemctl", "stop", "opensm.service")
			run(t, l, "systemctl", "disable", "opensm.service")
			fs := l.Machine("intel9").FS
			fs.Drop(systemd.UnitDir + "opensm.service")
			fs.Drop(systemd.UnitDir + "opensm@.service")
			if purged {
				fs.Drop("/etc/default/opensm")
			}
			run(t, l, "systemctl", "daemon-reload")
			removeSM(t, l)
			if got := l.file("intel9", "/etc/default/opensm"); purged != (got == "") || strings.Contains(got, "0x") {
				t.Errorf("list of ports: %q", got)
			}
			if o := found.Of(l.snapshot(t, "intel9"), ubuntuPort); o.Managed || o.HasConf {
				t.Errorf("what is ours stays: %+v", o)
			}
		})
	}
}

// The template unit that this provider writes where the package has none.
const smTemplate = "/etc/systemd/system/opensm@.service"

// An instance that does not run at this moment needs the template all the same: in the pause before it is
// started again, stopped by hand, or skipped at boot.
func TestLab_OpenSM_removalKeepsTheTemplate(t *testing.T) {
	t.Parallel()
	onRHEL := func(p *labPlan) { p.hosts[0].OS = labsim.RHEL9 }
	template := func(l *testLab, want bool, when string) {
		t.Helper()
		if there := l.file("intel9", smTemplate) != ""; there != want {
			t.Errorf("%s: the template is there: %t", when, there)
		}
	}
	t.Run("of ours", func(t *testing.T) {
		l := withSM(t, onRHEL)
		second := opensm.Request{Host: "intel9", PortGUID: otherPort, Priority: 3}
		if _, err := applySM(t.Context(), l.hosts["intel9"], second, change.Options{}); err != nil {
			t.Fatal(err)
		}
		run(t, l, "systemctl", "stop", otherUnit)
		run(t, l, "systemctl", "disable", otherUnit)
		r := removeSM(t, l)
		template(l, true, "beside one that is stopped")
		mustContain(t, strings.Join(r.Left, "\n"), smTemplate+" stays, because "+otherUnit+" needs it.")
		l.hosts["intel9"].Invalidate()
		if _, err := stopSM(t.Context(), l.hosts["intel9"], otherPort); err != nil {
			t.Fatal(err)
		}
		template(l, false, "after the last")
	})
	t.Run("of somebody else", func(t *testing.T) {
		l := withSM(t, onRHEL)
		run(t, l, "systemctl", "enable", otherUnit)
		removeSM(t, l)
		template(l, true, "beside one that starts at boot")
		if state := shown(t, l, "UnitFileState", otherUnit); state != "enabled" {
			t.Errorf("%s is %s", otherUnit, state)
		}
	})
	t.Run("gone already", func(t *testing.T) {
		l := withSM(t, onRHEL)
		run(t, l, "systemctl", "stop", ubuntuUnit)
		l.Machine("intel9").FS.Drop(smTemplate)
		run(t, l, "systemctl", "daemon-reload")
		removeSM(t, l)
		if link := "/etc/systemd/system/multi-user.target.wants/" + ubuntuUnit; l.Machine("intel9").FS.Exists(link) {
			t.Errorf("%s stays", link)
		}
	})
}

// What only the boot lacks is given to it without a restart: a restart of the master takes the fabric its
// subnet manager for a moment, and no plan has announced one.
func TestLab_OpenSM_enabledAgainWithoutRestart(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	before := shown(t, l, "MainPID", ubuntuUnit)
	run(t, l, "systemctl", "disable", "opensm.service")
	l.hosts["intel9"].Invalidate()
	r, err := applySM(t.Context(), l.hosts["intel9"],
		opensm.Request{Host: "intel9", PortGUID: ubuntuPort, Priority: 14}, change.Options{})
	if err != nil || !r.Changed || !fact.Yes(r.Look.Enabled) {
		t.Fatalf("%+v, %v", r, err)
	}
	if after := shown(t, l, "MainPID", ubuntuUnit); before == "0" || after != before {
		t.Errorf("the subnet manager is process %s, and was %s", after, before)
	}
}

// Where all ports are listed, this one starts at boot as well: there is nothing to do.
func TestLab_OpenSM_allPortsAgain(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	l.Machine("intel9").FS.Put("/etc/default/opensm", "PORTS=ALL\n", 0o644)
	d := opensm.Request{Host: "intel9", PortGUID: ubuntuPort, Priority: 14}
	s := l.snapshot(t, "intel9")
	if o := found.Of(s, ubuntuPort); !fact.Yes(o.Enabled) || !judge.IsSettled(o, d) {
		t.Errorf("%+v", judge.Differences(o, d))
	}
	for _, f := range judge.Check(found.Of(s, d.PortGUID), d, judge.PlanFacts{}) {
		if f.Rule.Code == "SM007" {
			t.Errorf("a list that stays is said to be replaced: %s", f.Evidence)
		}
	}
}

// Two processes that set up ports of one host at the same time both edit its list of ports: none loses its port.
func TestLab_OpenSM_twoProcesses(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	h := l.hosts["intel9"]
	before := l.snapshot(t, "intel9") // as it was read before another process added its port
	l.Machine("intel9").FS.Put("/etc/default/opensm", "PORTS=\"0xe41d2d0300e44e01 0xe41d2d03000000aa\"\n", 0o644)
	d := opensm.Request{Host: "intel9", PortGUID: otherPort, Priority: 3}
	_, err := change.Apply(t.Context(), h, found.Of(before, otherPort), d, change.Options{ProofTimeout: time.Second})
	var e *change.NotServingError // no cable is in this port
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	want := `PORTS="0xe41d2d03000000aa 0xe41d2d0300e44e01 0xe41d2d0300e44e02"` + "\n"
	if got := l.file("intel9", "/etc/default/opensm"); got != want {
		t.Errorf("the list is %s, want %s", got, want)
	}
	if left := run(t, l, "/bin/sh", "-c", "echo /etc/default/.opensm.*"); !strings.Contains(left, "*") {
		t.Errorf("left behind: %s", left)
	}
}
