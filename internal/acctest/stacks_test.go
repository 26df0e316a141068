package acctest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
)

// stackNames are the network stacks of Debian, and what the provider calls them.
var stackNames = map[labsim.Stack]string{
	labsim.StackNetplan: "netplan with systemd-networkd", labsim.StackNetplanNM: "netplan with NetworkManager",
	labsim.StackNetworkManager: "NetworkManager",
	labsim.StackIfupdown:       "ifupdown", labsim.StackNetworkd: "systemd-networkd",
}

// stackLab is a host whose stack configures an IPoIB interface, and its operator.
type stackLab struct {
	*Lab
	t     *testing.T
	stack labsim.Stack
	ws    *Workspace
	built string // the provider as a program
	cuts  []string

	system labsim.OS
}

// The interface, and its port: the first of labs.Server.
const (
	ipoibAddress = "infiniband_ipoib_interface.it"
	stackPort    = "0xe41d2d0300e44ed1"
)

// TestStacks is the life of an IPoIB interface on every network stack of Debian 12
// and 13: created, drifted and mended, changed, restarted, cut off in every way,
// and destroyed. On machines with kernels of their own the stacks are the real ones.
func TestStacks(t *testing.T) {
	t.Parallel()
	systems := []labsim.OS{labsim.Debian12, labsim.Debian13}
	if !OnTestbed() {
		systems = systems[:1] // the simulated ones do not differ
	}
	for _, system := range systems {
		for stack := range stackNames {
			t.Run(fmt.Sprint(system, " ", stack), func(t *testing.T) {
				t.Parallel()
				h := labs.Server(theHost, system, "192.0.2.20", 0)
				h.Stack, h.Cmdline = stack, "mlx4_core.port_type_array=1,1"
				w := &stackLab{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t, stack: stack, built: buildProvider(t), system: system}
				w.ws = w.workspace(nil, 0)
				w.fabric()
				w.life()
				t.Logf("%d cuts survived on %s with %s: %s", len(w.cuts), system, stack, strings.Join(w.cuts, "; "))
			})
		}
	}
}

// A systemd that does not answer says nothing of the network services: the state keeps what
// was read last, and a change is refused.
func TestStacks_silent_systemd(t *testing.T) {
	t.Parallel()
	for stack, code := range map[labsim.Stack]string{labsim.StackNetplan: "IP019", labsim.StackNetworkd: "IP023"} {
		h := labs.Server(theHost, labsim.Debian12, "192.0.2.20", 0)
		h.Stack, h.Cmdline = stack, "mlx4_core.port_type_array=1,1"
		w := &stackLab{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t, stack: stack}
		w.needSimulated("needs a systemd that fails")
		w.fabric()
		ws, cfg := w.Workspace(), w.config(20, nil)
		mustApply(t, ws, cfg)
		w.Machine(theHost).Faults.Trap("systemctl show --property=Id", 0, labsim.ProgramFault{Exit: true, Status: 1})
		emptyPlan(t, ws, cfg)
		if warned := cleanPlan(t, ws, cfg).Diags.Warnings().Find("Finding: "+code,
			"systemctl show ended with status 1"); len(warned) != 1 {
			t.Errorf("%s: nothing is said of a systemd that does not answer", stack)
		}
		if plan := mustPlan(t, ws, w.config(21, nil)); len(plan.Diags.Errors().Find("Finding: "+code)) != 1 {
			t.Errorf("%s: a change on such a host: %s", stack, plan.Diags)
		}
		w.Machine(theHost).Faults.Clear()
		emptyPlan(t, ws, cfg)
	}
}

// workspace is an operator whose provider tells what it does over SSH. confirm is how
// long a real host waits for a confirmation; zero is what users get.
func (w *stackLab) workspace(trace func(host.Event), confirm time.Duration) *Workspace {
	ws := NewWorkspace(func() (tfprotov6.ProviderServer, error) {
		tuning := provider.Tuning{Pace: pace, Lost: 30 * time.Second, Trace: trace}
		if w.testbed != nil {
			tuning.Confirm = confirm
		}
		return provider.Server(provider.NewTuned("test", tuning)()), nil
	}, w.Provider())
	ws.Ended = w.DropAll
	return ws
}

// soon is how long a real host waits for a confirmation that cannot come. The clock
// of a simulated one is faster, and it waits as long as that of a user.
const soon = 30 * time.Second

