package acctest

import (
	"testing"
)

// groupLab is two hosts of one fabric: the first has the subnet manager, the second an interface of 4092 bytes.
type groupLab struct {
	*Lab
	t  *testing.T
	ws *Workspace
}

func startGroupLab(t *testing.T, diags bool) groupLab {
	t.Helper()
	w := Start(t, Options{Hosts: pair(false)})
	drivers(w)
	for _, name := range w.Names() {
		if diags {
			w.Install(name, "infiniband-diags")
		}
	}
	return groupLab{w, t, w.Workspace()}
}

// config is the subnet manager with an MTU of the default partition, none if that is zero, and the interface.
func (w groupLab) config(group int, after bool) Config {
	var parts map[string]any
	if group != 0 {
		parts = defaultGroup(map[string]any{"mtu": group})
	}
	sms := w.managers(parts)[:1]
	other := w.hosts[1].Name
	it := ipoib(other, map[string]any{"port_guid": w.firstPort(other), "mode": "datagram", "mtu": 4092})
	if after {
		it[0].After = []string{"infiniband_opensm." + w.hosts[0].Name}
	}
	return append(sms, it...)
}

// says expects the findings IP018 of a plan, all errors or all warnings, with these words.
func (w groupLab) says(when string, cfg Config, errors, warnings int, words ...string) {
	w.t.Helper()
	said := mustPlan(w.t, w.ws, cfg).Diags
	find := append([]string{"Finding: IP018"}, words...)
	if len(said.Errors().Find(find...)) != errors || len(said.Warnings().Find(find...)) != warnings ||
		len(said.Find("Finding: IP018")) != errors+warnings {
		w.t.Errorf("%s: %d errors and %d warnings of IP018 were expected:\n%s", when, errors, warnings, said)
	}
}

// The MTU of an interface is compared with the group that the plan's subnet manager makes, or that the fabric has. What
// would fail is refused, and an interface that has joined its group is spoken of no more.
func TestIPoIB_MTU_and_broadcast_group(t *testing.T) {
	t.Parallel()
	w := startGroupLab(t, true)
	other := w.hosts[1].Name
	w.says("beside a group of 2048 of the plan", w.config(2048, true), 1, 0,
		"The subnet manager on port "+w.firstPort(w.hosts[0].Name)+" of "+w.hosts[0].Name+" gives that of P_Key 0xffff 2048 bytes",
		"Write mtu = 4096 in that partition")
	w.says("beside a subnet manager without partitions", w.config(0, true), 1, 0, "gives that of P_Key 0xffff 2048 bytes")
	w.says("beside a group of 4096 of the plan", w.config(4096, true), 0, 0)

	mustApply(t, w.ws, w.config(2048, true)[:1])
	w.says("in a fabric with a group of 2048", w.config(2048, true), 1, 0,
		"That of P_Key 0xffff on the fabric of port "+w.firstPort(other)+" has 2048 bytes.", "Use mtu = 2044.", "depends_on")
	w.says("in a fabric whose group the plan enlarges", w.config(4096, true), 0, 0)
	mustApply(t, w.ws, w.config(4096, true))
	w.says("in a healthy fabric", w.config(4096, true), 0, 0)
	emptyPlan(t, w.ws, w.config(4096, true))
	w.says("beside a group that the plan makes smaller", w.config(2048, true), 1, 0, "0xffff 2048 bytes")
}

// Where nobody can ask the fabric, and no subnet manager of the plan is known, a warning is all.
func TestIPoIB_MTU_of_an_unknown_group(t *testing.T) {
	t.Parallel()
	w := startGroupLab(t, false)
	w.Manage(w.hosts[0].Name, 3)
	alone := w.config(0, false)[1:]
	w.says("without diagnostics", alone, 0, 1, "needs a broadcast group of at least 4096 bytes",
		"Write mtu = 4096 in the partition of infiniband_opensm, or use mtu = 2044.")
	w.Install(w.hosts[1].Name, "infiniband-diags")
	w.says("with diagnostics", alone, 1, 0, "has 2048 bytes")
}

// An interface that is planned before the subnet manager of its own port is told there.
func TestIPoIB_MTU_before_its_subnet_manager(t *testing.T) {
	t.Parallel()
	w := startGroupLab(t, true)
	host := w.hosts[0].Name
	cfg := w.config(2048, false)
	cfg[1] = cfg[1].With(map[string]any{"host": host, "port_guid": w.firstPort(host)})
	said := mustPlan(t, w.ws, Config{cfg[1], cfg[0]}).Diags
	at := said.Errors().Find("Finding: IP018", "infiniband_ipoib_interface "+host+"/"+w.firstPort(host),
		"Refusing a broadcast group that is too small for an interface of this plan")
	if len(at) != 1 || at[0].Path != "partitions" || at[0].Address != "infiniband_opensm."+host {
		t.Errorf("the plan:\n%s", said)
	}
}
