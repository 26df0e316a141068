package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const backupPort = "0xe41d2d0300e44ed2"

func bondHost(t *testing.T, stack labsim.Stack) *stackLab {
	h := labs.Server(theHost, labsim.Debian12, "192.0.2.20", 0)
	h.Stack, h.Cmdline = stack, "mlx4_core.port_type_array=1,1"
	w := &stackLab{Lab: Start(t, Options{Hosts: []labs.Host{h}}), t: t, stack: stack}
	w.needSimulated("needs two ports of InfiniBand")
	w.fabric()
	w.ws = w.Workspace()
	return w
}

func bondConfig(more map[string]any) Config {
	return Config{Resource{Type: "infiniband_ipoib_interface", Name: "it", Attrs: map[string]any{
		"host": theHost, "port_guid": stackPort, "mode": "connected", "mtu": 65520, "addresses": []any{"172.16.0.20/24"},
		"bond": map[string]any{"name": "ibbond0", "backup_port_guid": backupPort},
	}}.With(more)}
}

// TestBond is a bond of two ports through its life, on every stack that can have one: with its ports failing one after
// the other, imported, broken by hand, changed, and removed.
func TestBond(t *testing.T) {
	t.Parallel()
	for _, stack := range dhcpStacks {
		t.Run(string(stack), func(t *testing.T) {
			t.Parallel()
			w, cfg := bondHost(t, stack), bondConfig(nil)
			mustApply(t, w.ws, cfg)
			emptyPlan(t, w.ws, cfg)
			if got := w.ws.Get(ipoibAddress, "interface"); got != "ibbond0" {
				t.Errorf("interface is %v", got)
			}
			w.bondFailsOver(cfg)
			w.importedBond(cfg)
			w.bondElsewhere(cfg)

			w.Reboot(theHost)
			emptyPlan(t, w.ws, cfg)
			w.Machine(theHost).Release("ibp1s0d1")
			plan := cleanPlan(t, w.ws, cfg)
			if change, _ := plan.Get(ipoibAddress, "change").(string); plan.Actions()[ipoibAddress] != Update ||
				!strings.Contains(change, "ibp1s0d1 is not part of the bond") {
				t.Errorf("a port that is not in the bond: the plan is %v, %q", plan.Actions(), change)
			}
			mustApply(t, w.ws, cfg)
			cfg = bondConfig(map[string]any{"mode": "datagram", "mtu": 2044, "addresses": []any{"172.16.1.20/24"}})
			mustApply(t, w.ws, cfg)
			emptyPlan(t, w.ws, cfg)
			removal := cleanPlan(t, w.ws, nil)
			if len(removal.Diags.Warnings().Find("the bond is removed", "ibbond0 goes now")) != 1 {
				t.Errorf("what the destroy says:\n%s", removal.Diags)
			}
			applyStep(t, w.ws, removal, "")
			if _, there := w.Machine(theHost).Netdev("ibbond0"); there {
				t.Error("the bond is there after the destroy")
			}
		})
	}
}

// bondFailsOver: the backup carries while the cable of the other port is out. That is no drift, and a plan names
// the port that does not carry.
func (w *stackLab) bondFailsOver(cfg Config) {
	first := labsim.CardEnd(theHost, "0000:01:00.0", 1)
	far, _ := w.Peer(first)
	for _, step := range []struct {
		does   func()
		active string
	}{
		{func() { w.Disconnect(first) }, "ibp1s0d1"},
		{func() {
			if err := w.Connect(first, far); err != nil {
				w.t.Fatal(err)
			}
			w.waitActive(theHost, 1)
		}, "ibp1s0"},
	} {
		step.does()
		emptyPlan(w.t, w.ws, cfg)
		mustApply(w.t, w.ws, cfg)
		if got := w.ws.Get(ipoibAddress, "active_port"); got != step.active {
			w.t.Errorf("active_port is %v, want %s", got, step.active)
		}
		warned := len(cleanPlan(w.t, w.ws, cfg).Diags.Warnings().Find("Finding: IP056", "ibp1s0 of "+theHost+" has no carrier"))
		if is := step.active == "ibp1s0d1"; warned != 0 != is {
			w.t.Errorf("%d warnings while %s carries", warned, step.active)
		}
	}
}

