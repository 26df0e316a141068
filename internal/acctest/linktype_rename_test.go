package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// A change of link types makes the RDMA device anew: first under the name of the
// kernel, and a moment later udev gives it its lasting one. What the same apply asks
// next is asked by the name that lasts.
func TestLinkType_renamesTheDevice(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi(func(h *labs.Host) {
		h.Packages = append(h.Packages, "rdma-core", "infiniband-diags", "opensm")
	})})
	drivers(w)
	ws := w.Workspace()
	ethernet := w.types(labs.Intel9, "eth", "eth")
	mustApply(t, ws, ethernet)
	if out := w.Run(labs.Intel9, "udevadm settle; ls /sys/class/infiniband"); strings.TrimSpace(out) != "rocep1s0" {
		t.Fatalf("RDMA devices: %s", out)
	}
	infiniband := w.types(labs.Intel9, "ib", "ib")
	manager := sm(labs.Intel9, nil)
	manager[0].After = []string{infiniband[0].Address()}
	mustApply(t, ws, append(infiniband, manager...))
	emptyPlan(t, ws, append(infiniband, manager...))
	if out := w.Run(labs.Intel9, "ls /sys/class/infiniband"); strings.TrimSpace(out) != "ibp1s0" {
		t.Errorf("RDMA devices: %s", out)
	}
}
