package platform_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/packages"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemdrun"
)

const labCard = "0000:01:00.0"

func startHost(t *testing.T, os labsim.OS, setup ...func(*labsim.Machine)) (*labs.Lab, *hosts.Host, platform.Platform) {
	t.Helper()
	l, err := labs.Start(t.TempDir(), labsim.Options{Speed: 10, Setup: setup}, labs.Server("h", os, "192.0.2.20", 0))
	if err != nil {
		t.Fatal(err)
	}
	no, server := false, l.Servers["h"]
	h, err := sshhost.New("h", sshhost.Config{
		Address: server.Addr.IP.String(), Port: server.Addr.Port, User: l.User("h"), PrivateKeyFile: l.KeyFile(),
		UseAgent:        &no,
		KnownHostsFiles: []string{l.KnownHostsFile()}, SSHConfigFile: "none", ConnectTimeout: 3 * time.Second,
		ConnectAttempts: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Drop()
		l.Close()
	})
	known := hosts.New(h)
	p, err := platform.Of(look(t, known))
	if err != nil {
		t.Fatal(err)
	}
	return l, known, p
}

func look(t *testing.T, h *hosts.Host) *inventory.Snapshot {
	t.Helper()
	h.Invalidate()
	s, err := h.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLab_distributions does on a host of every distribution what the resources
// need of a platform, and restarts it to see what lasts.
func TestLab_distributions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		os       labsim.OS
		kind     platform.Kind
		firmware bool // has mstflint from the beginning
		place    string
		file     string // that holds the port types
		line     string
	}{
		{labsim.Debian12, platform.KindDebian, true, "modprobe.d", platform.ModprobePath,
			"options mlx4_core port_type_array=1,2"},
		{labsim.Debian13, platform.KindDebian, true, "modprobe.d", platform.ModprobePath,
			"options mlx4_core port_type_array=1,2"},
		{labsim.RHEL9, platform.KindRHEL, true, "mlx4.conf", platform.MLX4ConfPath, labCard + " ib eth"},
		{labsim.Fedora43, platform.KindFedora, true, "mlx4.conf", platform.MLX4ConfPath, labCard + " ib eth"},
		{labsim.Arch, platform.KindArch, false, "modprobe.d", platform.ModprobePath, "options mlx4_core port_type_array=1,2"},
	} {
		t.Run(string(tt.os), func(t *testing.T) {
			l, h, p := startHost(t, tt.os)
			if p.About().Kind != tt.kind || p.LinkTypesStoredIn() != tt.place {
				t.Fatalf("%s with %s", p.About().Kind, p.LinkTypesStoredIn())
			}
			if initramfs := p.About().Initramfs; !look(t, h).Commands[initramfs] {
				t.Errorf("%s rebuilds its initial RAM disk with %s, which it does not have", tt.os, initramfs)
			}
			if got := len(platform.MissingPackages(p, look(t, h), platform.FeatureRDMA)); got != 1 {
				t.Errorf("%d packages of the RDMA rules are missing", got)
			}
			kernel := look(t, h).OS.Kernel
			for _, f := range []platform.Feature{platform.FeatureRDMA, platform.FeatureDiagnostics, platform.FeatureOpenSM} {
				if err := p.Install(t.Context(), h, p.PackagesFor(f, kernel)...); err != nil {
					t.Fatalf("%s: %v", f, err)
				}
				if missing := platform.MissingPackages(p, look(t, h), f); len(missing) > 0 {
					t.Errorf("%s: missing after the installation: %q", f, missing)
				}
			}
			if err := p.EnsureModules(t.Context(), h, "mlx4_ib", "ib_ipoib", "ib_umad"); err != nil {
				t.Fatal(err)
			}
			pci := ib.MustParsePCIAddress(labCard)
			types := map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeETH}
			if err := p.PersistLinkTypes(t.Context(), h, pci, types); err != nil {
				t.Fatal(err)
			}
			content := look(t, h).Files[tt.file].Content
			if !strings.Contains(content, "\n"+tt.line+"\n") || !strings.Contains(content, platform.Owner) {
				t.Errorf("%s:\n%s", tt.file, content)
			}
			if _, err := p.Reboot(t.Context(), h,
				reboot.Policy{Timeout: 20 * time.Second, Poll: 50 * time.Millisecond}); err != nil {
				t.Fatal(err)
			}
			s := look(t, h)
			if now, boot := p.MissingModules(s, "mlx4_ib", "ib_ipoib", "ib_umad"); len(now)+len(boot) > 0 {
				t.Errorf("after the restart: not loaded %q, not listed %q", now, boot)
			}
			if c, ok := s.Card(pci); !ok || len(c.Ports) != 2 || c.Ports[0].TypeNow != "ib" || c.Ports[1].TypeNow != "eth" {
				t.Errorf("after the restart: %+v", c)
			}
			if ours := p.LinkTypePlaces(s, pci).Ours(); ours.Types[2] != ib.LinkTypeETH {
				t.Errorf("stored: %+v", ours)
			}
			for _, v := range l.Violations() {
				t.Error(v)
			}
		})
	}
}

// TestLab_restart_is_asked_for_twice: another apply has asked for the restart already.
// systemd refuses the second request, and the host restarts for both.
func TestLab_restart_is_asked_for_twice(t *testing.T) {
	t.Parallel()
	_, h, p := startHost(t, labsim.Debian13)
	before := look(t, h).BootID
	if _, err := h.Run(t.Context(), systemdrun.After(time.Second, "infiniband-reboot", "systemctl", "reboot")); err != nil {
		t.Fatal(err)
	}
	after, err := p.Reboot(t.Context(), h, reboot.Policy{Timeout: 60 * time.Second, Poll: 50 * time.Millisecond})
	if err != nil || after == before {
		t.Errorf("boot id %s, before %s: %v", after, before, err)
	}
}