// importedBond: an import finds the bond by what this provider has written.
func (w *stackLab) importedBond(cfg Config) {
	ws := w.Workspace()
	if diags, err := ws.Import(w.t.Context(), cfg[0], theHost+"/"+stackPort); err != nil || len(diags.Errors()) > 0 {
		w.t.Fatal(diags, err)
	}
	emptyPlan(w.t, ws, cfg)
}

// bondElsewhere: another root module gets no interface on a port of the bond, neither of its two, nor a bond of another
// name. The plan says so in the words of the apply of a plan that was made before the bond.
func (w *stackLab) bondElsewhere(cfg Config) {
	w.t.Helper()
	bond := func(port, other string) map[string]any {
		return map[string]any{"port_guid": port, "addresses": []any{"172.16.9.20/24"},
			"bond": map[string]any{"name": "ibbond7", "backup_port_guid": other}}
	}
	for _, more := range []map[string]any{bond(stackPort, backupPort), bond(backupPort, stackPort),
		{"port_guid": stackPort, "addresses": []any{"172.16.9.20/24"}, "bond": nil},
		{"port_guid": backupPort, "addresses": []any{"172.16.9.20/24"}, "bond": nil},
		{"port_guid": backupPort, "addresses": []any{"172.16.9.20/24"}, "bond": nil, "pkey": "0x8001", "mode": "datagram", "mtu": 2044}} {
		ws, other := w.Workspace(), bondConfig(more)
		says := []string{"IP035", " of " + theHost + " is part of ibbond0", "This provider has made ibbond0, for port " + stackPort,
			"If another root module has it, leave its ports to it.", "with the id " + theHost + "/" + stackPort}
		applyStep(w.t, w.ws, cleanPlan(w.t, w.ws, nil), "")
		before := cleanPlan(w.t, ws, other)
		mustApply(w.t, w.ws, cfg)
		plan := mustPlan(w.t, ws, other)
		if len(plan.Diags.Errors()) != 1 || len(plan.Diags.Errors().Find(says...)) != 1 ||
			len(plan.Diags.Find("changes what is there already")) > 0 {
			w.t.Errorf("%v: the plan: %s", more, plan.Diags)
		}
		diags, err := ws.Apply(w.t.Context(), before)
		if err != nil || diags.Errors().String() != plan.Diags.Errors().String() {
			w.t.Errorf("%v: the apply: %v, %s\nThe plan: %s", more, err, diags, plan.Diags)
		}
		emptyPlan(w.t, w.ws, cfg)
	}
}

// TestBond_replaces: an interface becomes a bond, one of another name, one of other roles, and an interface again, with
// its address.
func TestBond_replaces(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	o := newOperator(t, w, ipoib(host, nil), buildProvider(t))
	o.says(0, "apply", "-auto-approve")
	for _, c := range []struct {
		more map[string]any
		on   string
	}{
		{map[string]any{"bond": map[string]any{"name": "ibbond0", "backup_port_guid": portGUID(host, 2)}}, "ibbond0"},
		{map[string]any{"bond": map[string]any{"name": "ibbond1", "backup_port_guid": portGUID(host, 2)}}, "ibbond1"},
		{map[string]any{"port_guid": portGUID(host, 2), "bond": map[string]any{"name": "ibbond1",
			"backup_port_guid": portGUID(host, 1)}}, "ibbond1"},
		{nil, "ibp1s0"},
	} {
		o.write("main.tf", Required+HCL(w.Provider(), ipoib(host, c.more)))
		if out := o.says(0, "plan", "-out=p"); !strings.Contains(out, "must be replaced") || strings.Contains(out, "changes what is there already") {
			t.Errorf("%s: no replacement is planned:\n%s", c.on, out)
		}
		o.says(0, "apply", "p")
		o.says(0, "plan", "-detailed-exitcode")
		if out := w.Run(host, "ip -4 -o addr show"); strings.Count(out, "172.16.0.20/24") != 1 ||
			!strings.Contains(w.Run(host, "ip -4 -o addr show dev "+c.on), "172.16.0.20/24") {
			t.Errorf("the address is not on %s alone:\n%s", c.on, out)
		}
	}
}

