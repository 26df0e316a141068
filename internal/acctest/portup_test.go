package acctest

import (
	"context"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// debian13 has an ibportstate that opens no port that is down.
func debian13(h *labs.Host) { h.OS, h.Cmdline = labsim.Debian13, "mlx4_core.port_type_array=1,1" }

// The only port with a link is disabled, and ibportstate cannot open it any more: the apply
// says so, and a restart brings the port back. New speeds disable no port there.
func TestPort_life_Debian13(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi(debian13)})
	drivers(w)
	w.Install(labs.Intel9, "infiniband-diags")
	ws := w.Workspace()
	on, off := w.port(nil), w.port(map[string]any{"enabled": false})
	slow := w.port(map[string]any{"speeds": []any{"SDR", "DDR"}})
	for _, c := range []Config{on, slow, on} {
		mustApply(t, ws, c)
		if got := w.physical(); got != "5: LinkUp" {
			t.Errorf("the port is %q", got)
		}
		emptyPlan(t, ws, c)
	}
	if !OnKernels() { // where port 2 has no cable
		w.Unplug(labs.Intel9, 2)
	}
	mustApply(t, ws, off)
	offSlow := w.port(map[string]any{"enabled": false, "speeds": []any{"SDR", "FDR"}})
	mustApply(t, ws, offSlow)
	if said := emptyPlan(t, ws, offSlow).Diags.Warnings(); len(said.Find("PO012", "Can't open UMAD port")) != 1 {
		t.Errorf("the plan does not say that speeds are not read:\n%s", said)
	}
	diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, on))
	if err != nil || len(diags.Errors().Find("rdma-core 56.0 to 60.0", "The setting is stored for the next boot. Restart the host")) != 1 {
		t.Errorf("%v\n%s", err, diags)
	}
	w.Restart(labs.Intel9)
	if got := w.physical(); got != "5: LinkUp" {
		t.Errorf("after a restart the port is %q", got)
	}
	mustApply(t, ws, on)
	emptyPlan(t, ws, on)
	if got := w.Run(labs.Intel9, "systemctl is-active infiniband-port-0000:01:00.0-1.service"); got != "active\n" {
		t.Errorf("the unit of the boot is %q", got)
	}
}

// A disabled port is reached through the other port of its card.
func TestPort_enabled_through_the_other_port(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi(debian13)})
	w.needSimulated("a second cable")
	drivers(w)
	w.Install(labs.Intel9, "infiniband-diags")
	ws := w.Workspace()
	mustApply(t, ws, w.port(map[string]any{"enabled": false}))
	mustApply(t, ws, w.port(nil))
	if got := w.physical(); got != "5: LinkUp" {
		t.Errorf("the port is %q", got)
	}
}
