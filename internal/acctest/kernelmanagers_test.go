package acctest

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// managersQuestions tell of ports and subnet managers. They are put to both machines in every
// state of the fabric.
func managersQuestions() []string {
	const device = "$(ls /sys/class/infiniband)"
	return []string{
		"ibstat", "ibstat -p", "ibstat -l", "ibstat -s", "ibstat " + device, "ibstat " + device + " 1", "ibstat " + device + " 2",
		"ibstat " + device + " 3", "ibstat -p " + device, "ibstat nosuch0",
		"sminfo", "sminfo -C " + device + " -P 1", "sminfo -C nosuch0 -P 1", "sminfo -D 0",
		"sminfo -e -C " + device + " -P 1", "sminfo -e 1", "sminfo -e 3", "sminfo -e -D 0,1,1", "sminfo -e -D 0,1,2",
		"saquery -g", "saquery -C " + device + " -P 1 -g", "saquery SMIR", "saquery -C " + device + " -P 1 SMIR",
		"saquery -C nosuch0 -P 1 SMIR",
		"smpquery -C " + device + " -P 1 -D pkeys 0", "smpquery pkeys 1 1", "smpquery -C nosuch0 -P 1 -D portinfo 0",
		shows("/sys/class/infiniband/*/ports/1", "state phys_state rate lid sm_lid cap_mask"),
		"cat /var/log/opensm.0x*.log 2>/dev/null | sed 's/^.*-> //' | grep '^Entering'",
	}
}

// managersStates are the states of the fabric, each made from the one before: without a
// subnet manager, with one, with a standby, after the master has died, with its return, and
// after both have ended.
var managersStates = []func(*Lab){
	func(*Lab) {},
	func(w *Lab) {
		w.startOpensm(theHost, 9)
		w.until(newer, "sminfo", "priority 9 state 3")
		w.until(newer, "smpquery -D pkeys 0", "0xffff 0x8001 0x0002")
	},
	func(w *Lab) {
		w.startOpensm(newer, 5)
		w.until(newer, "sminfo -D 0", "priority 5 state 2")
		w.until(theHost, "saquery SMIR", `(?s)SMState\D+[23].*SMState\D+[23]`)
	},
	func(w *Lab) {
		w.Run(theHost, "systemctl kill -s KILL "+w.unit(theHost))
		w.rules(newer, 5, theHost)
	},
	func(w *Lab) {
		w.Run(theHost, "systemctl restart "+w.unit(theHost))
		w.rules(theHost, 9, newer)
		w.until(newer, "sminfo -D 0", "priority 5 state 2")
	},
	func(w *Lab) {
		for _, h := range []string{newer, theHost} {
			w.Run(h, "systemctl stop "+w.unit(h))
			w.until(h, "sminfo -D 0", "failed: query")
		}
	},
}

// managersMachines configure nothing of their ports, and have nobody beside them who does.
func managersMachines() []labs.Host {
	hosts := kernelMachines()
	for i := range hosts {
		hosts[i].Stack = ""
	}
	return hosts
}

// startOpensm starts the subnet manager of a host as its package does. A standby looks every
// second, and gives up after two times.
func (w *Lab) startOpensm(host string, priority int) {
	w.t.Helper()
	w.Run(host, fmt.Sprintf(`mkdir -p /etc/opensm
printf 'sm_priority %d\nforce_log_flush TRUE\nsminfo_polling_timeout 1000\npolling_retry_number 2\n' >/etc/opensm/opensm.conf
printf 'Default=0x7fff, ipoib : ALL=full ;\na=0x0001, ipoib : ALL=full ;\n' >/etc/opensm/partitions.conf
printf 'b=0x0002, ipoib : ALL=limited, SELF=full ;\nc=0x0003, ipoib : ALL=full ;\n' >>/etc/opensm/partitions.conf
echo 'PORTS="%s"' >/etc/default/opensm
systemctl start opensm.service`, priority, w.firstPort(host)))
}

// rules waits until the subnet manager of a host has set up the whole fabric: its port alone
// is full member of the partition 0x0002.
func (w *Lab) rules(host string, priority int, other string) {
	w.t.Helper()
	w.until(host, "sminfo", fmt.Sprintf("priority %d state 3", priority))
	w.until(host, "smpquery -D pkeys 0", "0x8002")
	w.until(other, "smpquery -D pkeys 0", "0x0002")
	w.until(other, "sminfo", fmt.Sprintf("priority %d state 3", priority))
}

// until waits until what a command prints matches.
func (w *Lab) until(host, command, pattern string) {
	w.t.Helper()
	match := regexp.MustCompile(pattern)
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, _ := w.Try(host, command)
		if match.MatchString(out) {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("%s: %s does not come to match %s:\n%s", host, command, pattern, out)
		}
	}
}

// compareManagers takes a simulated lab through the states in which the answers were given.
func compareManagers(t *testing.T, answers map[string][]answered, recorded bool) {
	t.Helper()
	twin := simulateKernels(t, managersMachines())
	all := map[string]*comparison{}
	for _, h := range kernelNames {
		all[h] = newComparison(t, twin, h, recording{managersTest, kernelHosts[h]}, recorded)
	}
	n := len(managersQuestions())
	for i, enter := range managersStates {
		enter(twin)
		for _, h := range kernelNames {
			all[h].compare(answers[h][i*n : (i+1)*n])
		}
	}
	for _, c := range all {
		c.end()
	}
}

// TestKernelAnswers_managers holds the simulated lab to what machines with stock kernels have
// answered while subnet managers came and went.
func TestKernelAnswers_managers(t *testing.T) {
	t.Parallel()
	questions, answers := slices.Repeat(managersQuestions(), len(managersStates)), map[string][]answered{}
	for h, system := range kernelHosts {
		answers[h] = recording{managersTest, system}.read(t, questions)
	}
	compareManagers(t, answers, true)
}