// TestBond_madeBeforeTheOldOneIsGone: create_before_destroy makes no bond of ports that another one has. The plan warns,
// the apply refuses, and what it says to do works.
func TestBond_madeBeforeTheOldOneIsGone(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	bond := func(name string, port int) Config {
		return ipoib(host, map[string]any{"port_guid": portGUID(host, port), "bond": map[string]any{"name": name,
			"backup_port_guid": portGUID(host, 3-port)}})
	}
	o := newOperator(t, w, bond("ibbond0", 1), buildProvider(t))
	const head = `resource "infiniband_ipoib_interface" "it" {`
	use := func(cfg Config, lines string) {
		o.write("main.tf", Required+strings.ReplaceAll(HCL(w.Provider(), cfg), head, head+"\n"+lines))
	}
	const cbd = "  lifecycle {\n    create_before_destroy = true\n  }\n"
	tells := func(out string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " "), part) {
				t.Errorf("nothing says %q:\n%s", part, out)
			}
		}
	}
	o.says(0, "apply", "-auto-approve")
	const before = "The bond that is replaced must go first"
	for _, next := range []struct {
		cfg         Config
		code, warns string
	}{
		{bond("ibbond1", 1), "IP035", before}, {bond("ibbond2", 2), "IP035", before}, {bond("ibbond2", 1), "IP055", before},
		{ipoib(host, map[string]any{"pkey": "0x8001"}), "IP013", "The interface that is replaced must lose the subnet first"},
		{bond("ibbond2", 1), "", ""},
		{ipoib(host, nil), "IP035", before},
	} {
		if next.code == "" {
			use(next.cfg, "")
			o.says(0, "apply", "-auto-approve")
			continue
		}
		use(next.cfg, cbd)
		tells(o.says(0, "plan"), next.code+" "+next.warns, "unless the resource has lifecycle { create_before_destroy")
		out := o.says(1, "apply", "-auto-approve")
		tells(out, next.code, "made this one before the old one was gone, remove that line", "remove the block of this resource, apply, put it back")
		if strings.Contains(out, "What is there now") || strings.Contains(out, "write the bond here") {
			t.Errorf("the apply says:\n%s", out)
		}
		use(nil, "")
		o.says(0, "apply", "-auto-approve")
		use(next.cfg, "")
		o.says(0, "apply", "-auto-approve")
		o.says(0, "plan", "-detailed-exitcode")
	}
}

// TestBond_adopt: adopt writes a bond that this provider has made, and nothing for its ports.
func TestBond_adopt(t *testing.T) {
	t.Parallel()
	w := bondHost(t, labsim.StackNetworkd)
	mustApply(t, w.ws, bondConfig(nil))
	o := newFolder(t, buildProvider(t))
	o.adopts(w.Lab)
	text := strings.Join(strings.Fields(o.text("network.tf")), " ")
	if !strings.Contains(text, "bond = {") || !strings.Contains(text, `name = "ibbond0"`) ||
		strings.Count(text, `resource "infiniband_ipoib_interface"`) != 1 {
		t.Errorf("network.tf is\n%s", o.text("network.tf"))
	}
}

