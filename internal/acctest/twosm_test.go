package acctest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
)

// pair is two Ubuntu hosts after the cross-flash, on one switch or, if direct, with
// cables between them.
func pair(direct bool) []labs.Host {
	hosts := labs.Fleet(2)
	for i := range hosts {
		hosts[i].Switch, hosts[i].Cmdline = "switch", "mlx4_core.port_type_array=1,1"
	}
	if direct {
		hosts[0].Direct = hosts[1].Name
	}
	return hosts
}

// managers is a subnet manager on the first port of each host, the first with the
// higher priority, with the same options.
func (w *Lab) managers(attrs map[string]any) Config {
	var all Config
	for i, h := range w.hosts {
		it := sm(h.Name, map[string]any{
			"port_guid": fmt.Sprintf("0x%016x",
				h.Cards[0].GUIDs[1]), "priority": 14 - i, "sminfo_polling_timeout": "1s", "polling_retry_number": 2,
		})[0].With(attrs)
		it.Name = h.Name
		all = append(all, it)
	}
	return all
}

func (w *Lab) unit(host string) string { return "opensm@" + w.firstPort(host) + ".service" }

// firstPort is the GUID of the first port of a host.
func (w *Lab) firstPort(host string) string {
	return fmt.Sprintf("0x%016x", w.hostSpec(host).Cards[0].GUIDs[1])
}

