package acctest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// keeping is an operator whose provider goes on without hosts that are down.
func (w *Lab) keeping() *Workspace {
	ws := w.Workspace()
	ws.Provider["unreachable"] = "keep"
	ws.Provider["ssh"].(map[string]any)["connect_timeout"] = "2s"
	return ws
}

// seen is what a refresh alone makes of hosts, without a change of any.
func (w *Lab) seen(hosts int) (cfg Config) {
	for i := range hosts {
		host := fmt.Sprintf("host%04d", i)
		cfg = append(cfg,
			Resource{Type: "infiniband_card", Name: host, Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}},
			Resource{Type: "infiniband_firmware", Name: host, Attrs: map[string]any{"card_id": To("infiniband_card."+host, "id")}},
			Resource{Type: "infiniband_firmware_backup", Name: host,
				Attrs: map[string]any{"card_id": To("infiniband_card."+host, "id")}})
	}
	return cfg
}

// stateOf is all that the state has of a host.
func stateOf(ws *Workspace, host string) string {
	values := map[string]any{}
	for address, obj := range ws.State {
		if strings.HasSuffix(address, "."+host) {
			values[address] = Decode(obj.Value)
		}
	}
	return fmt.Sprint(values)
}

// oneWarning expects the warning that names the hosts, and no other word.
func oneWarning(t *testing.T, found Diags, summary string, words ...string) {
	t.Helper()
	if len(found) != 1 || found[0].Error || found[0].Summary != summary {
		t.Fatalf("expected the warning %q alone:\n%s", summary, found)
	}
	for _, one := range words {
		if !strings.Contains(found[0].Detail, one) {
			t.Errorf("%q is missing:\n%s", one, found[0].Detail)
		}
	}
}

// However a host is down, it is a line: its objects stay, those of the others are read, it is
// asked once, and the plan does not wait longer than the limits of one attempt.
func TestUnreachable_a_host_that_is_down_is_a_line(t *testing.T) {
	t.Parallel()
	const hosts, dead = 20, "host0007"
	w := Start(t, Options{Hosts: labs.Fleet(hosts)})
	ws, cfg := w.keeping(), w.seen(hosts)
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	before := stateOf(ws, dead)
	m := w.Machine(dead)
	for name, c := range map[string]struct {
		fault  func()
		most   time.Duration
		reason string
	}{
		"it refuses":                   {func() { m.Faults.Set(labsim.FaultSpec{Refuse: true}) }, 30 * time.Second, "connect 127."},
		"it hangs at the login":        {func() { m.Faults.Set(labsim.FaultSpec{Hang: true}) }, 30 * time.Second, "no answer within 2s"},
		"it hangs at exec":             {func() { m.Faults.Set(labsim.FaultSpec{HangAtExec: 1}) }, 30 * time.Second, "stopped answering"},
		"it hangs inside of an answer": {func() { m.Faults.Set(labsim.FaultSpec{}); m.Faults.Trap("lspci", 0, labsim.ProgramFault{Hang: true}) }, 30 * time.Second, "in the middle of an answer"},
	} {
		c.fault()
		asked, begin := m.Counters(), time.Now()
		plan := emptyPlan(t, ws, cfg)
		if took := time.Since(begin); took > c.most {
			t.Errorf("%s: the plan took %s", name, took)
		} else {
			t.Logf("%s: the plan took %s", name, took.Round(time.Millisecond))
		}
		oneWarning(t, plan.Diags, "Not seen: host "+dead, dead+": ", c.reason, "terraform state rm ADDRESS")
		if now := m.Counters(); now.Sessions-asked.Sessions > 1 || now.Connections-asked.Connections > 1 {
			t.Errorf("%s: it was asked %d times over %d connections", name, now.Sessions-asked.Sessions,
				now.Connections-asked.Connections)
		}
		if after := stateOf(ws, dead); after != before {
			t.Errorf("%s: the state was\n%s\nand is\n%s", name, before, after)
		}
	}
	m.Faults.Clear()
	if plan := emptyPlan(t, ws, cfg); len(plan.Diags) > 0 {
		t.Errorf("with all hosts up:\n%s", plan.Diags)
	}
}

