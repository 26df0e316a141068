//go:build testbed && linux

package testbed

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// twins are two hosts on one switch, twice: simulated, and real.
type twins struct {
	t    *testing.T
	lab  *labs.Lab
	loan *Loan
	n    int // answers that were compared
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	hosts := labs.Fleet(2)
	for i := range hosts {
		hosts[i].Switch, hosts[i].Cmdline = "switch", "mlx4_core.port_type_array=1,1"
		hosts[i].Packages = []string{"rdma-core", "infiniband-diags"}
		hosts[i].Cards[0].CapMask = 0x02514868 // without a target of SRP, which sets a bit
	}
	pool := NewPool(2)
	t.Cleanup(func() {
		if pool.testbed != nil {
			if err := pool.testbed.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	loan, cannot, err := pool.Lend(hosts)
	if err != nil || cannot != "" {
		t.Fatal(cannot, err)
	}
	t.Cleanup(loan.Release)
	lab, err := labs.Start(t.TempDir(), labsim.Options{Speed: 20}, hosts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	w := &twins{t: t, lab: lab, loan: loan}
	for _, h := range hosts {
		for _, m := range []string{"mlx4_ib", "ib_umad"} {
			if err := lab.Machine(h.Name).LoadModule(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

// runSimulated and runReal run a command as root on a host.
func (w *twins) runSimulated(host, command string) (string, int) {
	var out bytes.Buffer
	status := w.lab.Servers[host].Run(w.t.Context(), "root", command, strings.NewReader(""), &out, &out)
	return out.String(), status
}

func (w *twins) runReal(host, command string) (string, int) {
	return w.loan.Run(w.t.Context(), host, command)
}

// both runs a command on both, which must end with 0.
func (w *twins) both(host, command string) {
	w.t.Helper()
	for name, run := range map[string]func(string, string) (string, int){"simulated": w.runSimulated, "real": w.runReal} {
		if out, status := run(host, command); status != 0 {
			w.t.Fatalf("%s %s: %s: status %d\n%s", name, host, command, status, out)
		}
	}
}

// until waits until what a command prints matches, on both.
func (w *twins) until(host, command, pattern string) {
	w.t.Helper()
	match := regexp.MustCompile(pattern)
	for name, run := range map[string]func(string, string) (string, int){"simulated": w.runSimulated, "real": w.runReal} {
		for end := time.Now().Add(90 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			out, _ := run(host, command)
			if match.MatchString(out) {
				break
			}
			if time.Now().After(end) {
				w.t.Fatalf("%s %s: %s does not come to match %s:\n%s", name, host, command, pattern, out)
			}
		}
	}
}

var (
	activity = regexp.MustCompile(`(activity count |ActCount\.+)\d+`)
	// The tools print an errno that something earlier has left.
	stale = regexp.MustCompile(`(?m)^(ibpanic: .*): (Success|No such file or directory)$`)
)

// compare wants the same answer from both, byte for byte but for process ids, what
// a subnet manager has counted, a stale errno, and the name of the device: Ubuntu
// gives it one of its PCI address.
func (w *twins) compare(host, command string) {
	w.t.Helper()
	w.n++
	normal := func(out, device string) string {
		out = strings.ReplaceAll(ibsimtest.Normal(out), device, "DEVICE")
		return activity.ReplaceAllString(stale.ReplaceAllString(out, "$1: ERRNO"), "${1}N")
	}
	out, status := w.runSimulated(host, strings.ReplaceAll(command, "DEVICE", "ibp1s0"))
	want, wanted := w.runReal(host, strings.ReplaceAll(command, "DEVICE", "mlx4_0"))
	if diff := cmp.Diff(normal(want, "mlx4_0"), normal(out, "ibp1s0")); diff != "" {
		w.t.Errorf("%s: %s (-real +simulated):\n%s", host, command, diff)
	}
	if status != wanted {
		w.t.Errorf("%s: %s: status %d, the real one %d", host, command, status, wanted)
	}
}

// questions are asked in every state of the fabric.
func (w *twins) questions() {
	w.t.Helper()
	for _, host := range []string{"host0000", "host0001"} {
		for _, command := range []string{
			"ibstat", "ibstat -p", "ibstat -l", "ibstat -s", "ibstat DEVICE", "ibstat DEVICE 1", "ibstat DEVICE 2",
			"ibstat DEVICE 3", "ibstat -p DEVICE", "ibstat nope",
			"sminfo", "sminfo -C DEVICE -P 1", "sminfo -C nope -P 1", "sminfo -D 0",
			"saquery -g", "saquery -C DEVICE -P 1 -g", "saquery SMIR", "saquery -C DEVICE -P 1 SMIR",
			"saquery -C nope -P 1 SMIR",
			"smpquery -C DEVICE -P 1 -D pkeys 0", "smpquery pkeys 1 1", "smpquery -C nope -P 1 -D portinfo 0",
			"cat /sys/class/infiniband/DEVICE/ports/1/state /sys/class/infiniband/DEVICE/ports/1/lid /sys/class/infiniband/DEVICE/ports/1/sm_lid",
			"cat /sys/class/infiniband/DEVICE/ports/1/rate /sys/class/infiniband/DEVICE/ports/1/phys_state /sys/class/infiniband/DEVICE/ports/1/cap_mask",
		} {
			w.compare(host, command)
		}
	}
}

// manage configures and starts the subnet manager of a host on both.
func (w *twins) manage(host, port string, priority int) {
	w.t.Helper()
	const parts = "Default=0x7fff, ipoib : ALL=full ;\na=0x0001, ipoib : ALL=full ;\nb=0x0002, ipoib : SELF=full, ALL=limited ;\nc=0x0003, ipoib : ALL=full ;\n"
	w.both(host, fmt.Sprintf("mkdir -p /etc/opensm; printf 'sm_priority %d\nforce_log_flush TRUE\nsminfo_polling_timeout 1000\npolling_retry_number 2\n' >/etc/opensm/opensm.conf\n"+
		"printf '%s' >/etc/opensm/partitions.conf; echo 'PORTS=\"%s\"' >/etc/default/opensm", priority,
		strings.ReplaceAll(parts, "\n", `\n`), port))
	if out, status := w.runSimulated(host,
		"apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q opensm"); status != 0 {
		w.t.Fatal(out)
	}
	w.both(host, "systemctl start opensm.service")
}

// The tools that tell of ports and subnet managers, on the same two hosts: without
// a subnet manager, with one, with two, and after the first has died.
func TestContract_fabric(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	w.questions()
	w.manage("host0000", port1, 9)
	w.until("host0001", "sminfo", "priority 9 state 3")
	w.until("host0001", "smpquery -D pkeys 0", "0xffff 0x8001 0x0002")
	w.questions()
	w.manage("host0001", "0xe41d2d0300e44ee1", 5)
	w.until("host0001", "sminfo -D 0", "priority 5 state 2")
	w.until("host0000", "saquery SMIR", `(?s)SMState\D+[23].*SMState\D+[23]`)
	w.questions()
	w.both("host0000", "systemctl kill -s KILL opensm@"+port1+".service")
	w.until("host0001", "sminfo", "priority 5 state 3")
	w.until("host0001", "saquery SMIR", "SMState.*3")
	w.questions()
	t.Logf("%d answers were compared", w.n)
}
