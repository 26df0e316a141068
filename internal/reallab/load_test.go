//go:build reallab && linux

package reallab_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
)

// each is how long each kind of load lasts.
var each = flag.Duration("load.each", time.Minute, "how long each kind of load lasts")

// loadLab is four machines, two on each of two switches.
type loadLab struct {
	*testing.T
	*reallab.Lab
	names []string
}

const isl = 12 // the port of both switches with the link between them

// loadMegabytes is the memory of a machine: enough for a stock Debian under load, so that
// four of them leave room for other tests.
const loadMegabytes = 448

func newLoadLab(t *testing.T) *loadLab {
	need := machine.Need{Machines: 4, Suites: []string{machine.Bookworm}, Megabytes: loadMegabytes}
	if err := machine.Prepare(t.Context(), need); err != nil {
		t.Fatal(err)
	}
	l := &loadLab{T: t, names: []string{"one", "two", "three", "four"}}
	o := reallab.Options{Switches: []reallab.Switch{{Name: "left"}, {Name: "right"}},
		Cables: []reallab.Cable{{{Node: "left", Port: isl}, {Node: "right", Port: isl}}}}
	var hosts []reallab.Host
	for i, name := range l.names {
		h := reallab.NewHost(name, i)
		h.Slots[0].Card.Image, h.Slots[0].Card.GUIDs = card.VPI(), card.GUIDsFromBase(card.GUIDFromMAC(reallab.BaseMAC(i)))
		h.Cmdline, h.Megabytes = "mlx4_core.port_type_array=1,1", loadMegabytes
		hosts = append(hosts, h)
		o.Cables = append(o.Cables, reallab.Cable{{Node: name}, {Node: o.Switches[i/2].Name, Port: 1 + i%2}})
	}
	begin := time.Now()
	lab, err := reallab.StartWith(t.Context(), labDir(t), hosts, o)
	if err != nil {
		t.Fatal(err)
	}
	l.Lab = lab
	t.Cleanup(l.end)
	for _, name := range l.names {
		l.await(name, 10*time.Minute, "true")
	}
	t.Logf("four machines answer after %s, QEMU has %d MiB", time.Since(begin).Round(time.Second), l.memory())
	return l
}

func (l *loadLab) end() {
	if l.Failed() {
		for _, name := range l.names {
			l.Logf("console of %s:\n%s", name, l.Machines[name].Console(20))
		}
	}
	if err := l.Close(); err != nil {
		l.Error(err)
	}
}

// memory is what the machines have of this computer's, in MiB.
func (l *loadLab) memory() (sum int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		if b, _ := os.ReadFile(file); !strings.Contains(string(b), l.Dir) || !strings.Contains(string(b), "qemu-system") {
			continue
		}
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status); m != nil {
			n, _ := strconv.Atoi(string(m[1]))
			sum += n / 1024
		}
	}
	return sum
}

// await runs a command until it succeeds.
func (l *loadLab) await(name string, patience time.Duration, command string) {
	l.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		out, err := l.Lab.Run(l.Context(), name, command)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			l.Fatalf("%s: %s: %v\n%s", name, command, err, out)
		}
	}
}

func (l *loadLab) on(name, command string) string {
	l.Helper()
	out, err := l.Lab.Run(l.Context(), name, command)
	if err != nil {
		l.Errorf("%s: %s: %v\n%s", name, command, err, out)
	}
	return out
}

func address(i int) string { return fmt.Sprintf("172.16.0.%d", i+1) }

