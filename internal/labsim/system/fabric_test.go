package system

import (
	"os"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/packages"
)

func (w *testLab) portState(m *labsim.Machine) string {
	w.t.Helper()
	return strings.TrimSpace(w.must(m, "cat /sys/class/infiniband/*/ports/1/state"))
}

func TestOpensmInstallStartsOnEveryPort(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	out := w.must(w.a, "DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends opensm")
	if !strings.Contains(out, "Setting up opensm (3.3.23-3) ...\n") {
		t.Errorf("%s", out)
	}
	w.eventually("ports active", func() bool { return w.portState(w.b) == "4: ACTIVE" })
	if got := w.must(w.a, "systemctl is-active opensm opensm@"+portA+
		" opensm@0xe41d2d0300e44e02"); got != "active\nactive\nactive\n" {
		t.Errorf("%q", got)
	}
	if got := w.must(w.a, "dpkg-query -W -f='${db:Status-Status} ${Version}\\n' opensm"); got != "installed 3.3.23-3\n" {
		t.Errorf("%q", got)
	}
}

func (w *testLab) pinPriority(m *labsim.Machine, guid, priority string) {
	w.must(m, `mkdir -p /etc/opensm; echo 'PORTS="`+guid+`"' > /etc/default/opensm; echo sm_priority `+priority+
		` > /etc/opensm/opensm.conf`)
	w.must(m, "DEBIAN_FRONTEND=noninteractive apt-get install -y opensm")
}

func TestOpensmElectionAndPersistence(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.pinPriority(w.a, portA, "5")
	w.eventually("master", func() bool { return strings.Contains(w.run(w.b, "sminfo").stdout, "priority 5 state 3 SMINFO_MASTER") })
	w.pinPriority(w.b, "0xe41d2d0300e44e11", "14")
	w.eventually("the higher priority takes over", func() bool {
		return strings.Contains(w.run(w.a, "sminfo").stdout, "sm guid 0xe41d2d0300e44e11,")
	})
	w.must(w.b, "echo sm_priority 1 > /etc/opensm/opensm.conf; systemctl kill -s HUP 'opensm@*.service'")
	w.eventually("HUP re-reads the priority", func() bool {
		return strings.Contains(w.run(w.b, "sminfo").stdout, "sm guid 0xe41d2d0300e44e01, ")
	})
	w.must(w.a, "systemctl stop opensm")
	if got := w.run(w.a, "systemctl is-active opensm@"+portA).stdout; got != "inactive\n" {
		t.Errorf("PartOf: %q", got)
	}
	w.reboot(w.a)
	w.eventually("the SM is back after a reboot", func() bool {
		return strings.Contains(w.run(w.b, "sminfo").stdout, "sm guid 0xe41d2d0300e44e01, ")
	})
	if log := w.must(w.a, "cat /var/log/opensm."+portA+".log"); !strings.Contains(log, "Entering MASTER state") {
		t.Errorf("log:\n%s", log)
	}
}

func TestOpensmExitsZeroWhenItCannotBind(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	w.pinPriority(w.a, "0xe41d2d0300e4ffff", "5")
	unit := "opensm@0xe41d2d0300e4ffff"
	w.eventually("opensm gives up", func() bool { return w.run(w.a, "systemctl is-active "+unit).stdout == "inactive\n" })
	if got := w.show(w.a, unit, "Result", "ExecMainStatus"); got != "Result=success\nExecMainStatus=0" {
		t.Errorf("%q", got)
	}
	if log := w.must(w.a, "journalctl -o cat -u "+unit); !strings.Contains(log, "Error from osm_opensm_bind (0x2A)\n") {
		t.Errorf("journal:\n%s", log)
	}
	if r := w.run(w.a, "sminfo"); r.status != 255 || r.stdout != "sminfo: iberror: failed: query\n" {
		t.Errorf("%+v", r)
	}
}

func TestOpensmIsSkippedWithoutUmad(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	if err := w.a.UnloadModule("ib_umad"); err != nil {
		t.Fatal(err)
	}
	w.must(w.a, "DEBIAN_FRONTEND=noninteractive apt-get install -y opensm; systemctl start opensm")
	if got := w.run(w.a, "systemctl is-active opensm"); got.stdout != "inactive\n" {
		t.Errorf("%+v: a unit whose condition fails is skipped without an error", got)
	}
}

