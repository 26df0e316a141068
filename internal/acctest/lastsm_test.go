package acctest

import (
	"testing"
)

// The only subnet manager of a fabric that carries the storage of a host is removed with a consent only, which the
// state has to hold. One beside which another stands by, or whose fabric carries nothing of a host, needs none.
func TestSM_last_of_a_fabric(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	drivers(w)
	one, other := w.hosts[0].Name, w.hosts[1].Name
	w.Install(one, "infiniband-diags")
	ws := w.Workspace()
	sms := w.managers(nil)
	rest := ipoib(other, map[string]any{"port_guid": w.firstPort(other), "mode": "datagram",
		"addresses": []any{"172.16.0.21/24"}})
	rest[0].After = []string{sms[0].Address()}
	mustApply(t, ws, append(Config{sms[0]}, rest...))
	w.Machine(other).FS.Put("/proc/mounts", "/dev/sda2 / ext4 rw,relatime 0 0\n"+
		"nas:/tank /mnt/tank nfs4 rw,vers=4.2,addr=172.16.0.10 0 0\n", 0o444)

	gone := Config{rest[0].With(nil)}
	gone[0].After = nil
	said := mustPlan(t, ws, gone).Diags
	at := said.Errors().Find("Finding: SM039", "No other subnet manager is on the fabric of port "+w.firstPort(one)+" of "+one,
		"Over the fabric go storage of "+other+" (nfs4 nas:/tank", `allow = { last_manager = "`+w.firstPort(one)+`" }`)
	if len(at) != 1 || len(said.Errors()) != 1 {
		t.Fatalf("the plan of the removal:\n%s", said)
	}
	if said = mustPlan(t, ws, append(Config{sms[0].With(map[string]any{"allow": map[string]any{"last_manager": "0x1"}})},
		rest...)).Diags; said.HasError() {
		t.Errorf("a consent to another one: %s", said)
	}

	moved := sms[0].With(map[string]any{"host": other, "port_guid": w.firstPort(other)})
	if said = mustPlan(t, ws, append(Config{moved}, rest...)).Diags; len(said.Errors().Find("Finding: SM039")) != 1 {
		t.Errorf("a replacement on another host:\n%s", said)
	}

	allowed := sms[0].With(map[string]any{"allow": map[string]any{"last_manager": w.firstPort(one)}})
	mustApply(t, ws, append(Config{allowed}, rest...))
	plan := mustPlan(t, ws, gone)
	if plan.Diags.HasError() {
		t.Fatalf("with the consent in the state:\n%s", plan.Diags)
	}
	mustApply(t, ws, append(Config{sms[0]}, rest...)) // takes the consent back

	mustApply(t, ws, append(Config{sms[0], sms[1]}, rest...))
	beside := append(Config{sms[1]}, gone...)
	awaitRoles(t, ws, append(Config{sms[0], sms[1]}, rest...), map[string]string{other: "standby"})
	if said = mustPlan(t, ws, beside).Diags; said.HasError() {
		t.Errorf("beside a standby:\n%s", said)
	}
	mustApply(t, ws, beside)
}

// What depends on the fabric since the plan is asked at the destroy, too.
func TestSM_last_of_a_fabric_since_the_plan(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	drivers(w)
	other := w.hosts[1].Name
	ws, sms := w.Workspace(), w.managers(nil)[:1]
	rest := ipoib(other, map[string]any{"port_guid": w.firstPort(other), "mode": "datagram"})
	rest[0].After = []string{sms[0].Address()}
	mustApply(t, ws, append(Config{sms[0]}, rest...))
	rest[0].After = nil
	plan := cleanPlan(t, ws, rest)
	w.Machine(other).FS.Put("/proc/mounts", "nas:/tank /mnt/tank nfs4 rw,vers=4.2,addr=172.16.0.10 0 0\n", 0o444)
	diags, err := ws.Apply(t.Context(), plan)
	if err != nil || len(diags.Errors().Find("SM039", "No other subnet manager is on the fabric", "The change was not made.",
		"storage of "+other)) != 1 {
		t.Errorf("%v\n%s", err, diags)
	}
	if active := w.Run(w.hosts[0].Name, "systemctl is-active "+w.unit(w.hosts[0].Name)); active != "active\n" {
		t.Errorf("the subnet manager is %s", active)
	}
}
