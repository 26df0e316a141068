package acctest

import (
	"context"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// The host of the cases below, and a port that a resource asks for.
const (
	theHost = "h"
	thePort = "0x0011750000791fec"
)

// oneHost is a host of a system with one card.
func oneHost(os labsim.OS, kernel string, cards ...labsim.CardConfig) func() []labs.Host {
	return func() []labs.Host {
		h := labs.Server(theHost, os, "192.0.2.20", 0)
		h.Kernel = kernel
		if len(cards) > 0 {
			h.Cards = cards
		}
		return []labs.Host{h}
	}
}

func qibCard() labsim.CardConfig {
	return labsim.WithoutFlash("0000:01:00.0", labsim.QIB(), [3]uint16{},
		"", [4]uint64{0x0011750000791fec, 0x0011750000791fec, 0, 0x0011750000791fec})
}

func mthcaCard() labsim.CardConfig {
	return labsim.WithoutFlash("0000:01:00.0", labsim.MTHCA(), [3]uint16{5, 3, 0}, "MT_9230000001",
		[4]uint64{0x0002c90200298e00, 0x0002c90200298e01, 0x0002c90200298e02, 0x0002c90200298e03})
}

func connectX2() labsim.CardConfig {
	m := labsim.MLX4()
	m.Device, m.Name = 0x673c, "MT26428 [ConnectX VPI PCIe 2.0 5GT/s - IB QDR / 10GigE]"
	return labsim.WithoutFlash("0000:01:00.0", m, [3]uint16{2, 9, 1000}, "MT_9080120009",
		[4]uint64{0x0002c9030009e000, 0x0002c9030009e001, 0x0002c9030009e002, 0x0002c9030009e003})
}

func onPort(kind string, attrs map[string]any) func(*Lab) Config {
	all := map[string]any{"host": theHost, "port_guid": thePort}
	if kind == "infiniband_ipoib_interface" {
		all["addresses"] = []any{"172.16.0.20/24"}
	}
	return func(*Lab) Config { return Config{Resource{Type: kind, Name: "it", Attrs: all}.With(attrs)} }
}

func onCard(kind string, attrs map[string]any) func(*Lab) Config {
	all := map[string]any{"card_id": theHost + "/0000:01:00.0"}
	return func(*Lab) Config { return Config{Resource{Type: kind, Name: "it", Attrs: all}.With(attrs)} }
}

// platformFindings make each finding of the platforms appear.
func platformFindings() []findingCase {
	opensm := onPort("infiniband_opensm", nil)
	return []findingCase{
		{code: "PF001", hosts: oneHost(labsim.RHEL10, ""), config: opensm,
			says: []string{"built without mlx4", "ConnectX-4 or later"}},
		{code: "PF002", hosts: oneHost(labsim.Debian12, "6.1.0-28-cloud-amd64"),
			config: onPort("infiniband_ipoib_interface", nil), says: []string{"hold no ib_ipoib", "linux-image-amd64"}},
		{code: "PF003", hosts: func() []labs.Host { return boughtHost(func(h *labs.Host) { h.Modules = false }) },
			config: func(*Lab) Config { return sm(labs.Intel9, nil) },
			says:   []string{"Host intel9: linux-modules-extra-6.8.0-49-generic will be installed", "no ib_umad"}},
		{code: "PF004", hosts: oneHost(labsim.Arch, ""), config: onPort("infiniband_ipoib_interface", nil),
			says:    []string{"6.12.57-1-lts", "Restart the host"},
			prepare: func(w *Lab) { w.Machine(theHost).FS.Drop("/usr/lib/modules/6.12.57-1-lts") }},
		{code: "PF005", only: "modules that a boot does not load", says: []string{
			"intel9: ib_umad and mlx4_ib are not in /etc/modules-load.d/terraform-infiniband.conf"},
			config: func(w *Lab) Config { return w.port(nil) }, prepare: func(w *Lab) {
				drivers(w)
				w.Put(labs.Intel9, "/etc/systemd/system/infiniband-port-0000:01:00.0-1.service", platform.OwnedHeader("it"))
			}},
		{code: "PF008", only: "a root in memory", says: []string{"/ of " + theHost + " is an overlay that keeps changes in " +
			"/run/overlayfs, on a tmpfs.", "apply again after each restart"}, hosts: oneHost(labsim.Debian12, ""), config: opensm,
			prepare: func(w *Lab) { w.mounts(theHost, liveRoot) }},
		{code: "PF009", only: "a read-only /usr", says: []string{"opensm is not installed, and /usr of " + theHost + " is read-only.",
			"rpm-ostree install"}, hosts: oneHost(labsim.Fedora43, ""), config: opensm,
			prepare: func(w *Lab) { w.mounts(theHost, ostreeRoot) }},
		{code: "FW058", hosts: oneHost(labsim.RHEL10, ""), at: "card_id", says: []string{"built without mlx4"},
			config: func(w *Lab) Config { return w.burn(theHost, w.Image(ImageVPI), nil) }},
		{code: "LT005", hosts: oneHost(labsim.Debian12, "", mthcaCard()), at: "card_id",
			says:   []string{"InfiniHost III Ex (MT25208) uses ib_mthca"},
			config: onCard("infiniband_link_type", map[string]any{"ports": map[string]any{"1": "ib"}})},
	}
}

// TestPlatforms_refuse_what_they_cannot_do: every row of the support matrix that
// forbids something, as a plan says it.
func TestPlatforms_refuse_what_they_cannot_do(t *testing.T) {
	t.Parallel()
	opensm, ipoib := onPort("infiniband_opensm", nil), onPort("infiniband_ipoib_interface", nil)
	guids := onCard("infiniband_guids", map[string]any{"base_mac": "e4:1d:2d:e4:4e:d0"})
	burn := func(w *Lab) Config { return w.burn(theHost, w.Image(ImageVPI), nil) }
	openSUSE := func(w *Lab) {
		w.Machine(theHost).FS.Put("/etc/os-release",
			"ID=opensuse-leap\nID_LIKE=\"suse opensuse\"\nVERSION_ID=16.0\nPRETTY_NAME=\"openSUSE Leap 16.0\"\n", 0o644)
	}
	for _, c := range []struct {
		name    string
		hosts   func() []labs.Host
		prepare func(*Lab)
		config  func(*Lab) Config
		code    string // "" for an error without a code
		says    []string
	}{
		{name: "RHEL 10 and mlx4, IPoIB", hosts: oneHost(labsim.RHEL10, ""), config: ipoib, code: "PF001",
			says: []string{"RHEL 10", "built without mlx4"}},
		{name: "RHEL 10 and mlx4, link type", hosts: oneHost(labsim.RHEL10, ""), code: "LT008",
			says:   []string{"built without mlx4"},
			config: onCard("infiniband_link_type", map[string]any{"ports": map[string]any{"1": "ib", "2": "ib"}})},
		{name: "RHEL 9 and MT25208", hosts: oneHost(labsim.RHEL9, "", mthcaCard()), config: opensm, code: "PF001",
			says: []string{"InfiniHost III Ex (MT25208)", "built without ib_mthca", "Use Debian or Ubuntu"}},
		{name: "RHEL 9 and ConnectX-2", hosts: oneHost(labsim.RHEL9, "", connectX2()), config: opensm, code: "PF001",
			says: []string{"keep mlx4_core from ConnectX and ConnectX-2"}},
		{name: "RHEL 9 and QLogic", hosts: oneHost(labsim.RHEL9, "", qibCard()), config: opensm, code: "PF001",
			says: []string{"built without ib_qib"}},
		{name: "Ubuntu HWE 7.0 and QLogic", hosts: oneHost(labsim.Ubuntu, "7.0.0-14-generic", qibCard()), config: ipoib,
			code: "PF001", says: []string{"was removed from Linux with 6.17", "GA kernel"}},
		{name: "Arch 6.17 and QLogic", hosts: oneHost(labsim.Arch, "6.17.1-arch1-1", qibCard()), config: ipoib, code: "PF001",
			says: []string{"was removed from Linux with 6.17", "linux-lts"}},
		{name: "Ubuntu GA without its modules and QLogic", config: ipoib, code: "PF001",
			says: []string{"Install linux-modules-extra-6.8.0-49-generic"},
			hosts: func() []labs.Host {
				h := oneHost(labsim.Ubuntu, "", qibCard())()
				h[0].Modules = false
				return h
			}},
		{name: "Debian cloud kernel and MT25208", hosts: oneHost(labsim.Debian13, "6.12.48+deb13-cloud-amd64", mthcaCard()),
			config: opensm, code: "PF001", says: []string{"kernels for virtual machines"}},
		{name: "Arch has no opensm", hosts: oneHost(labsim.Arch, "", qibCard()), config: opensm, code: "SM001",
			says: []string{"Arch", "no package opensm"}},
		{name: "firmware on QLogic", hosts: oneHost(labsim.Debian12, "", qibCard()), config: burn, code: "FW040",
			says: []string{"QLogic IBA7322 (1077:7322)", "EEPROM", "Leave the resource out"}},
		{name: "firmware on MT25208", hosts: oneHost(labsim.Debian12, "", mthcaCard()), config: burn, code: "FW040",
			says: []string{"mstflint never knew InfiniHost"}},
		{name: "GUIDs on QLogic", hosts: oneHost(labsim.Debian12, "", qibCard()), config: guids, code: "FW040",
			says: []string{"QLogic IBA7322"}},
		{name: "GUIDs on MT25208", hosts: oneHost(labsim.Debian12, "", mthcaCard()), config: guids, code: "FW040",
			says: []string{"InfiniHost III Ex"}},
		{name: "link type on QLogic", hosts: oneHost(labsim.Debian12, "", qibCard()), code: "LT005",
			says:   []string{"QLogic IBA7322 uses ib_qib"},
			config: onCard("infiniband_link_type", map[string]any{"ports": map[string]any{"1": "ib"}})},
		{name: "unknown distribution, firmware", hosts: oneHost(labsim.Debian12, ""), prepare: openSUSE, config: burn,
			says: []string{`"openSUSE Leap 16.0", which is not supported`, "its cards can be read"}},
		{name: "unknown distribution, subnet manager", hosts: oneHost(labsim.Debian12, ""), prepare: openSUSE, config: opensm,
			code: "SM001", says: []string{"openSUSE Leap 16.0"}},
		{name: "unknown distribution, IPoIB", hosts: oneHost(labsim.Debian12, ""), prepare: openSUSE, config: ipoib,
			code: "IP001", says: []string{"openSUSE Leap 16.0"}},
		{name: "TrueNAS CORE", hosts: oneHost(labsim.Debian12, ""), prepare: freeBSD, config: opensm,
			says: []string{"runs FreeBSD 13.1-RELEASE-p9", "TrueNAS CORE is FreeBSD"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: c.hosts()})
			if c.prepare != nil {
				c.prepare(w)
			}
			plan, err := w.Workspace().Plan(context.Background(), c.config(w))
			if err != nil {
				t.Fatal(err)
			}
			text, blocked := "", false
			for _, d := range plan.Diags {
				if c.code == "" && d.Error || strings.Contains(d.Detail, "Finding: "+c.code) {
					text += d.Summary + "\n" + d.Detail + "\n"
					blocked = blocked || d.Error
				}
			}
			if !blocked {
				t.Fatalf("the plan is not refused with %q:\n%s", c.code, plan.Diags)
			}
			for _, part := range c.says {
				if !strings.Contains(text, part) {
					t.Errorf("%q is missing in:\n%s", part, text)
				}
			}
		})
	}
}

