package acctest

import (
	"fmt"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// The first ports of mthcaPair.
const mthcaOne, mthcaTwo = "0x0002c90200298e01", "0x0002c90200298e09"

// mthcaPair is two Debian hosts whose ports have MtuCap 2048, which no file of the kernel says.
func mthcaPair(t *testing.T) (*Lab, func(attrs map[string]any) Config) {
	t.Helper()
	w := Start(t, Options{Hosts: labs.PointToPoint()})
	for _, name := range w.Names() {
		w.Run(name, "modprobe ib_mthca; modprobe ib_umad")
		w.Install(name, "infiniband-diags")
	}
	return w, func(attrs map[string]any) Config {
		return Config{Resource{Type: "infiniband_opensm", Name: "it", Attrs: map[string]any{"host": "debian1",
			"port_guid": mthcaOne, "priority": 14}}.With(attrs)}
	}
}

func defaultGroup(attrs map[string]any) map[string]any {
	group := map[string]any{"ipoib": true, "full": []any{"ALL"}}
	for k, v := range attrs {
		group[k] = v
	}
	return map[string]any{"partitions": map[string]any{"Default": group}}
}

// A broadcast group with an MTU that the ports do not have stops all IPoIB. Only mlx4 shows the MTU
// of its ports in a file; of others the fabric is asked.
func TestSM_group_beyond_the_ports(t *testing.T) {
	t.Parallel()
	w, cfg := mthcaPair(t)
	ws := w.Workspace()
	const own, other = mthcaOne, mthcaTwo
	large := cfg(defaultGroup(map[string]any{"mtu": 4096}))
	refused := func(when string) {
		t.Helper()
		plan := mustPlan(t, ws, large)
		if len(plan.Diags.Errors().Find("Finding: SM016", own, other, "has IB MTU 2048, the group 4096")) != 1 {
			t.Errorf("%s:\n%s", when, plan.Diags)
		}
	}
	refused("before a subnet manager runs")
	mustApply(t, ws, cfg(defaultGroup(nil)))
	refused("with one")

	// The manager's own port is a member of ALL, and so certain as one that is named.
	rate := mustPlan(t, ws, cfg(defaultGroup(map[string]any{"rate_gbps": 40})))
	if len(rate.Diags.Errors().Find("Finding: SM016", own, "has 20 Gb/s, the group 40")) != 1 {
		t.Errorf("a rate that the own port does not have:\n%s", rate.Diags)
	}

	// What could not be read is not "large enough".
	w.Machine("debian1").Faults.Trap("smpquery", 0, labsim.ProgramFault{Exit: true, Status: 255})
	silent := mustPlan(t, ws, large)
	if len(silent.Diags.Warnings().Find("Finding: SM016", "not known", own, other)) != 1 {
		t.Errorf("ports that do not answer:\n%s", silent.Diags)
	}
	w.Machine("debian1").Faults.Clear()
}

// The partitions of a standby are not in force. Of a master that Terraform does not manage the apply says
// so once, and every plan after it.
func TestSM_partitions_of_a_standby(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	drivers(w)
	ws := w.Workspace()
	ours, theirs := w.hosts[0].Name, w.hosts[1].Name
	mustApply(t, ws, w.managers(nil)[:1])
	w.Manage(theirs, 15)
	awaitRoles(t, ws, w.managers(nil)[:1], map[string]string{ours: "standby"})
	parts := defaultGroup(nil)["partitions"].(map[string]any)
	parts["storage"] = map[string]any{"pkey": "0x8001", "ipoib": true, "full": []any{"ALL"}}
	cfg := w.managers(map[string]any{"partitions": parts})[:1]
	const says = "Those of this resource wait until this one rules."
	plan := cleanPlan(t, ws, cfg)
	if len(plan.Diags.Warnings().Find("Finding: SM018", "priority 15 and is master", says)) != 1 {
		t.Errorf("the plan:\n%s", plan.Diags)
	}
	diags, err := ws.Apply(t.Context(), plan)
	applied := Diags{}
	for _, d := range diags {
		if d.Phase == PhaseApply {
			applied = append(applied, d)
		}
	}
	if err != nil || diags.HasError() || len(applied.Find("SM018")) != 1 || len(applied.Find("Finding: SM018", says)) != 1 {
		t.Errorf("the apply: %v\n%s", err, diags)
	}
	if table := w.pkeys(ours); table != " 0xffff " {
		t.Errorf("the P_Keys are%s", table)
	}
	if next := emptyPlan(t, ws, cfg); len(next.Diags.Warnings().Find("Finding: SM018", says)) != 1 {
		t.Errorf("the next plan:\n%s", next.Diags)
	}
}

// A port of another chip that a word such as ALL brings in may need no IPoIB: that is a warning.
func TestSM_group_beyond_another_port(t *testing.T) {
	t.Parallel()
	hosts := pair(false)
	w := Start(t, Options{Hosts: hosts})
	drivers(w)
	w.Install(hosts[0].Name, "infiniband-diags")
	guid := uint64(0x0002c90200400000)
	w.AddAdapter(labsim.Adapter{Name: "old", Desc: "old mthca0", GUID: guid, SystemGUID: guid, Ports: 1, VendorID: 0x2c9,
		DeviceID: 0x6278, Link: labsim.QDR4X, MaxMTU: 2048})
	if err := w.Connect(labsim.SwitchEnd(w.Switches()[0].Name, 20), labsim.AdapterEnd("old", 1)); err != nil {
		t.Fatal(err)
	}
	cfg := w.managers(defaultGroup(map[string]any{"mtu": 4096}))[:1]
	plan := cleanPlan(t, w.Workspace(), cfg)
	if len(plan.Diags.Warnings().Find("Finding: SM016", fmt.Sprintf("0x%016x (old mthca0 port 1)", guid+1),
		"has IB MTU 2048, the group 4096")) != 1 {
		t.Errorf("nothing is said of the port:\n%s", plan.Diags)
	}
}
