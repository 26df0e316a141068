package acctest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// withKeys are the arguments of a subnet manager with keys. No key of another version has the digits of one.
func withKeys(version int, more map[string]any) map[string]any {
	keys := map[string]any{"m_key": fmt.Sprintf("0xa1b2c3d4e5%06x", version), "sm_key": fmt.Sprintf("0xf6a7b8c9d0%06x", version),
		"sa_key": fmt.Sprintf("0x1357924680%06x", version)}
	all := map[string]any{"keys": keys, "keys_version": version, "m_key_protection_level": 1, "m_key_lease_period": 60}
	for name, value := range more {
		if strings.HasSuffix(name, "_key") {
			keys[name] = value
		} else {
			all[name] = value
		}
	}
	return all
}

// hasKey reports whether a text has a key of withKeys.
func hasKey(text string) bool {
	return strings.Contains(text, "a1b2c3d4e5") || strings.Contains(text, "f6a7b8c9d0") || strings.Contains(text, "1357924680")
}

// mustHideKeys holds that no key is in a plan, a state, or what a host shows to others than root.
func mustHideKeys(t *testing.T, w *Lab, ws *Workspace, plan *Plan, host string) {
	t.Helper()
	for address, obj := range ws.State {
		private, err := json.Marshal(obj)
		if err != nil || hasKey(fmt.Sprint(Decode(obj.Value), string(private), string(obj.Private))) {
			t.Errorf("the state of %s has a key, %v", address, err)
		}
	}
	for _, c := range plan.Changes {
		if hasKey(fmt.Sprint(Decode(c.Prior), Decode(c.Planned))) {
			t.Error("the plan has a key")
		}
	}
	if hasKey(plan.Diags.String()) {
		t.Errorf("a message has a key:\n%s", plan.Diags)
	}
	for what, command := range map[string]string{
		"the journal": "journalctl -u " + w.unit(host) + " --no-pager -n 1000", "a note": "cat /var/lib/terraform-provider-infiniband/*.jsonl",
	} {
		if out, _ := w.Try(host, command); hasKey(out) {
			t.Errorf("%s has a key:\n%s", what, out)
		}
	}
	for _, file := range []string{"/etc/opensm/terraform-" + w.firstPort(host) + ".conf", "/var/log/opensm." + w.firstPort(host) + ".log"} {
		if mode := strings.TrimSpace(w.Run(host, "stat -c %a "+file)); mode != "600" {
			t.Errorf("%s has mode %s", file, mode)
		}
	}
}