// fabric makes the port of a simulated host work. Those of machines do.
func (w *stackLab) fabric() {
	if w.testbed != nil {
		w.noFlash()
		return
	}
	for _, name := range []string{"mlx4_ib", "ib_ipoib"} {
		if err := w.Machine(theHost).LoadModule(name); err != nil {
			w.t.Fatal(err)
		}
	}
	lab := w.Lab.Lab
	lab.AddSM(&labsim.SM{Port: w.Machine(theHost).Cards()[0].Ports[0], Priority: 1, PKeys: map[uint16]int{0x0001: 2048}})
}

// config is the interface with an address of its own.
func (w *stackLab) config(last int, more map[string]any) Config {
	return Config{Resource{Type: "infiniband_ipoib_interface", Name: "it", Attrs: map[string]any{
		"host": theHost, "port_guid": stackPort, "mode": "connected", "mtu": 65520,
		"addresses": []any{fmt.Sprintf("%s.%d/24", w.Subnet(theHost), last), "fd00::20/64"},
		"routes": []any{map[string]any{"to": "10.20.0.0/16", "via": w.Subnet(theHost) + ".1"},
			map[string]any{"to": "fd01::/64", "via": "fd00::1"}},
	}}.With(more)}
}

func (w *stackLab) life() {
	cfg := w.config(20, nil)
	mustApply(w.t, w.ws, cfg)
	if got := w.ws.Get(ipoibAddress, "network_stack"); got != stackNames[w.stack] {
		w.t.Fatalf("network_stack is %v", got)
	}
	emptyPlan(w.t, w.ws, cfg)
	w.answers(20)
	w.contract(cfg)
	w.drift(cfg)
	other := w.config(21, map[string]any{"mode": "datagram", "mtu": 2044, "routes": nil})
	mustApply(w.t, w.ws, other)
	emptyPlan(w.t, w.ws, other)
	w.Reboot(theHost)
	emptyPlan(w.t, w.ws, other)
	mustApply(w.t, w.ws, cfg)
	w.Reboot(theHost)
	emptyPlan(w.t, w.ws, cfg)
	w.answers(20)
	w.ownConnectionCut(cfg)
	if w.testbed != nil {
		// Simulated connections break at once, and the provider with them; what
		// happens in the window there is a test of internal/ipoib/change.
		w.checkKilled(cfg)
	}
	mustApply(w.t, w.ws, nil)
	w.nothingLeft()
	w.firstCut(cfg)
	w.nothingLeft()
}

// answers: packets as large as the interface takes reach the other end. Simulated
// interfaces carry none.
func (w *stackLab) answers(last int) {
	w.t.Helper()
	if w.testbed == nil {
		return
	}
	ping := fmt.Sprintf("ping -c 1 -w 60 -M do -s 65000 %s.%d", w.Subnet(theHost), last)
	if out, status := w.testbed.Operate(w.t.Context(), ping); status != 0 {
		w.t.Errorf("%s: status %d\n%s", ping, status, out)
	}
}

func (w *stackLab) name() string { return w.ws.Get(ipoibAddress, "interface").(string) }

// file is the main one of the persisted configuration.
func (w *stackLab) file() string {
	return w.ws.Get(ipoibAddress, "stored_in").([]any)[0].(string)
}

// drift: each setting that is changed behind the provider's back, live or for the
// next boot, is in the plan, and an apply mends it.
func (w *stackLab) drift(cfg Config) {
	name, file, address := w.name(), w.file(), w.Subnet(theHost)+".20/24"
	edit := func(old, now string) string {
		return fmt.Sprintf(`t=$(sed 's|%s|%s|' %s) && printf '%%s\n' "$t" >%s`, old, now, file, file)
	}
	for _, spoil := range []string{
		"echo datagram > /sys/class/net/" + name + "/mode",
		"ip link set dev " + name + " mtu 9000",
		"ip addr del " + address + " dev " + name,
		"ip addr add 10.9.9.9/24 dev " + name,
		"ip route del 10.20.0.0/16 via " + w.Subnet(theHost) + ".1 dev " + name,
		"ip link set dev " + name + " down",
		edit("65520", "4092"),
		edit(address, w.Subnet(theHost)+".22/24"),
		edit("10.20.0.0/16", "10.30.0.0/16"),
		"rm " + file,
	} {
		w.Run(theHost, spoil)
		if plan := cleanPlan(w.t, w.ws, cfg); plan.Actions()[ipoibAddress] != Update {
			w.t.Errorf("%s: the plan is %v", spoil, plan.Actions())
		}
		mustApply(w.t, w.ws, cfg)
		plan := cleanPlan(w.t, w.ws, cfg)
		if len(plan.Actions()) > 0 {
			w.t.Fatalf("%s: after the apply the plan is %v", spoil, plan.Actions())
		}
	}
}