func TestIbstatLooksLikeTheRealOne(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	got := w.must(w.a, "ibstat")
	sample, err := os.ReadFile("testdata/ibstat-cx3-two-ports-active.txt")
	if err != nil {
		t.Fatal(err)
	}
	keys := func(s string) string {
		var out []string
		for _, l := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
			k, _, _ := strings.Cut(l, ":")
			if strings.HasPrefix(l, "CA ") {
				k = "CA"
			}
			out = append(out, k)
		}
		return strings.Join(out, "\n")
	}
	if keys(got) != keys(string(sample)) {
		t.Errorf("layout:\n%s\nwant\n%s", keys(got), keys(string(sample)))
	}
	if got := w.must(w.a, "ibstat -p"); got != portA+"\n0xe41d2d0300e44e02\n" {
		t.Errorf("%q", got)
	}
	if got := w.must(w.a, "ibhosts"); got != "Ca\t: 0xe41d2d0300e44e10 ports 2 \"b ibp1s0\"\nCa\t: 0xe41d2d0300e44e00 ports 2 \"a ibp1s0\"\n" {
		t.Errorf("%q", got)
	}
}

func TestPing(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu)
	up := func(m *labsim.Machine, addr string) {
		w.must(m, "echo connected > /sys/class/net/ibp1s0/mode; ip link set ibp1s0 up; ip addr add "+addr+" dev ibp1s0")
	}
	up(w.a, "10.9.9.1/24")
	up(w.b, "10.9.9.2/24")
	if r := w.run(w.a, "ping -c 3 -W 1 10.9.9.2"); r.status != 1 ||
		!strings.Contains(r.stdout, "Destination Host Unreachable") {
		t.Errorf("without a subnet manager: %+v", r)
	}
	w.pinPriority(w.a, portA, "5")
	w.eventually("ping", func() bool { return w.run(w.a, "ping -c 1 -W 1 10.9.9.2").status == 0 })
	big := w.must(w.a, "ping -c 2 -M do -s 65492 10.9.9.2")
	if !strings.HasPrefix(big, "PING 10.9.9.2 (10.9.9.2) 65492(65520) bytes of data.\n65500 bytes from 10.9.9.2: icmp_seq=1 ttl=64 time=") ||
		!strings.Contains(big, "2 packets transmitted, 2 received, 0% packet loss, time ") {
		t.Errorf("%s", big)
	}
	w.must(w.b, "echo datagram > /sys/class/net/ibp1s0/mode")
	if r := w.run(w.b, "ping -c 1 -W 1 -M do -s 65492 10.9.9.1"); r.status != 1 ||
		!strings.HasPrefix(r.stderr, "ping: local error: message too long, mtu=2044\n") {
		t.Errorf("%+v", r)
	}
}

func TestAptRefusals(t *testing.T) {
	w := newTestLab(t, labsim.TrueNAS)
	if r := w.as(w.a, "ops", "apt-get install -y opensm"); r.status != 100 ||
		!strings.HasPrefix(r.stderr, "E: Could not open lock file /var/lib/dpkg/lock-frontend") {
		t.Errorf("%+v", r)
	}
	packages.SetLock(w.a, 1234)
	if r := w.run(w.a, "apt-get install -y opensm"); r.status != 100 ||
		!strings.Contains(r.stderr, "It is held by process 1234") {
		t.Errorf("%+v", r)
	}
	packages.SetLock(w.a, 0)
	packages.SetOffline(w.a, true)
	if r := w.run(w.a, "DEBIAN_FRONTEND=noninteractive apt-get install -y opensm"); r.status != 100 ||
		w.a.FS.Exists("/usr/sbin/opensm") {
		t.Errorf("%+v", r)
	}
	if r := w.run(w.a, "dpkg-query -W opensm"); r.status != 1 ||
		r.stderr != "dpkg-query: no packages found matching opensm\n" {
		t.Errorf("%+v", r)
	}
	if r := w.run(w.b, "apt-get install -y opensm"); r.status != 1 ||
		!strings.HasPrefix(r.stdout, "Package management tools are disabled on TrueNAS appliances.\n") {
		t.Errorf("%+v", r)
	}
}

func TestInstallMstflint(t *testing.T) {
	w := newTestLab(t, labsim.Ubuntu, func(m *labsim.Machine) { packages.SetVersion(m, "mstflint", "") })
	if w.a.FS.Exists("/usr/bin/mstflint") {
		t.Fatal("the host has mstflint already")
	}
	w.must(w.a, "DEBIAN_FRONTEND=noninteractive apt-get install -y mstflint")
	if out := w.must(w.a, "mstflint -v"); !strings.Contains(out, "4.26.0") {
		t.Errorf("%q", out)
	}
}