// watchPIDs looks at the subnet managers of all hosts, again and again, until it
// is told to stop; then it gives what it saw, each state once, without those that
// repeat. "0" is one that does not run.
func (w *Lab) watchPIDs() (stop func() [][]string) {
	var (
		seen [][]string
		wg   sync.WaitGroup
	)
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() {
		for ctx.Err() == nil {
			var now []string
			for _, h := range w.Names() {
				out, _ := w.Try(h, "systemctl show -p MainPID --value "+w.unit(h))
				now = append(now, strings.TrimSpace(out))
			}
			if len(seen) == 0 || !slices.Equal(seen[len(seen)-1], now) {
				seen = append(seen, now)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	return func() [][]string {
		cancel()
		wg.Wait()
		return seen
	}
}

// Two subnet managers of one configuration are restarted for a change one after
// the other, the standby before the master, and the fabric is never without.
func TestSM_two_change_one_after_the_other(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	drivers(w)
	ws := w.Workspace()
	ws.Together = true
	master, standby := w.hosts[0].Name, w.hosts[1].Name
	parts := func(mtu int) map[string]any {
		return map[string]any{"partitions": map[string]any{"Default": map[string]any{"ipoib": true, "mtu": mtu,
			"full": []any{"ALL"}}}}
	}
	mustApply(t, ws, w.managers(parts(2048)))
	// Whichever was first is the master until it hands over, which it does at a sweep.
	awaitRoles(t, ws, w.managers(parts(2048)), map[string]string{master: "master", standby: "standby"})
	before := map[string]string{master: w.mainPID(master, w.unit(master)), standby: w.mainPID(standby, w.unit(standby))}

	stop := w.watchPIDs()
	mustApply(t, ws, w.managers(parts(4096)))
	seen := stop()
	var order []string
	for _, pids := range seen {
		if pids[0] == "0" && pids[1] == "0" {
			t.Errorf("no subnet manager ran: %v", seen)
		}
		for i, host := range []string{master, standby} {
			if pids[i] != before[host] && !slices.Contains(order, host) {
				order = append(order, host)
			}
		}
	}
	if !slices.Equal(order, []string{standby, master}) {
		t.Errorf("restarted in the order %v; process ids: %v", order, seen)
	}
	if got := w.mainPID(standby, w.unit(standby)); got == before[standby] || got == "0" {
		t.Errorf("the standby is process %s, before %s", got, before[standby])
	}
	// The standby was the master while the other was restarted.
	plan := awaitRoles(t, ws, w.managers(parts(4096)), map[string]string{master: "master", standby: "standby"})
	if len(plan.Diags.Find("SM018")) > 0 {
		t.Errorf("the standby takes our own master for a stranger:\n%s", plan.Diags)
	}
	w.oneMaster(t, ws, master)
}

// A subnet manager that somebody starts by hand takes the fabric over. Nothing is to be
// changed on our host, and the plan says it all the same.
func TestOpensm_strangerRules(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	drivers(w)
	ws := w.Workspace()
	ours, theirs := w.hosts[0].Name, w.hosts[1].Name
	cfg := w.managers(map[string]any{"priority": 5})[:1]
	mustApply(t, ws, cfg)
	if plan := emptyPlan(t, ws, cfg); len(plan.Diags.Find("SM018")) > 0 {
		t.Errorf("nobody else is there:\n%s", plan.Diags)
	}
	w.Manage(theirs, 9)
	plan := awaitRoles(t, ws, cfg, map[string]string{ours: "standby"})
	if len(plan.Diags.Find("SM018")) == 0 || len(plan.Diags.Find("has priority 9 and is master; this one has 5")) == 0 {
		t.Errorf("nothing tells of the stranger:\n%s", plan.Diags)
	}
}

// awaitRoles plans, which reads the fabric, until each host's subnet manager has the role
// that is wanted, and gives the last plan. Each plan is empty. opensm hands the fabric over at a
// sweep, so the time it takes is the fabric's and not the provider's.
func awaitRoles(t *testing.T, ws *Workspace, cfg Config, want map[string]string) *Plan {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var (
		plan *Plan
		seen map[string]string
	)
	err := poll.Until(ctx, time.Second, time.Second, func(context.Context) (bool, error) {
		plan, seen = emptyPlan(t, ws, cfg), make(map[string]string, len(want))
		for host := range want {
			role, _ := field(t, Decode(ws.State["infiniband_opensm."+host].Value), "role").(string)
			seen[host] = role
		}
		return maps.Equal(seen, want) || t.Failed(), nil
	})
	if err != nil {
		t.Errorf("the roles of the subnet managers are %v, expected %v: %v", seen, want, err)
	}
	return plan
}

// oneMaster reads the fabric from every host: all see the same, with two subnet
// managers and nothing to complain about.
func (w *Lab) oneMaster(t *testing.T, ws *Workspace, master string) {
	t.Helper()
	for _, host := range w.Names() {
		v, diags, err := ws.Data(context.Background(), "infiniband_fabric", map[string]any{"host": host})
		if err != nil || diags.HasError() {
			t.Fatalf("%v %v", err, diags)
		}
		if m := messages(t, v); m != "" {
			t.Errorf("seen from %s:\n%s", host, m)
		}
		if svg, ok := field(t, v, "svg").(string); !ok || !strings.Contains(svg, "2 hosts, 2 cards") ||
			!strings.Contains(svg, "SM "+master+", priority 14") {
			t.Errorf("seen from %s:\n%v", host, svg)
		}
	}
}

// Two hosts with cables between them and no switch: every port is a fabric of its
// own with its peer, and one subnet manager serves the first.
func TestSM_back_to_back(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(true)})
	drivers(w)
	ws := w.Workspace()
	mustApply(t, ws, w.managers(nil)[:1])
	for _, host := range w.Names() {
		if state := w.Run(host, "cat /sys/bus/pci/devices/0000:01:00.0/infiniband/*/ports/1/state"); state != "4: ACTIVE\n" {
			t.Errorf("%s: port 1 is %q", host, state)
		}
		if state := w.Run(host, "cat /sys/bus/pci/devices/0000:01:00.0/infiniband/*/ports/2/state"); state != "2: INIT\n" {
			t.Errorf("%s: port 2, which has no subnet manager, is %q", host, state)
		}
	}
	emptyPlan(t, ws, w.managers(nil)[:1])
}

// hurried is a time limit that is shorter than the proof of a port. The cause is named all the
// same.
var hurried = map[string]any{"timeouts": map[string]any{"create": "30s", "update": "30s"}}

// An apply that failed because the port has no link fails again while it has none, although
// nothing is left to write. What it has set up is in no state: the error says how to remove it.
func TestSM_repeated_without_a_cable(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(true)})
	drivers(w)
	host := w.Names()[0]
	w.Unplug(host, 1)
	ws, cfg := w.Workspace(), w.managers(hurried)[:1]
	unit, id := w.unit(host), host+"/"+fmt.Sprintf("0x%016x", w.hostSpec(host).Cards[0].GUIDs[1])
	for _, when := range []string{"at first", "repeated"} {
		plan := cleanPlan(t, ws, cfg)
		if len(plan.Diags.Warnings().Find("SM031", "no state has it")) != 1 {
			t.Errorf("%s the plan does not say that the port has no link:\n%s", when, plan.Diags)
		}
		diags, err := ws.Apply(context.Background(), plan)
		if err != nil || len(diags.Errors().Find("the port is not served", "cause: cable", unit+" stays on the host",
			`terraform import ADDRESS "`+id+`"`)) != 1 {
			t.Errorf("%s the apply without a cable: %v\n%s", when, err, diags)
		}
	}
	checkUntainted(t, ws)
	// The way that the error names. An import knows no time limit.
	cfg = cfg.With(cfg[0].Address(), map[string]any{"timeouts": nil})
	if diags, err := ws.Import(context.Background(), cfg[0], id); err != nil || diags.HasError() {
		t.Fatalf("import: %v\n%s", err, diags)
	}
	emptyPlan(t, ws, cfg)
	mustApply(t, ws, nil)
	if said, _ := w.Try(host, "systemctl is-active "+unit+"; ls /etc/opensm"); !strings.HasPrefix(said, "inactive") ||
		strings.Contains(said, "terraform") {
		t.Errorf("after the removal: %s", said)
	}
}