// over has the operator come in by the interface that is changed.
func (w *stackLab) over(last int, confirm time.Duration) {
	address := ""
	if last > 0 {
		address = fmt.Sprintf("%s.%d", w.Subnet(theHost), last)
	}
	w.Over(theHost, w.name(), address)
	state := w.ws.State
	w.ws = w.workspace(nil, confirm)
	w.ws.State = state
}

// cuttingConfig is a change that takes away the address by which the operator comes.
func (w *stackLab) cuttingConfig(cfg Config) Config {
	return cfg.With(ipoibAddress, map[string]any{"addresses": []any{}, "routes": nil,
		"allow": map[string]any{"management_path": []any{w.name()}}})
}

// ownConnectionCut: the host undoes what cut the operator off, and the apply says so.
func (w *stackLab) ownConnectionCut(cfg Config) {
	w.t.Helper()
	w.over(20, soon)
	consenting := cfg.With(ipoibAddress, Allow("management_path", []any{w.name()}))
	mustApply(w.t, w.ws, consenting)
	plan := cleanPlan(w.t, w.ws, w.cuttingConfig(cfg))
	diags, err := w.ws.Apply(context.Background(), plan)
	if err != nil || !diags.HasError() {
		w.t.Fatalf("the apply that cut itself off: %v\n%s", err, diags)
	}
	text := fmt.Sprint(diags.Errors())
	if !strings.Contains(text, "restores the former configuration by itself") &&
		!strings.Contains(text, "The former configuration was restored") ||
		!strings.Contains(text, "could not be confirmed") {
		w.t.Errorf("the apply does not say what happens:\n%s", text)
	}
	w.await(20)
	w.undone()
	emptyPlan(w.t, w.ws, consenting)
	mustApply(w.t, w.ws, consenting)
	w.checkSurvived("its own connection cut, undone by the host")
	w.over(0, 0)
}

// await waits until the host has an address on the interface; with 0, none.
func (w *stackLab) await(last int) {
	w.t.Helper()
	what := ""
	for limit := time.Now().Add(90 * time.Second); time.Now().Before(limit); time.Sleep(100 * time.Millisecond) {
		what = w.Run(theHost, "ip -4 addr show dev "+w.nameOrParent())
		if last == 0 && !strings.Contains(what, "inet ") || last != 0 &&
			strings.Contains(what, fmt.Sprintf("inet %s.%d/", w.Subnet(theHost), last)) {
			return
		}
	}
	journal, _ := w.Try(theHost, "ls /var/lib/terraform-provider-infiniband/undo/*; journalctl --no-pager -b -n 60")
	w.t.Fatalf("the host has not the address %d:\n%s\n%s", last, what, journal)
}

// checkKilled kills the engine and its provider after a change that cut them off.
// A restart in the window undoes it at boot, and so does a power cut; without one
// the next apply does, and each says so.
func (w *stackLab) checkKilled(cfg Config) {
	w.t.Helper()
	for _, c := range []struct {
		name, says string
		then       func()
	}{
		{"killed, restarted in the window", "it was undone at boot", func() { w.Reboot(theHost) }},
		{"killed, power cut in the window", "it was undone at boot", func() { w.Restart(theHost) }},
		{"killed, undone by the next apply", "it was undone first", func() {}},
	} {
		mustApply(w.t, w.ws, cfg)
		w.over(20, 0)
		o := newOperator(w.t, w.Lab, cfg.With(ipoibAddress, Allow("management_path", []any{w.name()})),
			w.built)
		o.says(0, "apply", "-auto-approve")
		o.write("main.tf", Required+HCL(w.Provider(), w.cuttingConfig(cfg)))
		cmd, out := o.command("apply", "-auto-approve")
		if err := cmd.Start(); err != nil {
			w.t.Fatal(err)
		}
		w.await(0)
		if err := o.kill(cmd); err != nil {
			w.t.Fatalf("%v\n%s", err, out)
		}
		_ = cmd.Wait()
		w.DropAll()
		w.over(0, 0)
		c.then()
		if c.says == "it was undone at boot" {
			w.await(20)
			emptyPlan(w.t, w.ws, cfg)
		}
		w.says(cfg, c.says)
		w.checkSurvived(c.name)
	}
}