// Keys are set, shown by their version alone, changed with a new version, and taken away.
func TestSM_keys(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws, host := w.Workspace(), labs.Intel9
	first := sm(host, withKeys(1, nil))
	plan := cleanPlan(t, ws, first)
	mustHide := func(cfg Config) {
		t.Helper()
		mustHideKeys(t, w, ws, emptyPlan(t, ws, cfg), host)
	}
	mustApply(t, ws, first)
	mustHideKeys(t, w, ws, plan, host)
	mustHide(first)
	if ws.Get("infiniband_opensm.it", "keys_version") != int64(1) && fmt.Sprint(ws.Get("infiniband_opensm.it", "keys_version")) != "1" ||
		fmt.Sprint(field(t, Decode(ws.State["infiniband_opensm.it"].Value), "security_keys")) !=
			"map[cc_key:open m_key:set sa_key:set sm_key:set]" {
		t.Errorf("the state: %v", Decode(ws.State["infiniband_opensm.it"].Value))
	}
	conf := w.Run(host, "cat "+smConf)
	for _, line := range []string{"m_key 0xa1b2c3d4e5000001\n", "sm_key 0xf6a7b8c9d0000001\n", "sa_key 0x1357924680000001\n",
		"m_key_protection_level 1\n", "m_key_lease_period 60\n"} {
		if !strings.Contains(conf, line) {
			t.Errorf("the file lacks %q:\n%s", line, conf)
		}
	}

	// Other values with the same version are no change that a plan could show.
	refused := func(cfg Config) {
		t.Helper()
		if p := mustPlan(t, ws, cfg); len(p.Diags.Errors().Find("Finding: SM041", "has keys of version 1")) != 1 || hasKey(p.Diags.String()) {
			t.Errorf("not refused:\n%s", p.Diags)
		}
	}
	refused(sm(host, withKeys(1, map[string]any{"m_key": "0xa1b2c3d4e5abcdef"})))
	w.Put(host, smConf, strings.Replace(conf, "m_key 0xa1b2c3d4e5000001", "m_key 0xa1b2c3d4e5fffff1", 1))
	refused(first)
	w.Put(host, smConf, conf)
	w.Run(host, "chmod 600 "+smConf)
	w.Run(host, "systemctl restart "+w.unit(host))

	second := sm(host, withKeys(2, map[string]any{"m_key_protection_level": 2}))
	if p := cleanPlan(t, ws, second); p.Actions()["infiniband_opensm.it"] != Update || len(p.Diags.Warnings().Find("Finding: SM042")) != 1 {
		t.Errorf("the plan of new keys: %v\n%s", p.Actions(), p.Diags)
	}
	mustApply(t, ws, second)
	mustHide(second)
	if got := w.Run(host, "cat "+smConf); !strings.Contains(got, "m_key 0xa1b2c3d4e5000002\n") {
		t.Errorf("the second version is not written:\n%s", got)
	}

	// A version never falls, and keys without a key do not open the fabric.
	if p := mustPlan(t, ws, sm(host, withKeys(1, nil))); len(p.Diags.Errors().Find("Finding: SM041", "Versions only rise")) != 1 {
		t.Errorf("a lower version:\n%s", p.Diags)
	}
	for text, more := range map[string]any{
		"no key in keys. keys_version = 0 without keys takes them out": map[string]any{},
		"m_key_protection_level and m_key_lease_period need an m_key":  map[string]any{"sm_key": "0xf6a7b8c9d0000003"},
	} {
		if p := mustPlan(t, ws, sm(host, withKeys(3, map[string]any{"keys": more}))); len(p.Diags.Errors().Find(text)) == 0 {
			t.Errorf("not refused with %q:\n%s", text, p.Diags)
		}
	}
	// The level and the lease are in plan and state, are changed with the same version, and are seen on the host.
	locked := sm(host, withKeys(2, map[string]any{"m_key_protection_level": 1, "m_key_lease_period": nil}))
	plan = mustPlan(t, ws, locked)
	if len(plan.Diags.Warnings().Find("Finding: SM043", "without m_key_lease_period")) != 1 ||
		!strings.Contains(fmt.Sprint(field(t, Decode(plan.Changes[0].Planned), "change")), "restarts") ||
		fmt.Sprint(field(t, Decode(plan.Changes[0].Planned), "m_key_protection_level")) != "1" {
		t.Errorf("the plan of another level: %v\n%s", Decode(plan.Changes[0].Planned), plan.Diags)
	}
	mustApply(t, ws, locked)
	mustHide(locked)
	if got := w.Run(host, "cat "+smConf); !strings.Contains(got, "m_key_protection_level 1\nm_key_lease_period 0\n") {
		t.Errorf("the file:\n%s", got)
	}
	w.Put(host, smConf, strings.Replace(w.Run(host, "cat "+smConf), "m_key_protection_level 1", "m_key_protection_level 3", 1))
	if p := mustPlan(t, ws, locked); p.Actions()["infiniband_opensm.it"] != Update {
		t.Errorf("another level on the host: %v\n%s", p.Actions(), p.Diags)
	}

	// What somebody has added to the file is kept without the keys.
	w.Put(host, smConf, w.Run(host, "cat "+smConf)+"qos TRUE\n")
	third := sm(host, withKeys(3, nil))
	mustApply(t, ws, third)
	if kept := w.Run(host, "cat /etc/opensm/.terraform-*.changed-*"); hasKey(kept) || !strings.Contains(kept, "qos TRUE") {
		t.Errorf("the copy:\n%s", kept)
	}
	mustHide(third)

	// An import knows the version, and a new resource without keys does not drop them.
	fresh := w.Workspace()
	if diags, err := fresh.Import(t.Context(), third[0], host+"/"+portGUID(host, 1)); err != nil || diags.HasError() {
		t.Fatalf("import: %v\n%s", err, diags)
	}
	emptyPlan(t, fresh, third)
	if p := mustPlan(t, w.Workspace(), sm(host, nil)); len(p.Diags.Errors().Find("Finding: SM022", "sets m_key, sm_key, sa_key: keys of version 3, which this resource wrote.")) == 0 {
		t.Errorf("a new resource drops the keys:\n%s", p.Diags)
	}
	if p := mustPlan(t, ws, sm(host, nil)); len(p.Diags.Errors().Find("Finding: SM022", "or keys_version = 0")) != 1 {
		t.Errorf("the keys are dropped without a word:\n%s", p.Diags)
	}
	plain := sm(host, map[string]any{"keys_version": 0})
	mustApply(t, ws, plain)
	if got := w.Run(host, "cat "+smConf); hasKey(got) {
		t.Errorf("the keys stay:\n%s", got)
	}
	emptyPlan(t, ws, plain)
	emptyPlan(t, ws, plain)
	mustApply(t, ws, sm(host, nil))
	emptyPlan(t, ws, sm(host, nil))
	mustApply(t, ws, nil)
}