// So does a change of one that runs: its plan is not empty until the port works.
func TestSM_change_without_a_cable(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(true)})
	w.needSimulated("plugs a cable in again")
	drivers(w)
	host := w.Names()[0]
	ws, cfg := w.Workspace(), w.managers(nil)[:1]
	mustApply(t, ws, cfg)
	w.Unplug(host, 1)
	emptyPlan(t, ws, cfg)
	cfg = cfg.With(cfg[0].Address(), map[string]any{"priority": 3})
	cfg = cfg.With(cfg[0].Address(), hurried)
	for _, when := range []string{"at first", "repeated"} {
		plan := cleanPlan(t, ws, cfg)
		if plan.Actions()[cfg[0].Address()] != Update || len(plan.Diags.Warnings().Find("SM031")) != 1 {
			t.Errorf("%s the plan is %v:\n%s", when, plan.Actions(), plan.Diags)
		}
		diags, err := ws.Apply(context.Background(), plan)
		if err != nil || len(diags.Errors().Find("the port is not served", "cause: cable")) != 1 {
			t.Errorf("%s the apply without a cable: %v\n%s", when, err, diags)
		}
	}
	if err := w.Connect(labsim.CardEnd(host, w.PCI(host), 1), labsim.CardEnd(w.Names()[1], w.PCI(w.Names()[1]), 1)); err != nil {
		t.Fatal(err)
	}
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
}

// A second subnet manager gets the priority of the one that rules its fabric with a consent only. Where none
// runs yet, nobody knows that they share a fabric, and the plan warns.
func TestTwoManagers_equalPriority(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	drivers(w)
	ws, cfg := w.Workspace(), w.managers(map[string]any{"priority": 7})
	if said := mustPlan(t, ws, cfg).Diags; said.HasError() || len(said.Warnings().Find("SM005")) == 0 {
		t.Errorf("before one runs: %s", said)
	}
	mustApply(t, ws, cfg[:1])
	w.Install(w.hosts[1].Name, "infiniband-diags") // without it the fabric is asked at apply
	said := mustPlan(t, ws, cfg).Diags
	if len(said.Errors().Find("SM005", "rules the fabric of port "+w.firstPort(w.hosts[1].Name), "equal_priority = 7")) != 1 ||
		len(said.Warnings().Find("SM005")) != 0 {
		t.Errorf("beside a master of the same priority: %s", said)
	}
	for _, value := range []int{6, 7} {
		refused := value != 7
		allowed := Config{cfg[0], cfg[1].With(map[string]any{"allow": map[string]any{"equal_priority": value}})}
		if said = mustPlan(t, ws, allowed).Diags; said.HasError() != refused {
			t.Errorf("with the consent to %d: %s", value, said)
		}
		if !refused {
			mustApply(t, ws, allowed)
			emptyPlan(t, ws, cfg)
		}
	}
}