// says applies and expects to be told what became of the unconfirmed change.
func (w *stackLab) says(cfg Config, want string) {
	w.t.Helper()
	plan := cleanPlan(w.t, w.ws, cfg)
	text := fmt.Sprint(plan.Diags)
	diags, err := w.ws.Apply(context.Background(), plan)
	if err != nil || diags.HasError() {
		w.t.Fatalf("apply: %v\n%s", err, diags)
	}
	text += fmt.Sprint(diags)
	if !strings.Contains(text, want) {
		w.t.Errorf("want %q in:\n%s", want, text)
	}
	emptyPlan(w.t, w.ws, cfg)
}

// undone waits until the host has put back the files, too. A checkpoint of NetworkManager goes before the timer, which
// restores them.
func (w *stackLab) undone() {
	w.t.Helper()
	w.Run(theHost, "n=0; while ls -d /var/lib/terraform-provider-infiniband/undo/* && ! ls /var/lib/terraform-provider-infiniband/undo/*/undone && [ $n -lt 100 ]; do n=$((n+1)); sleep 0.1; done >/dev/null 2>&1")
}

// firstCut: of an interface that nobody configured nothing is left when the very
// first change of it cannot be confirmed.
func (w *stackLab) firstCut(cfg Config) {
	w.t.Helper()
	for _, c := range []struct {
		name string
		then func()
	}{
		{"cable out at the first configuration, undone by the host", func() {}},
		{"cable out at the first configuration, restarted in the window", func() { w.Reboot(theHost) }},
	} {
		cut := sync.OnceFunc(func() { w.Sever(theHost, true) })
		severed := false
		w.ws = w.workspace(func(e host.Event) {
			if e.Kind == "dial" && e.Fresh {
				severed = true
				cut()
			}
		}, soon)
		diags, err := w.ws.Apply(context.Background(), cleanPlan(w.t, w.ws, cfg))
		if err != nil || !diags.HasError() || !strings.Contains(fmt.Sprint(diags), "could not be confirmed") {
			w.t.Fatalf("the apply that was cut off: %v\n%s", err, diags)
		}
		if !severed {
			w.t.Errorf("the cable was not taken out:\n%s", diags)
		}
		c.then()
		w.await(0)
		w.Sever(theHost, false)
		w.undone()
		w.ws = w.workspace(nil, 0)
		if plan := cleanPlan(w.t, w.ws, cfg); plan.Actions()[ipoibAddress] != Create {
			w.t.Errorf("%s: the plan is %v", c.name, plan.Actions())
		}
		mustApply(w.t, w.ws, cfg)
		emptyPlan(w.t, w.ws, cfg)
		mustApply(w.t, w.ws, nil)
		w.checkSurvived(c.name)
	}
}

func (w *stackLab) checkSurvived(cut string) {
	if !w.t.Failed() {
		w.cuts = append(w.cuts, cut)
	}
}

// nameOrParent is the interface, also when the state is empty.
func (w *stackLab) nameOrParent() string {
	for name := range strings.FieldsSeq(w.Run(theHost, "ls /sys/class/net")) {
		if strings.HasPrefix(name, "ib") && !strings.Contains(name, "d1") {
			return name
		}
	}
	w.t.Fatal("the host has no IPoIB interface")
	return ""
}

// nothingLeft: after a destroy no file of the provider's is on the host, but the
// list of modules, and the interface has no address.
func (w *stackLab) nothingLeft() {
	w.t.Helper()
	left := strings.Fields(w.Run(theHost,
		"for d in /etc /run/systemd /run/NetworkManager /run/network /var/lib/terraform-provider-infiniband; do [ ! -d $d ] || find $d -name '*infiniband*' -type f; done"))
	// The latter is of Debian's rdma-core.
	left = slices.DeleteFunc(left, func(f string) bool {
		return f == "/etc/modules-load.d/terraform-infiniband.conf" || f == "/etc/rdma/modules/infiniband.conf"
	})
	if len(left) > 0 {
		w.t.Errorf("left on the host: %v", left)
	}
	if addr := w.Run(theHost, "ip addr show dev "+w.nameOrParent()); strings.Contains(addr, w.Subnet(theHost)) ||
		strings.Contains(addr, "fd00::20") {
		w.t.Errorf("addresses are left:\n%s", addr)
	}
}
