package system

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/truenas"
)

const nasRow = `'{"ipv4_dhcp":false,"ipv6_auto":false,"aliases":[{"type":"INET","address":"10.10.10.2","netmask":24}],"mtu":2044}'`

// ipoibNAS brings the IPoIB interfaces of the TrueNAS host up: nothing there
// loads ib_ipoib by itself.
func ipoibNAS(w *testLab) {
	w.t.Helper()
	w.must(w.b, `midclt call system.advanced.update '{"kernel_extra_options":"mlx4_core.port_type_array=1,1 modules_load=ib_ipoib,ib_umad"}'`)
	if _, ok := w.b.Netdev("ibp1s0"); ok {
		w.t.Error("kernel options must wait for the next boot")
	}
	w.reboot(w.b)
	if _, ok := w.b.Netdev("ibp1s0"); !ok {
		w.t.Fatal("no IPoIB interface after boot")
	}
}

func TestTrueNASInterfaceTransaction(t *testing.T) {
	w := newTestLab(t, labsim.TrueNAS)
	ipoibNAS(w)
	w.must(w.b, "midclt call interface.update ibp1s0 "+nasRow)
	if d, _ := w.b.Netdev("ibp1s0"); d.Up {
		t.Error("update touched the kernel")
	}
	w.must(w.b, `midclt -t 180 call interface.commit '{"rollback":true,"checkin_timeout":60}'`)
	d, _ := w.b.Netdev("ibp1s0")
	if !d.Up || len(d.Addrs) != 1 || d.MTU != 2044 {
		t.Errorf("after commit: %+v", d)
	}
	w.lab.Clock.Skip(61e9)
	w.eventually("rollback", func() bool { d, _ := w.b.Netdev("ibp1s0"); return !d.Up && len(d.Addrs) == 0 })
	if e, _ := w.b.Netdev("eno1"); !e.Up || len(e.Addrs) != 1 {
		t.Errorf("eno1 %+v", e)
	}
}

func TestTrueNASUncommittedUpdateIsAppliedAtBoot(t *testing.T) {
	w := newTestLab(t, labsim.TrueNAS)
	ipoibNAS(w)
	w.must(w.b, "midclt call interface.update ibp1s0 "+nasRow)
	w.reboot(w.b)
	d, _ := w.b.Netdev("ibp1s0")
	if !d.Up || len(d.Addrs) != 1 || d.MTU != 2044 {
		t.Errorf("%+v", d)
	}
	if got := w.must(w.b, "midclt call interface.has_pending_changes"); got != "False\n" {
		t.Errorf("%q", got)
	}
}

func TestTrueNASModePersistsByRuleAndScript(t *testing.T) {
	w := newTestLab(t, labsim.TrueNAS)
	ipoibNAS(w)
	w.must(w.b, `echo x > /etc/udev/rules.d/70-hand.rules`)
	w.must(w.b, `midclt call -j -jp description tunable.create '{"type":"UDEV","var":"80-ipoib","value":"ACTION==\"add\", SUBSYSTEM==\"net\", ATTR{type}==\"32\", RUN+=\"/bin/sh -c '"'echo connected > /sys\$\$DEVPATH/mode'"'\""}'`)
	if w.b.FS.Exists("/etc/udev/rules.d/70-hand.rules") || !w.b.FS.Exists("/etc/udev/rules.d/80-ipoib.rules") {
		t.Error("a tunable wipes /etc/udev/rules.d and writes its own")
	}
	w.must(w.b, `midclt call initshutdownscript.create '{"type":"COMMAND","command":"echo post >> /root/ran","when":"POSTINIT"}'`)
	w.must(w.b, `midclt call initshutdownscript.create '{"type":"COMMAND","command":"echo down >> /root/ran","when":"SHUTDOWN"}'`)
	w.must(w.b, `midclt call system.reboot '"terraform: test"' '{"delay":1}'`)
	boots := w.b.Boots()
	w.waitForBoots(w.b, boots+1)
	w.eventually("POSTINIT ran", func() bool { return w.run(w.b, "systemctl is-active ix-postinit.service").stdout == "active\n" })
	if d, _ := w.b.Netdev("ibp1s0"); d.Mode != labsim.ModeConnected {
		t.Errorf("mode after boot: %+v", d)
	}
	if got := w.must(w.b, "cat /root/ran"); got != "down\npost\n" {
		t.Errorf("scripts: %q", got)
	}
}

func TestTrueNASFirstRowCutsTheManagement(t *testing.T) {
	w := newTestLab(t, labsim.TrueNAS, func(m *labsim.Machine) {
		if m.OS == labsim.TrueNAS {
			truenas.FreshDatabase(m)
		}
	})
	if e, _ := w.b.Netdev("eno1"); !e.Up || len(e.Addrs) != 1 {
		t.Fatalf("DHCP did not configure eno1: %+v", e)
	}
	ipoibNAS(w)
	w.must(w.b, "midclt call interface.update ibp1s0 "+nasRow)
	w.must(w.b, `midclt call interface.commit '{"checkin_timeout":30}'`)
	if e, _ := w.b.Netdev("eno1"); e.Up || len(e.Addrs) != 0 {
		t.Errorf("eno1 survived: %+v", e)
	}
	w.lab.Clock.Skip(31e9)
	w.eventually("rollback", func() bool { e, _ := w.b.Netdev("eno1"); return e.Up && len(e.Addrs) == 1 })
}

func TestMidcltCallers(t *testing.T) {
	w := newTestLab(t, labsim.TrueNAS)
	if r := w.as(w.b, "truenas_admin", "midclt call system.version"); r.status != 0 || r.stdout != "TrueNAS-25.10.3\n" {
		t.Errorf("%+v", r)
	}
	if r := w.as(w.b, "ops", "midclt call interface.query"); r.status != 1 ||
		!strings.HasPrefix(r.stderr, "[ENOTAUTHENTICATED] Not authenticated\nTraceback") {
		t.Errorf("%+v", r)
	}
	if r := w.run(w.b, "upsc ups@localhost:3493 ups.status"); r.status != 1 {
		t.Errorf("%+v", r)
	}
	truenas.SetUPS(w.b, "OB LB")
	if got := w.must(w.b, "for u in $(upsc -l); do upsc $u ups.status; done"); got != "OB LB\n" {
		t.Errorf("%q", got)
	}
}

func TestZpoolSaysWhatThePoolDoes(t *testing.T) {
	w := newTestLab(t, labsim.TrueNAS)
	if got := w.must(w.b, "zpool status"); strings.Count(got, "  pool: ") != 2 || strings.Contains(got, "in progress") {
		t.Errorf("%s", got)
	}
	truenas.SetScan(w.b, truenas.ScanResilver)
	if got := w.must(w.b, "zpool status"); !strings.Contains(got,
		"  pool: tank\n state: ONLINE\n  scan: resilver in progress since ") {
		t.Errorf("%s", got)
	}
}