// Keys that a running subnet manager has are taken over as they are.
func TestSM_keys_taken_over(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	w.Put(labs.Intel9, "/etc/opensm/opensm.conf", "m_key 0xa1b2c3d4e5000001\nsm_key 0xf6a7b8c9d0000001\nsa_key 0x1357924680000001\n")
	ws := w.Workspace()
	if p := mustPlan(t, ws, sm(labs.Intel9, withKeys(2, nil))); len(p.Diags.Errors().Find("Finding: SM022")) != 3 {
		t.Errorf("other keys are taken for those of the file:\n%s", p.Diags)
	}
	mustApply(t, ws, sm(labs.Intel9, withKeys(1, nil)))
}

// Two subnet managers get new keys, the master first, so that no standby takes itself for the only one.
func TestSM_keys_of_two(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	drivers(w)
	ws := w.Workspace()
	ws.Together = true
	master, standby := w.hosts[0].Name, w.hosts[1].Name
	roles := map[string]string{master: "master", standby: "standby"}
	mustApply(t, ws, w.managers(nil))
	awaitRoles(t, ws, w.managers(nil), roles)

	mixed := w.managers(withKeys(1, nil))
	mixed[1] = w.managers(withKeys(2, nil))[1]
	if p := mustPlan(t, ws, mixed); len(p.Diags.Errors().Find("Finding: SM040", "differ from those of")) != 1 || hasKey(p.Diags.String()) {
		t.Errorf("different keys are not refused:\n%s", p.Diags)
	}
	for version := 1; version <= 2; version++ {
		pids := map[string]string{master: w.mainPID(master, w.unit(master)), standby: w.mainPID(standby, w.unit(standby))}
		stop := w.watchPIDs()
		cfg := w.managers(withKeys(version, nil))
		mustApply(t, ws, cfg)
		var order []string
		for _, seen := range stop() {
			for i, host := range []string{master, standby} {
				if seen[i] != pids[host] && !slices.Contains(order, host) {
					order = append(order, host)
				}
			}
		}
		if !slices.Equal(order, []string{master, standby}) {
			t.Errorf("version %d is set in the order %v", version, order)
		}
		mustHideKeys(t, w, ws, awaitRoles(t, ws, cfg, roles), standby)
	}
	// The standby ruled while the master was restarted, and remembers the keys of that time no more.
	w.Run(master, "systemctl stop "+w.unit(master))
	log := w.Run(standby, "cat /var/log/opensm."+w.firstPort(standby)+".log")
	if !strings.HasSuffix(log, "SUBNET UP\n") {
		t.Errorf("the standby does not take over:\n%s", log)
	}
}

