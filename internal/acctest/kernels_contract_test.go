//go:build reallab && linux

package acctest

import "testing"

// TestKernels_contract asks machines with kernels of their own of their card, their fabric
// and their interface, and compares with what simulated ones say. It asks what the provider
// and its users ask: see kernelQuestions, which also says what nobody asks.
func TestKernels_contract(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	w := Start(t, Options{Hosts: kernelMachines()})
	for _, h := range w.Names() {
		// What restarts and the questions to the machine before have left in the counters of
		// the fabric is cleared.
		w.Run(h, "modprobe -a mlx4_ib ib_umad ib_uverbs ib_ipoib; "+
			"for i in $(seq 120); do grep -q ACTIVE /sys/class/infiniband/*/ports/1/state && break; sleep 0.5; done; "+
			"ibqueryerrors -k >/dev/null || true")
		answers, r := ask(t, w, h, kernelQuestions()), recording{contractTest, kernelHosts[h]}
		if *updateKernels {
			r.write(t, answers)
		}
		compareAnswers(t, kernelTwin(t), h, r, answers, *updateKernels)
	}
}
