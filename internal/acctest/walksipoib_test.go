package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

func TestWalk_IPoIB(t *testing.T) {
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	held := ipoib(labs.Intel9, map[string]any{"mtu": 9000})
	mustApply(t, ws, held)
	changed := ipoib(labs.Intel9, map[string]any{"mode": "datagram", "mtu": 2044, "addresses": []any{"172.16.1.20/24"}})
	t.Run("empty_plan", func(t *testing.T) { emptyPlan(t, ws, held) })
	t.Run("plan", func(t *testing.T) { mustPlan(t, ws, changed) })
	t.Run("plan_and_apply", func(t *testing.T) { mustApply(t, ws, changed) })
	if files := w.Run(labs.Intel9, "ls /etc/netplan"); len(strings.Fields(files)) != 2 {
		t.Errorf("netplan has not two files, ours and that of the host, but %q", files)
	}
}
