//go:build reallab && linux

package acctest

import (
	"flag"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

var updateKernels = flag.Bool("kernels.update", false, "write what machines answer to testdata/kernels")

// TestKernels_contract asks machines with kernels of their own of their card, their fabric
// and their interface, and compares with what simulated ones say. It asks what the provider
// and its users ask: see kernelQuestions, which also says what nobody asks.
func TestKernels_contract(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	var hosts []labs.Host
	for _, name := range []string{theHost, "newer"} {
		hosts = append(hosts, kernelHost(name, kernelHosts[name], len(hosts)))
	}
	w := Start(t, Options{Hosts: hosts})
	for _, h := range hosts {
		name, system := h.Name, kernelHosts[h.Name]
		// What restarts and the questions to the machine before have left in the counters of
		// the fabric is cleared.
		w.Run(name, "modprobe -a mlx4_ib ib_umad ib_uverbs ib_ipoib; "+
			"for i in $(seq 120); do grep -q ACTIVE /sys/class/infiniband/*/ports/1/state && break; sleep 0.5; done; "+
			"ibqueryerrors -k >/dev/null || true")
		var answers []answered
		for _, q := range kernelQuestions() {
			output, status := w.Try(name, kernelCommand(t, q))
			answers = append(answers, answered{q, output, status})
		}
		if *updateKernels {
			writeAnswers(t, system, answers)
		}
		compareAnswers(t, kernelTwin(t), name, answers, *updateKernels)
	}
}
