//go:build reallab && linux

package acctest

import (
	"testing"
	"time"
)

// TestKernels_managers asks two machines with kernels of their own, on one switch, of their
// ports and of the subnet managers of the fabric, while these come and go.
func TestKernels_managers(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	w := Start(t, Options{Hosts: managersMachines()})
	for _, h := range kernelNames {
		w.Run(h, "modprobe -a mlx4_ib ib_umad")
		w.until(h, "cat /sys/class/infiniband/*/ports/1/state", "INIT")
	}
	answers := map[string][]answered{}
	for i, enter := range managersStates {
		began := time.Now()
		enter(w)
		t.Logf("state %d of the fabric after %v", i+1, time.Since(began).Round(100*time.Millisecond))
		for _, h := range kernelNames {
			answers[h] = append(answers[h], ask(t, w, h, managersQuestions())...)
		}
	}
	if *updateKernels {
		for h, all := range answers {
			recording{managersTest, kernelHosts[h]}.write(t, all)
		}
	}
	compareManagers(t, answers, *updateKernels)
}