// bringUp starts a subnet manager and IPoIB in connected mode.
func (l *loadLab) bringUp() {
	l.Helper()
	var all sync.WaitGroup
	for i, name := range l.names {
		all.Go(func() {
			l.on(name, "modprobe -a mlx4_ib ib_umad ib_uverbs ib_ipoib && until [ -e /sys/class/net/ibp1s0 ]; do sleep 0.2; done; "+
				"echo connected >/sys/class/net/ibp1s0/mode; ip link set dev ibp1s0 mtu 65520 up; ip addr add "+address(i)+"/24 dev ibp1s0")
		})
	}
	all.Wait()
	l.on("one", "systemd-run -q opensm")
	for _, name := range l.names {
		for i := range l.names {
			l.await(name, 2*time.Minute, "ping -c 1 -W 2 "+address(i))
		}
	}
}

// pairs are the streams of a load: from the third machine to the first, and from the
// second to the fourth, so that both go over the link between the switches, one each way.
var pairs = [][2]int{{2, 0}, {1, 3}}

// untilStreams is how long a server has to start.
const untilStreams = 3 * time.Second

// load runs a client and a server on each pair, and gives what the clients print.
func (l *loadLab) load(server, client string) (out []string) {
	l.Helper()
	out = make([]string, len(pairs))
	var all sync.WaitGroup
	for i, p := range pairs {
		all.Go(func() {
			from, to := l.names[p[0]], l.names[p[1]]
			l.on(to, "systemctl reset-failed load 2>/dev/null; systemd-run -q -u load --collect "+server)
			time.Sleep(untilStreams)
			out[i] = l.on(from, fmt.Sprintf("timeout %d %s %s", int(each.Seconds())+60, client, address(p[1])))
			l.Lab.Run(l.Context(), to, "systemctl stop load") //nolint:errcheck // most servers have ended with their client
		})
	}
	all.Wait()
	return out
}

// seconds is each as the tools take it.
func seconds() string { return strconv.Itoa(int(each.Seconds())) }

// tcp measures TCP over IPoIB, and gives the bytes that were sent.
func (l *loadLab) tcp() float64 {
	l.Helper()
	before, kept := l.counters(), l.stacks()
	sent := l.streams(true)
	after := l.counters()
	l.lossless(kept)
	var packets uint64
	for _, name := range l.names {
		packets += after[name].received - before[name].received
	}
	l.Logf("over both pairs: %.0f packets/s into the machines", float64(packets)/each.Seconds())
	return sent
}

// stream is what iperf3 reports of one.
type stream struct {
	Error     string
	Intervals []struct{ Sum struct{ Bytes float64 } }
	End       struct {
		Sent struct {
			Bytes       float64
			Retransmits int
		} `json:"sum_sent"`
		Received struct {
			Bits float64 `json:"bits_per_second"`
		} `json:"sum_received"`
	}
}

// silence is the longest time in seconds in which nothing was sent.
func (s stream) silence() (longest int) {
	now := 0
	for _, i := range s.Intervals {
		if now++; i.Sum.Bytes > 0 {
			now = 0
		}
		longest = max(longest, now)
	}
	return longest
}

// stuck is a silence that no busy machine explains: by then TCP has tried again four times.
const stuck = 5

// streams runs TCP on both pairs, and gives the bytes that were sent. Undisturbed ones do
// not pause.
func (l *loadLab) streams(undisturbed bool) (sent float64) {
	l.Helper()
	for i, out := range l.load("iperf3 -s -1", "iperf3 -J -t "+seconds()+" -c") {
		var report stream
		if err := json.Unmarshal([]byte(out), &report); err != nil || report.Error != "" || report.End.Received.Bits == 0 {
			l.Errorf("iperf3: %v\n%s", err, out)
			continue
		}
		l.Logf("iperf3, pair %d: %.0f Mbit/s, %d retransmits, silent for %d s", i+1, report.End.Received.Bits/1e6,
			report.End.Sent.Retransmits, report.silence())
		if undisturbed && report.silence() >= stuck {
			l.Errorf("pair %d has sent nothing for %d s: a queue was stuck", i+1, report.silence())
		}
		sent += report.End.Sent.Bytes
	}
	return sent
}