// TestBond_refused are requests that no bond can have, and hosts that cannot have this one.
func TestBond_refused(t *testing.T) {
	t.Parallel()
	bond := func(name, backup string) map[string]any {
		return map[string]any{"bond": map[string]any{"name": name, "backup_port_guid": backup}}
	}
	w := bondHost(t, labsim.StackNetworkd)
	for _, tt := range []struct {
		more map[string]any
		says []string
	}{
		{map[string]any{"pkey": "0x8001"}, []string{"IP055", `with pkey = "0x8001"`}},
		{map[string]any{"dhcp4": true, "addresses": []any{}}, []string{"IP055", "with dhcp4 = true", "fixed addresses"}},
		{bond("ibbond0", stackPort), []string{"IP055", "are both " + stackPort}},
		{bond("ibbond0", "0xe41d2d0300ffff01"), []string{"PF006", "No port of " + theHost + " has the GUID 0xe41d2d0300ffff01"}},
		{bond("eno1", backupPort), []string{"IP055", "has an interface eno1, which is no bond"}},
		{bond("bond/0", backupPort), []string{"must begin with a letter"}},
	} {
		if plan := mustPlan(t, w.ws, bondConfig(tt.more)); len(plan.Diags.Errors().Find(tt.says...)) != 1 {
			t.Errorf("%v: %s", tt.says, plan.Diags)
		}
	}
	w.Run(theHost, "ip addr add 10.9.9.9/24 dev ibp1s0d1")
	if plan := mustPlan(t, w.ws, bondConfig(nil)); len(plan.Diags.Errors().Find("IP055",
		"ibp1s0d1 of "+theHost+" has 10.9.9.9/24, and a port of a bond has no address")) != 1 {
		t.Errorf("a port with an address: %s", plan.Diags)
	}
	w.Run(theHost, "ip addr del 10.9.9.9/24 dev ibp1s0d1")
	key := Config{Resource{Type: "infiniband_ipoib_interface", Name: "key", Attrs: map[string]any{"host": theHost,
		"port_guid": backupPort, "pkey": "0x8001", "mode": "datagram", "mtu": 2044, "addresses": []any{"10.9.9.20/24"}}}}
	mustApply(t, w.ws, key)
	if plan := mustPlan(t, w.Workspace(), bondConfig(nil)); len(plan.Diags.Errors().Find("IP055",
		"ibp1s0d1 of "+theHost+" has the interface ibp1s0d1.8001 of a P_Key")) != 1 {
		t.Errorf("a port with a P_Key: %s", plan.Diags)
	}
	mustApply(t, w.ws, nil)
	second := Config{Resource{Type: "infiniband_ipoib_interface", Name: "second", Attrs: map[string]any{"host": theHost,
		"port_guid": backupPort, "mode": "datagram", "mtu": 2044, "addresses": []any{"10.9.9.9/24"}}}}
	mustApply(t, w.ws, second)
	if plan := mustPlan(t, w.Workspace(), bondConfig(nil)); len(plan.Diags.Errors().Find("IP055",
		"which an infiniband_ipoib_interface of port "+backupPort+" has written", "Remove that resource")) != 1 {
		t.Errorf("a port with a resource of its own: %s", plan.Diags)
	}
}

// otherBond is a second interface of the host, of the ports of bondConfig unless more says others.
func otherBond(more map[string]any) Config {
	other := bondConfig(map[string]any{"port_guid": backupPort, "addresses": []any{"172.16.55.20/24"},
		"bond": map[string]any{"name": "ibbond0", "backup_port_guid": stackPort}})[0].With(more)
	other.Name = "other"
	return Config{other}
}

// TestBond_twice: of two resources that share a port or the name of a bond, the plan refuses one, whichever it plans
// first. That of another root module is refused, too, and the bond of the first one stays.
func TestBond_twice(t *testing.T) {
	t.Parallel()
	w := bondHost(t, labsim.StackNetworkd)
	bond := func(name, backup string) map[string]any {
		return map[string]any{"name": name, "backup_port_guid": backup}
	}
	for _, tt := range []struct {
		more map[string]any
		says []string // one of them
	}{
		{nil, []string{theHost + "/" + stackPort, theHost + "/" + backupPort}},
		{map[string]any{"bond": bond("ibbond7", stackPort)}, []string{theHost + "/" + stackPort, theHost + "/" + backupPort}},
		{map[string]any{"bond": nil}, []string{theHost + "/" + backupPort}},
		{map[string]any{"port_guid": "0xe41d2d0300ffff01", "bond": bond("ibbond7", backupPort)},
			[]string{theHost + "/" + backupPort}},
		{map[string]any{"port_guid": "0xe41d2d0300ffff01", "bond": bond("ibbond0", "0xe41d2d0300ffff02")},
			[]string{theHost + "/ibbond0"}},
	} {
		for _, cfg := range []Config{append(bondConfig(nil), otherBond(tt.more)...), append(otherBond(tt.more), bondConfig(nil)...)} {
			plan := mustPlan(t, w.ws, cfg)
			found := 0
			for _, object := range tt.says {
				found += len(plan.Diags.Errors().Find("HO030", "Two infiniband_ipoib_interface resources are for "+object))
			}
			if found == 0 {
				t.Errorf("%v, %s first: %s", tt.more, cfg[0].Name, plan.Diags)
			}
		}
	}
	mustApply(t, w.ws, bondConfig(nil))
	elsewhere := w.Workspace()
	mirrored := otherBond(map[string]any{"addresses": []any{"172.16.0.20/24"}})
	plan := mustPlan(t, elsewhere, mirrored)
	if len(plan.Diags.Errors().Find("IP055", "ibbond0 of "+theHost+" is the bond of an infiniband_ipoib_interface of port "+
		stackPort, "import it with the id "+theHost+"/"+stackPort)) != 1 || len(plan.Diags.Find("IP037")) > 0 {
		t.Errorf("the bond of another root module: %s", plan.Diags)
	}
	emptyPlan(t, w.ws, bondConfig(nil))
}