// freeBSD makes a host answer as one without Linux's /proc.
func freeBSD(w *Lab) {
	m := w.Machine(theHost)
	m.FS.Drop("/proc/sys/kernel/osrelease")
	w.tool(theHost, "/usr/bin/uname", func(_ context.Context, p *labsim.Proc, _ labsim.Program) int {
		p.Printf("FreeBSD 13.1-RELEASE-p9\n")
		return 0
	})
}

// TestPlatforms_unknown_distribution_is_read: a card of a host that cannot be
// changed is adopted, with everything that is observed of it.
func TestPlatforms_unknown_distribution_is_read(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: oneHost(labsim.Debian12, "")()})
	w.Machine(theHost).FS.Put("/etc/os-release",
		"ID=opensuse-leap\nID_LIKE=\"suse opensuse\"\nVERSION_ID=16.0\nPRETTY_NAME=\"openSUSE Leap 16.0\"\n", 0o644)
	config := Config{Resource{Type: "infiniband_card", Name: "it",
		Attrs: map[string]any{"host": theHost, "pci_address": "0000:01:00.0"}}}
	ws := w.Workspace()
	plan, err := ws.Plan(context.Background(), config)
	if err != nil || plan.Diags.HasError() {
		t.Fatalf("%v\n%s", err, plan.Diags)
	}
	if diags, applyErr := ws.Apply(context.Background(), plan); applyErr != nil || diags.HasError() {
		t.Fatalf("%v\n%s", applyErr, diags)
	}
	shown, _, err := ws.Data(context.Background(), "infiniband_cards", nil)
	if got := At(shown, "cards", theHost+"/0000:01:00.0", "flash_psid"); err != nil || got != card.PSIDVPI {
		t.Errorf("psid %v: %v", got, err)
	}
}