// rdma measures with a program of perftest.
func (l *loadLab) rdma(program string) {
	l.Helper()
	const size = 65536
	command := fmt.Sprintf("%s -F -s %d -D %s", program, size, seconds())
	line := regexp.MustCompile(`(?m)^ *65536 +(\d+) +\S+ +(\S+)`)
	for i, out := range l.load(command, command) {
		m := line.FindStringSubmatch(out)
		if m == nil {
			l.Errorf("%s:\n%s", program, out)
			continue
		}
		rate, _ := strconv.ParseFloat(m[2], 64) // MiB/s
		if rate == 0 {
			l.Errorf("%s: %s", program, m[0])
		}
		l.Logf("%s, pair %d: %s messages, %.0f Mbit/s", program, i+1, m[1], rate*8*1.048576)
	}
}

// stacks are the counters of TCP and of the interface of each machine, by machine and name.
func (l *loadLab) stacks() map[string]map[string]int {
	l.Helper()
	all := map[string]map[string]int{}
	for _, name := range l.names {
		all[name] = map[string]int{}
		out := l.on(name, "nstat -asz | awk 'NR > 1 {print $1, $2}'; cd /sys/class/net/ibp1s0/statistics && grep . [rt]x_dropped [rt]x_errors | tr : ' '; "+
			"tc -s qdisc show dev ibp1s0 | sed -n 's/.*(dropped \\([0-9]*\\),.*/queue_dropped \\1/p'")
		for row := range strings.Lines(out) {
			var counter string
			var n int
			if _, err := fmt.Sscan(row, &counter, &n); err == nil {
				all[name][counter] = n
			}
		}
	}
	return all
}

// unanswered is how many repeated segments may lack the answer that they had arrived
// before: that of the last ones is under way when the counters are read.
const unanswered = 2

// lossless holds that nothing was lost: in connected mode the cards repeat what does not
// arrive. No interface has dropped a packet. TCP may take for lost what is late, as a machine
// with one processor is, and repeat it; then the other end says that it has it already.
func (l *loadLab) lossless(before map[string]map[string]int) {
	l.Helper()
	for name, after := range l.stacks() {
		since := func(counter string) int { return after[counter] - before[name][counter] }
		repeated, had := since("TcpRetransSegs"), since("TcpExtTCPDSACKRecv")
		l.Logf("%s: %d segments sent, %d repeated, of which the other end had %d", name, since("TcpOutSegs"), repeated, had)
		if repeated > had+unanswered || since("TcpOutSegs") == 0 {
			l.Errorf("%s has lost segments: %d sent, %d repeated, of which the other end had %d", name, since("TcpOutSegs"), repeated, had)
		}
		for _, counter := range []string{"rx_dropped", "tx_dropped", "rx_errors", "tx_errors", "queue_dropped"} {
			if n := since(counter); n != 0 {
				l.Errorf("%s: %s has grown by %d", name, counter, n)
			}
		}
	}
}

// counted is what a port has sent and received.
type counted struct{ bytes, sent, received uint64 }

// counters are those of the machines' ports, and of the ports of switches by name and number.
// awk prints large numbers whole only if it is told to.
func (l *loadLab) counters() map[string]counted {
	l.Helper()
	all := map[string]counted{}
	out := l.on("one", `ibnetdiscover -p | awk '/ - / && ($1 == "CA" || $1 == "SW") {print $2, $3}' | sort -u | while read lid port; do
perfquery -x $lid $port | awk -v at="$lid $port" -F: '{gsub(/[.]/, "", $2)} /PortXmitData/ {b = $2} /PortXmitPkts/ {s = $2} /PortRcvPkts/ {r = $2} END {printf "%s %.0f %.0f %.0f\n", at, b * 4, s, r}'
done`)
	for _, row := range strings.Split(strings.TrimSpace(out), "\n") {
		var lid, port int
		var c counted
		if _, err := fmt.Sscan(row, &lid, &port, &c.bytes, &c.sent, &c.received); err != nil {
			l.Fatalf("counters: %v: %q in\n%s", err, row, out)
		}
		all[fmt.Sprint(lid, " ", port)] = c
	}
	for _, name := range l.names {
		lid := strings.TrimSpace(l.on(name, "printf %d $(cat /sys/class/infiniband/*/ports/1/lid)"))
		all[name] = all[lid+" 1"]
	}
	return all
}