// TestBond_of_somebody_else: a bond that no file of this provider makes is left alone, also if it has the address, or
// comes after the plan.
func TestBond_of_somebody_else(t *testing.T) {
	t.Parallel()
	w := bondHost(t, labsim.StackNetworkd)
	cfg := bondConfig(nil)
	before := cleanPlan(t, w.ws, cfg)
	w.Run(theHost, "printf '[NetDev]\\nName=ibbond0\\nKind=bond\\n[Bond]\\nMode=balance-rr\\n' >/etc/systemd/network/10-st.netdev; "+
		"networkctl reload; rm /etc/systemd/network/10-st.netdev; ip addr add 172.16.0.20/24 dev ibbond0")
	says := []string{"IP035", "Refusing to take over a bond of somebody else", "ibbond0 of " + theHost + " is a bond (mode balance-rr) that this provider has not made",
		"Give the bond another name"}
	if plan := mustPlan(t, w.ws, cfg); len(plan.Diags.Errors().Find(says...)) != 1 || len(plan.Diags.Find("IP037")) > 0 {
		t.Errorf("the plan: %s", plan.Diags)
	}
	if diags, err := w.ws.Apply(t.Context(), before); err != nil || len(diags.Errors().Find(says...)) != 1 {
		t.Errorf("the apply: %v, %s", err, diags)
	}
	if d, _ := w.Machine(theHost).Netdev("ibbond0"); d.BondMode != "balance-rr" {
		t.Errorf("the bond has mode %s after that", d.BondMode)
	}
}

// TestBond_two_fabrics: the ports of a bond are on one fabric, by the provider block and by what the ports show. A bond
// that is there while its fabric falls apart is a warning.
func TestBond_two_fabrics(t *testing.T) {
	t.Parallel()
	w := bondHost(t, labsim.StackNetworkd)
	ws, cfg := w.Workspace(), bondConfig(nil)
	ws.Provider["fabrics"] = map[string]any{"one": []any{stackPort}, "two": []any{backupPort}}
	if plan := mustPlan(t, ws, cfg); len(plan.Diags.Errors().Find("IP055", "Ports "+stackPort+" and "+backupPort+" of "+
		theHost+" are on two fabrics, by fabrics of the provider block: one and two.")) != 1 {
		t.Errorf("two names: %s", plan.Diags)
	}
	mustApply(t, w.ws, cfg)
	second := labsim.CardEnd(theHost, "0000:01:00.0", 2)
	w.AddSwitch("other", 0x0002c90300112200, 12)
	w.Disconnect(second)
	if err := w.Connect(second, labsim.SwitchEnd("other", 1)); err != nil {
		t.Fatal(err)
	}
	w.AddSM(&labsim.SM{Port: w.Machine(theHost).Cards()[0].Ports[1], Priority: 1})
	w.waitActive(theHost, 2)
	if plan := cleanPlan(t, w.ws, cfg); len(plan.Diags.Warnings().Find("IP055", "are on two fabrics")) != 1 {
		t.Errorf("a bond that is there: %s", plan.Diags)
	}
	applyStep(t, w.ws, cleanPlan(t, w.ws, nil), "")
	if plan := mustPlan(t, w.ws, cfg); len(plan.Diags.Errors().Find("IP055", "Ports "+stackPort+" and "+backupPort+" of "+
		theHost+" are on two fabrics: their subnet managers or prefixes differ")) != 1 {
		t.Errorf("two subnet managers: %s", plan.Diags)
	}
}