// Hosts that are down in different ways are one warning, and no more wait than one of them: none waits for another.
func TestUnreachable_some_of_many(t *testing.T) {
	t.Parallel()
	const hosts = 20
	w := Start(t, Options{Hosts: labs.Fleet(hosts)})
	ws, cfg := w.keeping(), w.seen(hosts)
	mustApply(t, ws, cfg)
	dead := []string{"host0001", "host0005", "host0009", "host0013", "host0017"}
	down := func(i int) {
		m := w.Machine(dead[i])
		m.Faults.Set([]labsim.FaultSpec{{}, {Refuse: true}, {Hang: true}, {HangAtExec: 1}, {Hang: true}}[i])
		if i == 0 {
			m.Faults.Trap("lspci", 0, labsim.ProgramFault{Hang: true})
		}
	}
	down(0) // of all ways the longest wait
	alone := timeOf(func() { emptyPlan(t, ws, cfg) })
	before := map[string]labsim.Counters{}
	for i, name := range dead {
		down(i)
		before[name] = w.Machine(name).Counters()
	}
	var plan *Plan
	took := timeOf(func() { plan = emptyPlan(t, ws, cfg) })
	t.Logf("one of %d hosts down: %s, five: %s", hosts, alone, took)
	if took > 2*alone+10*time.Second {
		t.Errorf("five hosts that are down take %s, one alone %s: they wait for each other", took, alone)
	}
	oneWarning(t, plan.Diags, "Not seen: hosts "+strings.Join(dead, ", "), "no answer within 2s", "stopped answering",
		"in the middle of an answer")
	for _, name := range dead {
		if now := w.Machine(name).Counters(); now.Sessions-before[name].Sessions > 1 ||
			now.Connections-before[name].Connections > 1 {
			t.Errorf("%s was asked again: %+v, before %+v", name, now, before[name])
		}
	}
}

// A host that is down fails the plan unless it is to be kept, and what only an operator can
// mend does so always.
func TestUnreachable_fails_the_plan(t *testing.T) {
	t.Parallel()
	const dead = "host0001"
	w := Start(t, Options{Hosts: labs.Fleet(2)})
	ws, cfg := w.keeping(), w.seen(2)
	mustApply(t, ws, cfg)
	entry := ws.Provider["hosts"].(map[string]any)[dead].(map[string]any)
	for name, c := range map[string]struct {
		fault labsim.FaultSpec
		keep  any
		says  string
	}{
		"it is not to be kept":    {labsim.FaultSpec{Refuse: true}, "error", "The host could not be reached"},
		"it shows another key":    {labsim.FaultSpec{WrongHostKey: true}, nil, "could not be trusted"},
		"its sudo refuses":        {labsim.FaultSpec{SudoRefused: true}, nil, "could not become root"},
		"its answer is not whole": {labsim.FaultSpec{LoginPrints: "@end", NoLogin: true}, nil, "begin marker is missing"},
	} {
		w.Machine(dead).Faults.Set(c.fault)
		entry["unreachable"] = c.keep
		plan := mustPlan(t, ws, cfg)
		if len(plan.Diags.Errors()) != 3 || len(plan.Diags.Errors().Find(c.says)) != 3 {
			t.Errorf("%s: %q is not said of each object:\n%s", name, c.says, plan.Diags)
		}
	}
	ws.Provider["unreachable"], entry["unreachable"] = nil, "keep"
	w.Machine(dead).Faults.Set(labsim.FaultSpec{Refuse: true})
	oneWarning(t, emptyPlan(t, ws, cfg).Diags, "Not seen: host "+dead)
}