// A master that does not know the M_Key of its ports gets back the keys that it had, and the standby keeps its own.
func TestSM_keys_go_back(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	drivers(w)
	ws := w.Workspace()
	ws.Together = true
	master, standby := w.hosts[0].Name, w.hosts[1].Name
	first := w.managers(withKeys(1, nil))
	mustApply(t, ws, first)
	awaitRoles(t, ws, first, map[string]string{master: "master", standby: "standby"})
	conf := func(host string) string {
		return w.Run(host, "cat /etc/opensm/terraform-"+w.firstPort(host)+".conf")
	}
	was := conf(standby)
	w.tool(master, "/usr/sbin/opensm", func(ctx context.Context, p *labsim.Proc, former labsim.Program) int {
		p.Machine.FS.Put("/var/cache/opensm/guid2mkey", "", 0o600)
		return former(ctx, p)
	})

	second := w.managers(withKeys(2, map[string]any{}))
	for i := range second {
		second[i] = second[i].With(map[string]any{"timeouts": map[string]any{"update": "20s"}})
	}
	diags, err := ws.Apply(t.Context(), cleanPlan(t, ws, second))
	if err != nil || len(diags.Errors().Find("the keys of subnet manager", "were not changed", "It runs with the keys that it had")) != 1 ||
		len(diags.Errors().Find("keys of the master", "could not be changed")) != 1 || hasKey(diags.String()) {
		t.Errorf("%v\n%s", err, diags)
	}
	if got := conf(master); !strings.Contains(got, "m_key 0xa1b2c3d4e5000001\n") {
		t.Errorf("the master has\n%s", got)
	}
	if got := conf(standby); got != was {
		t.Errorf("the standby has\n%s", got)
	}
}

// A plan changes no keys while the host of one of the subnet managers is not seen: both would rule. Where somebody has
// made it so by hand, the fabric says it.
func TestSM_keys_of_a_host_that_is_down(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	drivers(w)
	ws := w.keeping()
	ws.Together = true
	master, standby := w.hosts[0].Name, w.hosts[1].Name
	first := w.managers(withKeys(1, nil))
	mustApply(t, ws, first)
	awaitRoles(t, ws, first, map[string]string{master: "master", standby: "standby"})

	m := w.Machine(standby)
	m.Faults.Set(labsim.FaultSpec{Hang: true})
	p := mustPlan(t, ws, w.managers(withKeys(2, nil)))
	if len(p.Diags.Errors()) != 1 || len(p.Diags.Errors().Find("Finding: SM040", "Host "+standby+" was not seen",
		"this one would keep its own", "Start the host and plan again")) != 1 || hasKey(p.Diags.String()) {
		t.Errorf("new keys are not refused:\n%s", p.Diags)
	}
	emptied := cleanPlan(t, ws, first)
	if len(emptied.Actions()) != 0 {
		t.Errorf("planned: %v", emptied.Actions())
	}
	cleanPlan(t, ws, first[:1]) // it leaves the configuration
	m.Faults.Clear()

	conf := "/etc/opensm/terraform-" + w.firstPort(standby) + ".conf"
	w.Put(standby, conf, strings.Replace(w.Run(standby, "cat "+conf), "f6a7b8c9d0000001", "f6a7b8c9d0000009", 1))
	w.Run(standby, "systemctl restart "+w.unit(standby))
	w.Install(master, "infiniband-diags")
	v, diags, err := w.Workspace().Data(t.Context(), "infiniband_fabric", map[string]any{"host": master})
	if err != nil || diags.HasError() {
		t.Fatalf("%v %v", err, diags)
	}
	if got := messages(t, v); !strings.Contains(got, "masters: 2 subnet managers rule this fabric: ") {
		t.Errorf("two masters:\n%s\n%v", got, field(t, v, "sms"))
	}
}
