//go:build reallab && linux

package reallab_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
)

func TestMain(m *testing.M) {
	card.SmallImages() // before a test builds one
	os.Exit(m.Run())
}

// rack is two machines. One begins as a copy of one that has booted, the other with a boot.
type rack struct {
	*testing.T
	lab *reallab.Lab
}

// TestMachines: copies are machines of their own, built as one that boots is; they lose
// with their power what was not on their disk, and boot from it; one that does not come
// back is an error at once. None reaches anything outside.
func TestMachines(t *testing.T) {
	t.Parallel()
	if err := machine.Prepare(t.Context(), machine.Need{Machines: 2, Suites: []string{machine.Bookworm}}); err != nil {
		t.Fatal(err)
	}
	hosts := []reallab.Host{reallab.NewHost("one", 0), reallab.NewHost("other", 1)}
	hosts[1].Cmdline = "mlx4_core.log_mtts_per_seg=4"
	begin := time.Now()
	lab, err := reallab.Start(t.Context(), labDir(t), hosts)
	if err != nil {
		t.Fatal(err)
	}
	r := &rack{t, lab}
	defer func() {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Logf("two machines were started in %s", time.Since(begin).Round(100*time.Millisecond))
	r.await("one")
	r.await("other")
	t.Logf("both answer after %s", time.Since(begin).Round(100*time.Millisecond))
	if ids := [2]string{r.identity("one"), r.identity("other")}; ids[0] == ids[1] {
		t.Errorf("two machines have the machine-id %s", ids[0])
	}
	if got := r.on("other", "cat /sys/module/mlx4_core/parameters/log_mtts_per_seg"); got != "4" {
		t.Errorf("the module parameter of the command line is %s", got)
	}
	r.nothingOutside("one")
	r.powerCut()
	r.neverBack("other")
}

// on runs a command as root and gives what it prints, without space around it.
func (r *rack) on(name, command string) string {
	r.Helper()
	out, err := r.lab.Run(r.Context(), name, command)
	if err != nil {
		r.Errorf("%s: %s: %v\n%s", name, command, err, out)
	}
	return strings.TrimSpace(out)
}

func (r *rack) await(name string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Minute) // beside other labs
	defer cancel()
	if err := r.lab.Await(ctx, name); err != nil {
		r.Fatal(err)
	}
}

// identity compares a machine with what it is to be and gives its machine-id.
func (r *rack) identity(name string) string {
	r.Helper()
	lines := strings.Fields(r.on(name, "hostname; date +%s; cat /etc/machine-id; systemctl is-system-running; "+
		"journalctl -q -n 1 -o export | grep -c ^MESSAGE="))
	if len(lines) != 5 {
		r.Fatalf("%s says of itself %q", name, lines)
	}
	if lines[0] != name || lines[3] != "running" || lines[4] == "0" {
		r.Errorf("%s says of itself %q", name, lines)
	}
	now, err := strconv.ParseInt(lines[1], 10, 64)
	if late := time.Since(time.Unix(now, 0)); err != nil || late.Abs() > 10*time.Second {
		r.Errorf("the clock of %s is late by %s (%v)", name, late, err)
	}
	return lines[2]
}

// nothingOutside: a machine reaches neither this computer, at any of its addresses, nor a
// nameserver, and is told so at once. A server of the test stands for all that is outside.
func (r *rack) nothingOutside(name string) {
	r.Helper()
	l, err := (&net.ListenConfig{}).Listen(r.Context(), "tcp4", ":0")
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		r.Fatal(err)
	}
	addresses := []string{"10.0.2.2"} // QEMU's for this computer
	own, err := net.InterfaceAddrs()
	if err != nil {
		r.Fatal(err)
	}
	for _, a := range own {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			addresses = append(addresses, ip.IP.String())
		}
	}
	begin := time.Now()
	for _, a := range addresses {
		out := r.on(name, "timeout 20 bash -c '</dev/tcp/"+a+"/"+port+"' 2>&1; echo status $?")
		if !strings.HasSuffix(out, "status 1") {
			r.Errorf("%s reaches %s, or waits for it: %s", name, a, out)
		}
	}
	if out := r.on(name, "timeout 20 getent hosts example.org; echo status $?"); out != "status 2" {
		r.Errorf("%s asks a nameserver: %s", name, out)
	}
	r.Logf("%s reaches none of %q, and no nameserver, after %s", name, addresses,
		time.Since(begin).Round(100*time.Millisecond))
}

// hardware is what the kernel sees of the machine, of its card and of the card's driver.
const hardware = "cat /proc/bus/pci/devices | cut -f 1-2; ls -v /sys/class/net; cat /proc/meminfo | head -n 1;" +
	"readlink /sys/bus/pci/devices/" + reallab.PCIAddress + "/driver; lsmod | awk '/mlx4/ {print $1}' | sort"

// powerCut takes the power from a copy. Only what was on its disk is there when it has
// booted, and it is built as before.
func (r *rack) powerCut() {
	r.Helper()
	before := r.on("one", hardware)
	if !strings.Contains(before, "mlx4_core") || !strings.Contains(before, "enp1s0") {
		r.Errorf("the driver has not taken the card that was plugged in:\n%s", before)
	}
	r.on("one", "echo kept >/var/tmp/kept; sync; echo lost >/var/tmp/lost")
	m := r.lab.Machines["one"]
	m.Cut()
	begin := time.Now()
	if err := m.Start(r.Context()); err != nil {
		r.Fatal(err)
	}
	r.await("one")
	r.Logf("one has booted in %s", time.Since(begin).Round(100*time.Millisecond))
	if got := r.on("one", "cat /var/tmp/kept /var/tmp/lost 2>/dev/null || true"); got != "kept" {
		r.Errorf("after the power cut the disk has %q", got)
	}
	if after := r.on("one", hardware); after != before {
		r.Errorf("the machine that has booted is another one:\n%s\nThe copy was:\n%s", after, before)
	}
	r.Log("boot: " + r.on("one", "systemd-analyze | head -n 1; systemd-analyze blame | head -n 12"))
	if n := m.Boots(); n != 2 {
		r.Errorf("it was started %d times, want 2", n)
	}
}

// neverBack: a kernel that panics stays down, which is said long before the time is up.
func (r *rack) neverBack(name string) {
	r.Helper()
	_, _ = r.lab.Run(r.Context(), name, "(sleep 1; echo c >/proc/sysrq-trigger) >/dev/null 2>&1 &") // may take the connection along
	for begin := time.Now(); !strings.Contains(r.lab.Machines[name].Console(50), "Kernel panic"); time.Sleep(100 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			r.Fatalf("no panic:\n%s", r.lab.Machines[name].Console(50))
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Minute)
	defer cancel()
	begin := time.Now()
	err := r.lab.Await(ctx, name)
	if err == nil || !strings.Contains(err.Error(), "sysrq triggered crash") || !strings.Contains(err.Error(), fmt.Sprintf("%s does not come back", name)) {
		r.Errorf("a machine whose kernel has panicked: %v", err)
	}
	if took := time.Since(begin); took > 2*time.Minute {
		r.Errorf("it took %s to say so", took)
	}
}