// What is planned on a host that was not seen is refused for it alone, also if it is back: the plan
// has announced nothing of it. Drift and changes of the others go their way.
func TestUnreachable_changes(t *testing.T) {
	t.Parallel()
	const dead, up = "host0001", "host0000"
	w := Start(t, Options{Hosts: labs.Fleet(3)})
	ws, cfg := w.keeping(), w.fleet(2)
	mustApply(t, ws, cfg)
	m := w.Machine(dead)
	m.Faults.Set(labsim.FaultSpec{Hang: true})
	w.Run(up, "systemctl stop opensm@"+fmt.Sprint(ws.Get("infiniband_opensm."+up, "port_guid"))+".service")
	drift := cleanPlan(t, ws, cfg)
	if got := fmt.Sprint(drift.Actions()); got != "map[infiniband_opensm."+up+":update]" {
		t.Fatalf("planned: %s\n%s", got, drift.Diags)
	}
	for i := range cfg {
		if cfg[i].Type == "infiniband_opensm" {
			cfg[i] = cfg[i].With(map[string]any{"priority": 5})
		}
	}
	for name, returns := range map[string]bool{"still down": false, "back": true} {
		m.Faults.Set(labsim.FaultSpec{Hang: true})
		plan := cleanPlan(t, ws, cfg)
		if plan.Actions()["infiniband_opensm."+dead] != Update {
			t.Fatalf("%s: planned: %v", name, plan.Actions())
		}
		if len(plan.Diags.Find("Not seen: host "+dead)) != 1 {
			t.Errorf("%s:\n%s", name, plan.Diags)
		}
		if returns {
			m.Faults.Clear()
		}
		shown := w.Print(dead)
		diags, err := ws.Apply(context.Background(), plan)
		if err != nil || len(diags.Errors()) != 1 || len(diags.Errors().Find("Unable to change infiniband_opensm "+dead+"/",
			"the plan has not seen host "+dead, "Start the host and plan again", "terraform state rm")) != 1 {
			t.Errorf("%s: %v\n%s", name, err, diags)
		}
		if after := w.Print(dead); after != shown {
			t.Errorf("%s: the host was changed:\n%s\n%s", name, shown, after)
		}
	}
	m.Faults.Clear()
	if left := cleanPlan(t, ws, cfg).Actions(); fmt.Sprint(left) != "map[infiniband_opensm."+dead+":update]" {
		t.Errorf("left to do: %v", left)
	}
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
}

// A destroy and a new object of a host that is down are refused for it alone.
func TestUnreachable_destroy_and_create(t *testing.T) {
	t.Parallel()
	const dead, up, next = "host0001", "host0000", "host0002"
	w := Start(t, Options{Hosts: labs.Fleet(3)})
	ws, cfg := w.keeping(), w.fleet(2)
	mustApply(t, ws, cfg)
	w.Machine(dead).Faults.Set(labsim.FaultSpec{Hang: true})
	w.Machine(next).Faults.Set(labsim.FaultSpec{Hang: true})
	card := Resource{Type: "infiniband_card", Name: next, Attrs: map[string]any{"host": next, "pci_address": w.PCI(next)}}
	plan := cleanPlan(t, ws, Config{card})
	oneWarning(t, plan.Diags.Find("Not seen"), "Not seen: hosts "+dead+", "+next)
	diags, err := ws.Apply(context.Background(), plan)
	if err != nil || len(diags.Errors().Find("the plan has not seen host "+dead)) != 7 ||
		len(diags.Errors().Find("Unable to change a new infiniband_card: the plan has not seen host "+next)) != 1 {
		t.Errorf("%v\n%s", err, diags)
	}
	for address := range ws.State {
		if !strings.HasSuffix(address, dead) {
			t.Errorf("%s is in the state", address)
		}
	}
	w.Machine(dead).Faults.Clear()
	w.Machine(next).Faults.Clear()
	mustApply(t, ws, Config{card})
	emptyPlan(t, ws, Config{card})
	if len(ws.State) != 1 {
		t.Errorf("in the state: %v", ws.State)
	}
}

// A for_each over the cards that answer has no key of a host that is down: what the state has of it is not forgotten.
func TestUnreachable_for_each_over_what_answers(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: labs.Named["qlogic"]()})
	o := newFolder(t, buildProvider(t))
	o.mirror()
	o.example("qlogic", w)
	main, _, _ := strings.Cut(o.text("main.tf"), "\nmodule ")
	o.write("main.tf", strings.Replace(main, "provider \"infiniband\" {\n", "provider \"infiniband\" {\n  unreachable = \"keep\"\n", 1)+`
data "infiniband_cards" "all" {}

resource "infiniband_card" "all" {
  for_each    = data.infiniband_cards.all.cards
  host        = each.value.host
  pci_address = each.value.pci_address
}
`)
	if err := os.Remove(filepath.Join(o.dir, "outputs.tf")); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	o.says(0, "init")
	o.says(0, "apply", "-auto-approve")
	dead := w.Names()[1]
	w.Machine(dead).Faults.Set(labsim.FaultSpec{Refuse: true})
	if said := o.says(0, "plan", "-out=saved"); !strings.Contains(said, "Not seen: host "+dead) {
		t.Errorf("the plan does not name the host:\n%s", said)
	}
	w.Machine(dead).Faults.Clear()
	if said := o.says(1, "apply", "saved"); !strings.Contains(said, "the plan has not seen host "+dead) {
		t.Errorf("the apply:\n%s", said)
	}
	o.says(0, "plan", "-detailed-exitcode")
}

