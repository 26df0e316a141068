package infiniband_test

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/infiniband"
)

const pve1GUID = "0xe41d2d0300e44ed1"

// partitionFiles are read by the simulated subnet manager and by the real one,
// and have to give every port the same keys and the fabric the same groups.
var partitionFiles = map[string]string{
	"default": "Default=0x7fff, ipoib : ALL=full ;\n",
	"groups":  "Default=0x7fff, ipoib, rate=7, mtu=5 : ALL=full ;\nb=0x0002, ipoib : ALL=full ;\na=0x8001, ipoib, mtu=4 : ALL_CAS=limited, SELF=full ;\n",
	"the last entry counts": "Default=0x7fff, ipoib : ALL=full ;\na=0x0001 : " + pve1GUID +
		"=full, ALL=limited ;\nb=0x0002 : ALL=limited, " + pve1GUID + "=full ;\n" +
		"c=0x0003 : " + pve1GUID + "=limited, ALL=full ;\nd=0x0004 : ALL=full, " + pve1GUID + "=limited ;\n",
	"standard member": "Default=0x7fff, ipoib : ALL=full ;\nh=0x0008, defmember=full : " + pve1GUID +
		", 0xe41d2d0300e44f11=limited ;\ni=0x0009 : ALL ;\n",
	"merged":     "Default=0x7fff, ipoib : ALL=full ;\na=0x0001 : SELF=full ;\nb=0x0001 : 0xe41d2d0300e44f11=full ;\n",
	"no default": "a=0x0001, ipoib : ALL=full ;\n",
	"no group":   "Default=0x7fff : ALL=full ;\n",
	"bad MTU":    "Default=0x7fff, ipoib : ALL=full ;\na=0x0001, mtu=9, ipoib : ALL=full ;\n",
	"error":      "Default=0x7fff, ipoib : ALL=full ;\nbroken 0x0003 ipoib ;\n",
}

func TestContract_partitions(t *testing.T) {
	for name, text := range partitionFiles {
		t.Run(name, func(t *testing.T) {
			w := newTwin(t, small)
			w.partitions(text)
			w.compare("saquery", "-g")
			for _, lid := range []string{"1", "3", "4"} {
				w.compare("smpquery", "pkeys", lid, "1")
			}
		})
	}
}

// partitions starts a subnet manager with a partition file in both.
func (w *twin) partitions(text string) (*ibsimtest.RunningSM, *labsim.SM) {
	w.t.Helper()
	running := w.real.StartSM(w.node, ibsimtest.SM{PortGUID: pve1GUID, Partitions: text}).Wait("SUBNET UP")
	w.m.FS.Put("/etc/opensm/p.conf", text, 0o644)
	sm := &labsim.SM{Port: w.m.Card("0000:01:00.0").Ports[0]}
	infiniband.ReadPartitions(w.m, "/etc/opensm/p.conf").Give(sm)
	group := sm.GroupMTU
	w.lab.AddSM(sm).Update(func(sm *labsim.SM) { sm.GroupMTU = group })
	return running, sm
}

// On SIGHUP memberships change and groups that exist do not.
func TestContract_rereadPartitions(t *testing.T) {
	const before = "Default=0x7fff, ipoib : ALL=full ;\na=0x0001, ipoib, mtu=4 : " + pve1GUID +
		"=full, 0xe41d2d0300e44f11=limited ;\n"
	const after = "Default=0x7fff, ipoib : ALL=full ;\na=0x0001, ipoib, mtu=3 : ALL=full ;\nnew=0x0002, ipoib : ALL=full ;\n"
	w := newTwin(t, small)
	running, sm := w.partitions(before)
	running.Write("partitions.conf", after)
	running.Signal(syscall.SIGHUP)
	running.WaitFor("second sweep", func() bool { return strings.Count(running.Log(), "SUBNET UP") == 2 })
	w.m.FS.Put("/etc/opensm/p.conf", after, 0o644)
	file := infiniband.ReadPartitions(w.m, "/etc/opensm/p.conf")
	sm.Update(func(sm *labsim.SM) { file.Reread(sm) })
	w.compare("saquery", "-g")
	for _, lid := range []string{"1", "3", "4"} {
		w.compare("smpquery", "pkeys", lid, "1")
	}
}

// kernelTimeout is what libibmad says of a datagram that nobody answers. The library that
// stands in for the kernel here ends the wait itself.
var kernelTimeout = regexp.MustCompile(`(?m)^ibwarn: .* _do_madrpc: recv failed: Connection timed out\n`)

// staleErrno is of a call that something before has made, which the same library makes otherwise.
var staleErrno = regexp.MustCompile(`(Failed to bind to the SA): .*`)

func TestContract_managers(t *testing.T) {
	w := newTwin(t, small)
	for _, line := range []string{"sminfo", "saquery SMIR", "saquery -g", "saquery -C foo -P 1 -g", "sminfo -C foo -P 1"} {
		w.compare(strings.Fields(line)...)
	}
	w.startManager()
	for _, line := range []string{"sminfo", "saquery SMIR"} {
		argv := strings.Fields(line)
		out, _, status := simulate(t, w.m, argv...)
		want := w.real.Run(w.node, argv[0], argv[1:]...)
		if withoutCount(out) != withoutCount(want.Stdout) || status != want.Status {
			t.Errorf("%s: %d\n%s\nthe real one: %d\n%s", line, status, out, want.Status, want.Stdout)
		}
	}
}

// withoutCount takes out the count of what a subnet manager has done.
func withoutCount(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if strings.Contains(line, "ActCount") {
			continue
		}
		before, after, found := strings.Cut(line, "activity count ")
		if found {
			_, after, _ = strings.Cut(after, " ")
		}
		b.WriteString(before + after)
	}
	return b.String()
}