// agree holds that both ends of each cable have counted the same, but for what was asked
// meanwhile.
func (l *loadLab) agree() {
	l.Helper()
	out := l.on("one", "ibnetdiscover -p")
	counters := l.counters()
	const meanwhile = 2000
	cables := 0
	for _, m := range regexp.MustCompile(`(?m)^(?:CA|SW) +(\d+) +(\d+) .* - (?:CA|SW) +(\d+) +(\d+) `).FindAllStringSubmatch(out, -1) {
		near, far := counters[m[1]+" "+m[2]], counters[m[3]+" "+m[4]]
		cables++
		if d := int64(near.sent) - int64(far.received); d > meanwhile || d < -meanwhile || near.sent == 0 {
			l.Errorf("%s.%s has sent %d packets, %s.%s received %d", m[1], m[2], near.sent, m[3], m[4], far.received)
		}
	}
	if cables != 10 {
		l.Errorf("%d ends of cables in\n%s", cables, out)
	}
}

// quiet holds that no driver complains, and that everybody reaches everybody.
func (l *loadLab) quiet(when string) {
	l.Helper()
	for _, name := range l.names {
		complaints, _ := l.Lab.Run(l.Context(), name, "dmesg | grep -E 'mlx4|ib0|ibp1s0|infiniband|watchdog|hung|BUG:|WARNING:' | "+
			"grep -iE 'timeout|timed out|fail|stuck|error|hung|bug:|warning:'")
		if complaints != "" {
			l.Errorf("%s: %s says:\n%s", when, name, complaints)
		}
		for i := range l.names {
			if out, err := l.Lab.Run(l.Context(), name, "ping -c 3 -i 0.2 -W 5 -M do -s 65000 "+address(i)); err != nil {
				l.Errorf("%s: %s does not reach %s: %s", when, name, l.names[i], out)
			}
		}
	}
}

// TestLoad: four machines on two switches load the fabric for minutes: nothing is lost,
// nothing gets stuck, and the counters agree with what was sent. A link that is pulled
// in the middle comes back, and what runs over it goes on.
func TestLoad(t *testing.T) {
	l := newLoadLab(t)
	l.bringUp()
	before := l.counters()
	sent := l.tcp()
	after := l.counters()
	counted := float64(after["three"].bytes - before["three"].bytes + after["two"].bytes - before["two"].bytes)
	if counted < sent || counted > 1.1*sent {
		t.Errorf("iperf3 has sent %.0f bytes, and the ports counted %.0f", sent, counted)
	}
	for _, program := range []string{"ib_write_bw", "ib_send_bw", "ib_read_bw"} {
		l.rdma(program)
	}
	l.agree()
	l.quiet("after the load")
	if out := l.on("one", "ibqueryerrors"); !strings.Contains(out, " 0 bad nodes found") {
		t.Errorf("ibqueryerrors:\n%s", out)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.streams(false)
	}()
	time.Sleep(untilStreams + *each/3)
	between := l.Cable(reallab.End{Node: "left", Port: isl})
	between.Pull()
	time.Sleep(5 * time.Second)
	between.Plug()
	<-done
	l.quiet("after the link was out")
	// Its status says that there are errors.
	if out := l.on("one", "ibqueryerrors || [ $? = 1 ]"); !strings.Contains(out, "LinkDownedCounter == 1") || !strings.Contains(out, " 2 bad nodes found") {
		t.Errorf("ibqueryerrors after the link was out:\n%s", out)
	}
	t.Logf("QEMU has %d MiB at the end", l.memory())
}