// An import reads its host, or there is nothing to keep.
func TestUnreachable_import(t *testing.T) {
	t.Parallel()
	const dead = "host0001"
	w := Start(t, Options{Hosts: labs.Fleet(2)})
	w.Machine(dead).Faults.Set(labsim.FaultSpec{Refuse: true})
	card := Resource{Type: "infiniband_card", Name: dead}
	diags, err := w.keeping().Import(context.Background(), card, dead+"/"+w.PCI(dead))
	if err != nil || len(diags.Errors().Find("Unable to read card "+dead)) != 1 {
		t.Errorf("%v\n%s", err, diags)
	}
}

// A data source of a host that is down knows nothing; one of several hosts has the others.
func TestUnreachable_data(t *testing.T) {
	t.Parallel()
	const dead, up = "host0001", "host0000"
	w := Start(t, Options{Hosts: labs.Fleet(2)})
	w.Install(up, "infiniband-diags")
	ws := w.keeping()
	mustApply(t, ws, w.fleet(1))
	w.Machine(dead).Faults.Set(labsim.FaultSpec{Hang: true})
	for name, attrs := range map[string]map[string]any{
		"infiniband_host": {"host": dead}, "infiniband_history": {"host": dead}, "infiniband_fabric": {"host": dead},
		"infiniband_connectivity": {"from": up, "to": dead}, "infiniband_rdma_ready": {"host": dead},
	} {
		got, diags, err := ws.Data(context.Background(), name, attrs)
		if err != nil {
			t.Fatal(err)
		}
		oneWarning(t, diags, "Not seen: host "+dead)
		for key, value := range got.(map[string]any) {
			if _, given := attrs[key]; !given && value != nil {
				t.Errorf("%s knows %s = %v", name, key, value)
			}
		}
	}
	for name, attrs := range map[string]map[string]any{"infiniband_cards": {}, "infiniband_fabric": {"host": up}} {
		got, diags, err := ws.Data(context.Background(), name, attrs)
		if err != nil {
			t.Fatal(err)
		}
		oneWarning(t, diags, "Not seen: host "+dead)
		if got.(map[string]any)["id"] == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Each object that compares with all hosts has the dead ones from memory.
func TestUnreachable_is_asked_once_in_a_walk(t *testing.T) {
	t.Parallel()
	const all, few = 8, 6
	w := Start(t, Options{Hosts: labs.Fleet(all)})
	ws, cfg := w.Workspace(), w.fleet(few)
	ssh := ws.Provider["ssh"].(map[string]any)
	ssh["connect_timeout"], ssh["command_timeout"] = "2s", "6s"
	mustApply(t, ws, cfg)
	dead := []string{"host0006", "host0007"}
	for _, keep := range []any{nil, "keep"} {
		ws.Provider["unreachable"] = keep
		for _, name := range dead {
			w.Machine(name).Faults.Set(labsim.FaultSpec{HangAtExec: 1})
		}
		before := [2]int{w.Machine(dead[0]).Counters().Sessions, w.Machine(dead[1]).Counters().Sessions}
		plan := emptyPlan(t, ws, cfg)
		if keep == nil {
			oneWarning(t, plan.Diags, "GUIDs of hosts host0006, host0007 are not compared")
		} else {
			oneWarning(t, plan.Diags, "Not seen: hosts host0006, host0007", "two cards with one GUID")
		}
		for i, name := range dead {
			if asked := w.Machine(name).Counters().Sessions - before[i]; asked > 1 {
				t.Errorf("%s was asked %d times", name, asked)
			}
		}
	}
}
