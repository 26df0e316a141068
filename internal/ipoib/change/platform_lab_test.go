package change_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
)

func platformOf(t *testing.T, l *testLab, name string) platform.Platform {
	t.Helper()
	p, err := platform.Of(l.snapshot(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A host that was asked to restart and may still do so is not given back by who drained it for that restart.
func TestLab_Around_a_restart_that_is_due(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	h, p := l.hosts["intel9"], platformOf(t, l, "intel9")
	l.Machine("intel9").Faults.Set(labsim.FaultSpec{RebootIgnored: true})
	around := reboot.Policy{DrainCommands: []string{"true"}, ResumeCommands: []string{"touch /tmp/up"}}
	err := reboot.Around(t.Context(), h, around, func(ctx context.Context) error {
		_, failed := p.Reboot(ctx, h, reboot.Policy{Timeout: 3 * time.Second, Poll: 50 * time.Millisecond})
		return failed
	})
	var e *reboot.Error
	if !errors.As(err, &e) || e.Resumed || len(e.Unresumed) != 1 || l.Machine("intel9").FS.Exists("/tmp/up") {
		t.Errorf("%+v", err)
	}
}

func TestLab_Reboot_failures(t *testing.T) {
	t.Parallel()
	const drain = "touch /tmp/drained"
	for _, tt := range []struct {
		name   string
		fault  labsim.FaultSpec
		policy reboot.Policy
		step   string
		want   []string
		left   []string // resume commands
		drains string   // the drain command that may still run
	}{
		{"never returns", labsim.FaultSpec{RebootNever: true}, reboot.Policy{Timeout: 6 * time.Second},
			reboot.StepReturn,
			[]string{"limit 6s", "The restart was asked for and nothing was done after that"}, nil, ""},
		{"does not go down", labsim.FaultSpec{RebootIgnored: true}, reboot.Policy{Timeout: 6 * time.Second},
			reboot.StepReturn,
			[]string{"still the old boot", "The host never went down"}, nil, ""},
		{"another key", labsim.FaultSpec{NewKeyAtReboot: true},
			reboot.Policy{Timeout: 20 * time.Second, ResumeCommands: []string{"touch /tmp/up"}},
			reboot.StepReturn,
			[]string{"verify host key"}, []string{"touch /tmp/up"}, ""},
		{"drain fails", labsim.FaultSpec{},
			reboot.Policy{DrainCommands: []string{"touch /tmp/drained; false"},
				ResumeCommands: []string{"rm /tmp/drained"}},
			reboot.StepDrain, []string{"The host was not restarted. The resume commands have run.",
				"touch /tmp/drained; false"}, nil, ""},
		{"refused after the drain", labsim.FaultSpec{},
			reboot.Policy{DrainCommands: []string{"touch /tmp/drained"}, ResumeCommands: []string{"rm /tmp/drained"},
				Ready: func(context.Context) error { return errors.New("the flash is gone") }},
			reboot.StepReady, []string{"The host was not restarted. The resume commands have run.",
				"the flash is gone"}, nil, ""},
		{"resume fails", labsim.FaultSpec{},
			reboot.Policy{Timeout: 20 * time.Second, ResumeCommands: []string{"true", "false", "touch /tmp/up"}},
			reboot.StepResume, []string{"only the resume commands are incomplete"}, []string{"false", "touch /tmp/up"}, ""},
		// It goes on after its limit: giving back what it still takes would leave both half done.
		{"drain has no end in time", labsim.FaultSpec{ExecHolds: drain, HangAtExec: 1},
			reboot.Policy{Timeout: time.Second, DrainCommands: []string{"true", drain, "touch /tmp/more"},
				ResumeCommands: []string{"rm /tmp/drained", "touch /tmp/up"}},
			reboot.StepDrain, []string{"did not end within 1s (reboot.timeout) and may still run. The host was not restarted."},
			[]string{"rm /tmp/drained", "touch /tmp/up"}, drain},
		{"line is cut in the drain", labsim.FaultSpec{ExecHolds: drain, CutAtExec: 1, CutWhen: labsim.CutDuring},
			reboot.Policy{DrainCommands: []string{drain}, ResumeCommands: []string{"rm /tmp/drained"}},
			reboot.StepDrain, []string{"The connection broke"}, []string{"rm /tmp/drained"}, drain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := startLab(t)
			p := platformOf(t, l, "intel9")
			l.Machine("intel9").Faults.Set(tt.fault)
			tt.policy.Poll = 50 * time.Millisecond
			_, err := p.Reboot(t.Context(), l.hosts["intel9"], tt.policy)
			var e *reboot.Error
			if !errors.As(err, &e) || e.Step != tt.step {
				t.Fatalf("reboot: %v", err)
			}
			mustContain(t, err.Error()+". "+e.Meaning(), tt.want...)
			if !slices.Equal(e.Unresumed, tt.left) {
				t.Errorf("left are the resume commands %q, want %q", e.Unresumed, tt.left)
			}
			if e.Undrained != tt.drains {
				t.Errorf("may still run: %q, want %q", e.Undrained, tt.drains)
			}
			fs := l.Machine("intel9").FS
			if tt.drains == "" && fs.Exists("/tmp/drained") {
				t.Error("what was drained was not given back")
			}
			if tt.drains != "" && fs.Exists("/tmp/up") {
				t.Error("a resume command ran while a drain command may still run")
			}
		})
	}
}

var ibAndEthernet = map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeETH}

// persistTypes stores the types of the card for the next boot.
func persistTypes(t *testing.T, l *testLab) {
	t.Helper()
	p := platformOf(t, l, "intel9")
	if err := p.PersistLinkTypes(t.Context(), l.hosts["intel9"], ib.MustParsePCIAddress(labCard), ibAndEthernet); err != nil {
		t.Fatal(err)
	}
}

func TestLab_PersistLinkTypes_ubuntu(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	p, h, pci := platformOf(t, l, "intel9"), l.hosts["intel9"], ib.MustParsePCIAddress(labCard)
	persistTypes(t, l)
	mustContain(t, l.file("intel9", platform.ModprobePath), platform.Owner, "\noptions mlx4_core port_type_array=1,2\n")
	l.Machine("intel9").FS.Put("/etc/modprobe.d/mlx4-ib.conf", "options mlx4_core port_type_array=1,1\n", 0o644)
	places := p.LinkTypePlaces(l.snapshot(t, "intel9"), pci)
	if r := places.Ours(); r.Types[1] != ib.LinkTypeIB || r.Types[2] != ib.LinkTypeETH || len(places) != 3 ||
		len(places.Stronger()) != 1 {
		t.Errorf("places: %+v", places)
	}
	if l.file("intel9", "/etc/modprobe.d/mlx4-ib.conf") == "" {
		t.Error("the wrong file was removed")
	}
	if err := p.PersistLinkTypes(t.Context(), h, pci, map[int]ib.LinkType{2: ib.LinkTypeIB}); err == nil {
		t.Error("a gap in the ports was accepted")
	}
}

// A file that somebody has written into stays in force if its replacement finds no space.
func TestLab_PersistLinkTypes_fullDisk(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	p, h, pci := platformOf(t, l, "intel9"), l.hosts["intel9"], ib.MustParsePCIAddress(labCard)
	persistTypes(t, l)
	m := l.Machine("intel9")
	m.FS.Put(platform.ModprobePath, l.file("intel9", platform.ModprobePath)+"options mlx4_core log_num_mtt=24\n", 0o644)
	edited := l.file("intel9", platform.ModprobePath)
	kept := p.LinkTypePlaces(l.snapshot(t, "intel9"), pci).Ours().Edits[0].Kept
	if err := m.FS.SetQuota("/etc/modprobe.d", 0); err != nil {
		t.Fatal(err)
	}
	if err := p.PersistLinkTypes(t.Context(), h, pci, ibAndEthernet); err == nil {
		t.Error("a full disk was not noticed")
	}
	if got := l.file("intel9", platform.ModprobePath); got != edited {
		t.Errorf("after an apply on a full disk:\n%s", got)
	}
	if err := m.FS.SetQuota("/etc/modprobe.d", 1<<20); err != nil {
		t.Fatal(err)
	}
	m.Faults.Trap("update-initramfs", 1, labsim.ProgramFault{Exit: true, Status: 1})
	h.Invalidate()
	err := p.PersistLinkTypes(t.Context(), h, pci, ibAndEthernet)
	if err == nil {
		t.Fatal("a failed rebuild was not noticed")
	}
	mustContain(t, err.Error(), "The file is kept as "+kept)
	if got := l.file("intel9", kept); got != edited {
		t.Errorf("kept:\n%s", got)
	}
	if got := l.file("intel9", platform.ModprobePath); got == edited {
		t.Error("the file was not replaced")
	}
}

func TestLab_PersistLinkTypes_truenas(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	p, h, pci := platformOf(t, l, "xeon2zfs"), l.hosts["xeon2zfs"], ib.MustParsePCIAddress(labCard)
	if err := p.EnsureModules(t.Context(), h, "ib_ipoib"); err != nil {
		t.Fatal(err)
	}
	for _, second := range []ib.LinkType{ib.LinkTypeETH, ib.LinkTypeIB} {
		if err := p.PersistLinkTypes(t.Context(), h, pci, map[int]ib.LinkType{1: ib.LinkTypeIB, 2: second}); err != nil {
			t.Fatal(err)
		}
		if r := p.LinkTypePlaces(l.snapshot(t, "xeon2zfs"), pci).Ours(); r.Types[2] != second {
			t.Errorf("stored: %+v", r)
		}
	}
	if now, boot := p.MissingModules(l.snapshot(t, "xeon2zfs"), "ib_ipoib"); len(now)+len(boot) > 0 {
		t.Errorf("the modules' option was lost: %v %v", now, boot)
	}
}

func TestLab_Install(t *testing.T) {
	t.Parallel()
	l := startLab(t)
	if err := platformOf(t, l, "intel9").Install(t.Context(), l.hosts["intel9"], "mstflint"); err != nil {
		t.Fatal(err)
	}
	var unsupported *platform.UnsupportedError
	err := platformOf(t, l, "xeon2zfs").Install(t.Context(), l.hosts["xeon2zfs"], "opensm")
	if !errors.As(err, &unsupported) {
		t.Fatalf("install on TrueNAS: %v", err)
	}
	mustContain(t, err.Error(), "installing opensm is not possible", "Use another host")
}
