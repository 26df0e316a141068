package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// What loads the modules at boot is a part of what is set up: without it there is no port, no
// subnet manager and no interface after the next restart.
func TestBootModules(t *testing.T) {
	t.Parallel()
	const ubuntu, nas = labs.Intel9, labs.Xeon2zfs
	w := Start(t, Options{Hosts: vpi()})
	w.needSimulated("modules that a boot does not load")
	drivers(w)
	ws := w.Workspace()
	other := ipoib(nas, map[string]any{"addresses": []any{"172.16.0.21/24"}})[0]
	other.Name = "nas"
	cfg := append(append(append(sm(ubuntu, nil), w.port(nil)...), ipoib(ubuntu, map[string]any{"mtu": 9216})...), other)
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)

	file := w.Run(ubuntu, "cat "+platform.ModulesLoadPath)
	list, option := platform.ModulesLoadPath, "kernel_extra_options"
	both := map[string]string{
		"infiniband_opensm.it":          "ib_umad and mlx4_ib are not in " + list,
		"infiniband_port.it":            "ib_umad and mlx4_ib are not in " + list,
		"infiniband_ipoib_interface.it": "ib_ipoib and mlx4_ib are not in " + list,
	}
	for _, c := range []struct {
		name  string
		spoil func()
		says  map[string]string
	}{
		{"deleted", func() { w.Run(ubuntu, "rm "+list) }, both},
		{"emptied", func() { w.Put(ubuntu, list, "") }, both},
		{"a line is gone", func() { w.Put(ubuntu, list, strings.Replace(file, "ib_ipoib\n", "", 1)) },
			map[string]string{"infiniband_ipoib_interface.it": "intel9: ib_ipoib is not in " + list}},
		{"a comment", func() { w.Put(ubuntu, list, strings.Replace(file, "ib_umad", "#ib_umad", 1)) }, map[string]string{
			"infiniband_opensm.it": "intel9: ib_umad is not in " + list,
			"infiniband_port.it":   "intel9: ib_umad is not in " + list}},
		{"TrueNAS", func() {
			w.Run(nas, `midclt call system.advanced.update '{"kernel_extra_options": "mlx4_core.port_type_array=1,1"}'`)
		},
			map[string]string{"infiniband_ipoib_interface.nas": "xeon2zfs: ib_ipoib and mlx4_ib are not in " + option}},
	} {
		pid := w.mainPID(ubuntu, smUnit)
		c.spoil()
		plan := mustPlan(t, ws, cfg)
		for address, action := range plan.Actions() {
			if action != Update || c.says[address] == "" {
				t.Errorf("%s: %s of %s is planned", c.name, action, address)
			}
		}
		for address, says := range c.says {
			if plan.Actions()[address] != Update || len(plan.Diags.Warnings().Find("PF005", says)) == 0 {
				t.Errorf("%s: %s is planned as %q:\n%s", c.name, address, plan.Actions()[address], plan.Diags)
			}
		}
		mustApply(t, ws, cfg)
		if got := w.Run(ubuntu, "cat "+list); got != file {
			t.Errorf("%s: after the apply the file is\n%s", c.name, got)
		}
		emptyPlan(t, ws, cfg)
		if now := w.mainPID(ubuntu, smUnit); now != pid {
			t.Errorf("%s: the subnet manager was restarted for a list of modules", c.name)
		}
	}
	w.Restart(ubuntu)
	w.Restart(nas)
	emptyPlan(t, ws, cfg)
}