// TestLab_restart_whose_request_seems_to_fail: systemd has the timer, and systemd-run has waited
// for the answer in vain. The host restarts, unless the timer is proven to be stopped in time.
func TestLab_restart_whose_request_seems_to_fail(t *testing.T) {
	t.Parallel()
	for name, trap := range map[string]string{"stopped": "", "not stopped": "systemctl stop"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, h, p := startHost(t, labsim.Debian13)
			before, m := look(t, h).BootID, l.Machine("h")
			m.Faults.Trap("--unit=infiniband-reboot", 1, labsim.ProgramFault{Lie: true, Status: 1})
			if trap != "" {
				m.Faults.Trap(trap, 1, labsim.ProgramFault{Exit: true, Status: 1})
			}
			after, err := p.Reboot(t.Context(), h, reboot.Policy{Timeout: 20 * time.Second, Poll: 50 * time.Millisecond,
				DrainCommands: []string{"true"}, ResumeCommands: []string{"touch /run/up"}})
			time.Sleep(time.Second) // ten of the host's: the timer would have fired
			if now := look(t, h).BootID; err == nil && now != after || err != nil && (now != before || trap != "") {
				t.Errorf("boot id %s, before %s, said %q: %v", now, before, after, err)
			}
			var e *reboot.Error
			if err != nil && (!errors.As(err, &e) || e.Step != reboot.StepRequest || !e.Untouched()) {
				t.Errorf("%v", err)
			}
			if !m.FS.Exists("/run/up") {
				t.Error("the resume command has not run where the host ended")
			}
		})
	}
}

// A rebuild of the initial RAM disks that failed for another kernel is made up for by the next
// apply, although the disk of the running one is new; an apply after that rebuilds nothing.
func TestLab_failed_rebuild_is_repeated(t *testing.T) {
	t.Parallel()
	types := map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeETH}
	pci := ib.MustParsePCIAddress(labCard)
	for os, program := range map[labsim.OS]string{labsim.RHEL9: "dracut", labsim.Debian12: "update-initramfs"} {
		l, h, p := startHost(t, os)
		faults := l.Machine("h").Faults
		faults.Trap(program, 1, labsim.ProgramFault{Lie: true, Status: 1})
		if err := p.PersistLinkTypes(t.Context(), h, pci, types); err == nil {
			t.Errorf("%s: a failed rebuild passed for a success", os)
		}
		if ours := p.LinkTypePlaces(look(t, h), pci).Ours(); ours.Types == nil || !fact.Yes(ours.Stale) {
			t.Errorf("%s: after a failed rebuild: %+v", os, ours)
		}
		runs := 0
		faults.Trap(program, 0, labsim.ProgramFault{Do: func() { runs++ }})
		for range 2 {
			if err := p.PersistLinkTypes(t.Context(), h, pci, types); err != nil {
				t.Errorf("%s: %v", os, err)
			}
			if ours := p.LinkTypePlaces(look(t, h), pci).Ours(); !fact.No(ours.Stale) || runs != 1 {
				t.Errorf("%s: after %d rebuilds: %+v", os, runs, ours)
			}
		}
	}
}

// TestLab_installation_fails: what the package manager said reaches the reader.
func TestLab_installation_fails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		os      labsim.OS
		feature platform.Feature
		broken  func(*labsim.Machine)
		want    []string
	}{
		{labsim.Debian13, platform.FeatureOpenSM, func(m *labsim.Machine) { packages.SetOffline(m, true) },
			[]string{"installing opensm", "Temporary failure resolving"}},
		{labsim.RHEL9, platform.FeatureOpenSM, func(m *labsim.Machine) { packages.SetOffline(m, true) },
			[]string{"installing opensm", "Errors during downloading metadata for repository 'baseos'",
				"Refreshing the package lists failed too"}},
		{labsim.Arch, platform.FeatureRDMA, func(m *labsim.Machine) { packages.SetOffline(m, true) },
			[]string{"installing rdma-core", "failed retrieving file", "upgrade the system first (pacman -Syu)"}},
		{labsim.Arch, platform.FeatureRDMA, func(m *labsim.Machine) { packages.SetLock(m, 77) },
			[]string{"unable to lock database", "sudo rm /var/lib/pacman/db.lck"}},
	} {
		l, h, p := startHost(t, tt.os)
		tt.broken(l.Machine("h"))
		err := p.Install(t.Context(), h, p.PackagesFor(tt.feature, "")...)
		if err == nil {
			t.Errorf("%s: an installation succeeded", tt.os)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is missing in %v", tt.os, part, err)
			}
		}
	}
}

// TestLab_package_on_hold: an advice of this provider puts mstflint on hold. It is there.
func TestLab_package_on_hold(t *testing.T) {
	t.Parallel()
	l, h, p := startHost(t, labsim.Debian12)
	packages.SetHold(l.Machine("h"), "mstflint")
	if missing := platform.MissingPackages(p, look(t, h), platform.FeatureFirmware); len(missing) > 0 {
		t.Errorf("missing: %q", missing)
	}
	packages.SetOffline(l.Machine("h"), true)
	if err := p.Install(t.Context(), h, p.PackagesFor(platform.FeatureFirmware, "")...); err != nil {
		t.Errorf("what is on hold is installed again: %v", err)
	}
}
