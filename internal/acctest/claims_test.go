package acctest

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// alias gives a host a second entry in the provider's configuration.
func alias(p map[string]any, host, name string) {
	hosts, _ := p["hosts"].(map[string]any)
	hosts[name] = maps.Clone(entry(p, host))
}

// portHost is a host that can have every resource of a port.
func portHost(t *testing.T) *Lab {
	t.Helper()
	w := Start(t, Options{Hosts: vpi()[:1]})
	drivers(w)
	w.Install(labs.Intel9, "infiniband-diags")
	return w
}

// Two resources of one kind for one object are refused while planning, however
// they spell it and under whichever name of its host. One lab serves all cases.
func TestClaims_two_resources_of_one_object(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	w := portHost(t)
	ws := w.Workspace()
	alias(ws.Provider, host, "nas")
	two := func(cfg Config, second map[string]any) Config {
		last := cfg[len(cfg)-1]
		other := last.With(second)
		other.Name = "other"
		return append(cfg, other)
	}
	guid := portGUID(host, 1)
	dotted := strings.ToUpper(guid[2:6] + ":" + guid[6:10] + ":" + guid[10:14] + ":" + guid[14:])
	for _, tt := range []struct {
		name string
		cfg  Config
		says []string
	}{
		{"firmware", two(w.burn(host, w.Image(ImageVPI), Allow("psid_change", nil)),
			map[string]any{"card_id": "intel9/01:00.0", "activation": "none"}),
			[]string{"Refusing to plan firmware of card intel9/0000:01:00.0: HO030",
				`activation: "none" here, "reboot" in the other one`}},
		{"guids", two(w.guids(host, map[string]any{"base_mac": "e4:1d:2d:e4:4e:d0"}),
			map[string]any{"card_id": "nas/0000:01:00.0", "base_mac": "e4:1d:2d:e4:4e:f0"}),
			[]string{"Refusing to plan GUIDs of card nas/0000:01:00.0: HO030",
				"Hosts nas and intel9 of the provider are one machine",
				`base_mac: "e4:1d:2d:e4:4e:f0" here, "e4:1d:2d:e4:4e:d0" in the other one`}},
		{"link types", two(w.types(host, "ib", "ib"), map[string]any{"ports": map[string]any{"1": "ib", "2": "eth"}}),
			[]string{"Refusing to plan link types of card intel9/0000:01:00.0: HO030",
				`ports: { 1 = "ib", 2 = "eth" } here, { 1 = "ib", 2 = "ib" } in the other one`}},
		{"backups", two(Config{{Type: "infiniband_firmware_backup", Name: "it",
			Attrs: map[string]any{"card_id": host + "/0000:01:00.0"}}}, nil),
			[]string{"Refusing to plan firmware backup of card intel9/0000:01:00.0: HO030", "All their arguments are equal"}},
		{"subnet managers", two(sm(host, nil), map[string]any{"port_guid": dotted, "priority": 7}),
			[]string{"Refusing to plan subnet manager intel9/" + guid + ": HO030", "priority: 7 here, 5 in the other one"}},
		{"interfaces", two(ipoib(host, map[string]any{"pkey": "0x0001"}),
			map[string]any{"pkey": "0x8001", "addresses": []any{"172.16.1.20/24"}}),
			[]string{"Refusing to plan IPoIB interface intel9/" + guid + "/0x8001: HO030",
				`addresses: ["172.16.1.20/24"] here`}},
		{"ports", two(w.port(nil), map[string]any{"card_id": "nas/0000:01:00.0", "enabled": false}),
			[]string{"Refusing to plan port nas/0000:01:00.0/1: HO030", "enabled: false here, not set in the other one"}},
		{"cards that expect different things",
			two(Config{w.adopt(host, map[string]any{"expect": map[string]any{"chip": "ConnectX-3 Pro"}})},
				map[string]any{"expect": nil}),
			[]string{"Refusing to adopt card intel9/0000:01:00.0: HO030", "expect: not set here"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := w.prints()
			plan, err := ws.Plan(context.Background(), tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			found := plan.Diags.Errors().Find("HO030")
			if len(found) != 1 {
				t.Fatalf("refused %d times; the plan says:\n%s", len(found), plan.Diags)
			}
			for _, s := range tt.says {
				if !strings.Contains(found[0].Text(), s) {
					t.Errorf("does not say %q:\n%s", s, found[0].Text())
				}
			}
			if w.prints() != before {
				t.Error("the plan changed a host")
			}
		})
	}
}

// A resource that was imported with the id of another one's object is planned to be replaced.
// The destroy of its old object would remove that of the other one.
func TestClaims_replace_of_another_ones_object(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	w := portHost(t)
	for name, tt := range map[string]struct {
		cfg    Config
		second map[string]any
		old    string
	}{
		"subnet manager": {sm(host, nil), map[string]any{"port_guid": portGUID(host, 2)}, host + "/" + portGUID(host, 1)},
		"interface": {ipoib(host, nil), map[string]any{"port_guid": portGUID(host, 2), "addresses": []any{"172.17.0.20/24"}},
			host + "/" + portGUID(host, 1)},
		"port": {w.port(nil), map[string]any{"port": 2}, host + "/" + w.PCI(host) + "/1"},
	} {
		ws := w.Workspace()
		mustApply(t, ws, tt.cfg)
		it := tt.cfg[0]
		other := it.With(tt.second)
		other.Name = "other"
		ws.State[other.Address()] = ws.State[it.Address()]
		for _, cfg := range []Config{{it, other}, {other, it}} {
			plan, err := ws.Plan(context.Background(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			found := plan.Diags.Errors().Find("HO030")
			if len(found) != 1 || !strings.Contains(found[0].Text(), "Refusing to destroy what another object of the state manages") ||
				!strings.Contains(found[0].Text(), tt.old) {
				t.Errorf("%s, %s first: %s", name, cfg[0].Name, plan.Diags)
			}
		}
		delete(ws.State, other.Address())
		mustApply(t, ws, nil)
	}
}

// A machine with two names has each GUID once.
func TestClaims_one_machine_with_two_names(t *testing.T) {
	t.Parallel()
	w := portHost(t)
	ws := w.Workspace()
	alias(ws.Provider, labs.Intel9, "nas")
	cfg := Config{w.adopt(labs.Intel9, nil)}
	cfg = append(cfg, sm(labs.Intel9, map[string]any{"host": "nas"})...)
	if plan := mustPlan(t, ws, cfg); plan.Diags.HasError() || len(plan.Diags.Find("SM019")) > 0 {
		t.Errorf("%s", plan.Diags)
	}
}

// What another state has set up is taken over with a warning that names what changes, and a
// create that changes nothing says nothing.
func TestClaims_create_of_another_states_object(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	w := portHost(t)
	for name, tt := range map[string]struct {
		cfg     Config
		changes map[string]any
		says    string
	}{
		"subnet manager": {sm(host, nil), map[string]any{"priority": 7}, "its priority is 5, not 7"},
		"interface": {ipoib(host, nil), map[string]any{"addresses": []any{"172.16.0.77/24"}},
			"addresses are 172.16.0.20/24, not 172.16.0.77/24"},
		"port": {w.port(nil), map[string]any{"speeds": []any{"SDR"}}, "another setting is stored for the next boot"},
	} {
		owner, other := w.Workspace(), w.Workspace()
		mustApply(t, owner, tt.cfg)
		said := func(cfg Config) string {
			plan, err := other.Plan(context.Background(), cfg)
			if err != nil || plan.Diags.HasError() {
				t.Fatal(err, plan.Diags)
			}
			return plan.Diags.Warnings().Find(": this apply changes what is there already").String()
		}
		if text := said(tt.cfg); text != "" {
			t.Errorf("%s, as it is: %s", name, text)
		}
		if text := said(tt.cfg.With(tt.cfg[0].Address(), tt.changes)); !strings.Contains(text, tt.says) {
			t.Errorf("%s, changed: %q", name, text)
		}
		mustApply(t, owner, nil)
	}
}

// adopt is the resource of the first card of a host.
func (w *Lab) adopt(host string, attrs map[string]any) Resource {
	return Resource{Type: "infiniband_card", Name: "it",
		Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}}.With(attrs)
}

// What the real engine plans for one resource, however it comes to it, is no
// duplicate; what it plans for two is one, also for two equal ones of which one
// exists and the other does not.
func TestBinary_one_resource_is_told_from_two(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()[:1]})
	drivers(w)
	o := newOperator(t, w, nil, buildProvider(t))
	configure := func(blocks string) {
		o.write("main.tf", Required+HCL(w.Provider(), nil)+blocks)
	}
	card := fmt.Sprintf("card_id = \"intel9/%s\"\nports = { 1 = \"ib\", 2 = \"ib\" }\n", w.PCI(labs.Intel9))
	link := func(name, more string) string {
		return fmt.Sprintf("resource \"infiniband_link_type\" %q {\n%s%s}\n", name, card, more)
	}
	fine := func(status int, args ...string) {
		t.Helper()
		if text := o.says(status, args...); strings.Contains(text, "HO030") {
			t.Errorf("%v takes one resource for two:\n%s", args, text)
		}
	}
	twice := func(args ...string) {
		t.Helper()
		if text := o.says(1, args...); !strings.Contains(text, "HO030") || strings.Count(text, "HO030") != 2 {
			t.Errorf("%v does not refuse two resources once:\n%s", args, text)
		}
	}
	const a, b = "infiniband_link_type.a", "infiniband_link_type.b"
	configure(link("a", ""))
	fine(0, "apply", "-auto-approve")
	fine(0, "plan", "-detailed-exitcode")
	fine(0, "plan", "-refresh-only")
	fine(0, "plan", "-refresh=false", "-target="+a)
	fine(2, "plan", "-replace="+a, "-out=saved", "-detailed-exitcode")
	fine(0, "apply", "saved")
	fine(0, "taint", a)
	fine(0, "apply", "-auto-approve")
	// A renamed block: destroyed and created. With moved it is neither.
	configure(link("b", ""))
	fine(0, "apply", "-auto-approve")
	configure(link("b", "count = 1\n"))
	fine(0, "plan") // core moves it to b[0] by itself
	configure(link("b", "for_each = toset([\"x\"])\n"))
	fine(2, "plan", "-replace="+b+"[\"x\"]", "-detailed-exitcode")
	// One in the state, and one that is new.
	configure(link("a", "") + link("b", ""))
	twice("plan")
	twice("plan", "-refresh=false")
	twice("plan", "-replace="+b)
	fine(0, "plan", "-target="+a)
	twice("plan", "-target="+a, "-target="+b)
	configure(link("b", "count = 2\n"))
	twice("plan")
	configure(link("b", "for_each = toset([\"x\", \"y\"])\n"))
	twice("plan")
	twice("apply", "-auto-approve")
	// A destroy begins with a plan of the configuration, unless it is told not to.
	fine(0, "destroy", "-refresh=false", "-auto-approve")
}

// A host whose key in hosts was renamed, or which is gone, with its resources.
func TestBinary_host_renamed_or_gone(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	drivers(w)
	o := newOperator(t, w, nil, buildProvider(t))
	// configure writes everything for a host under one key, or what is given.
	configure := func(key, blocks string) {
		p := w.Provider()
		alias(p, host, key)
		if hosts, _ := p["hosts"].(map[string]any); key != host {
			delete(hosts, host)
		}
		o.write("main.tf", Required+HCL(p, nil)+blocks)
	}
	all := func(key string) string {
		text := HCL(nil, Config{
			{Type: "infiniband_card", Name: "it", Attrs: map[string]any{"host": key, "pci_address": w.PCI(host)}},
			{Type: "infiniband_link_type", Name: "it",
				Attrs: map[string]any{"card_id": To("infiniband_card.it", "id"), "ports": map[string]any{"1": "ib", "2": "ib"}}},
			{Type: "infiniband_opensm", Name: "it",
				Attrs: map[string]any{"host": key, "port_guid": portGUID(host, 1), "priority": 5}},
			{Type: "infiniband_ipoib_interface", Name: "it",
				Attrs: map[string]any{"host": key, "port_guid": portGUID(host, 1), "addresses": []any{"172.16.0.20/24"}}},
		})
		return text[strings.Index(text, "resource"):]
	}
	says := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("does not say %q:\n%s", part, text)
			}
		}
	}
	configure(host, all(host))
	o.says(0, "apply", "-auto-approve")
	pid := w.mainPID(host, "opensm@"+portGUID(host, 1)+".service")

	// Renamed: the machine is recognised by its card and its ports, so that all follow by themselves.
	configure("nine", all("nine"))
	says(o.says(0, "plan"), "No changes")
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
	if now := w.mainPID(host, "opensm@"+portGUID(host, 1)+".service"); now != pid {
		t.Errorf("the subnet manager was restarted: %s, was %s", now, pid)
	}
	o.says(0, "state", "rm", "infiniband_card.it")
	says(o.says(1, "import", "infiniband_card.it", "gone/0000:01:00.0"), "Unable to import card gone/0000:01:00.0",
		"known hosts: nine")
	o.says(0, "import", "infiniband_card.it", "nine/0000:01:00.0")

	// Gone together with its resources: refused while something would have to be
	// undone there, with the way; then possible.
	configure("other", "")
	says(o.says(1, "plan"), "terraform state rm ADDRESS", "Unable to remove subnet manager nine/",
		"Unable to remove IPoIB interface nine/", "removed block")
	forget := func(kind string) string {
		return fmt.Sprintf("removed {\n  from = %s.it\n  lifecycle {\n    destroy = false\n  }\n}\n", kind)
	}
	configure("other", forget("infiniband_opensm")+forget("infiniband_ipoib_interface"))
	o.says(0, "apply", "-auto-approve")
	if left := o.says(0, "state", "list"); left != "" {
		t.Errorf("the state still has %s", left)
	}
}

// Resources for two objects of a machine under its two names are no claim on one object. The plan says it all the same,
// once for each name.
func TestClaims_two_names_of_one_host(t *testing.T) {
	t.Parallel()
	w := portHost(t)
	ws := w.Workspace()
	alias(ws.Provider, labs.Intel9, "nas")
	second := sm("nas", map[string]any{"port_guid": portGUID(labs.Intel9, 2), "priority": 6})[0]
	second.Name = "second"
	third := ipoib("nas", map[string]any{"port_guid": portGUID(labs.Intel9, 2)})[0]
	third.Name = "third"
	said := cleanPlan(t, ws, append(sm(labs.Intel9, nil), second, third)).Diags.Warnings().Find("HO032",
		"of the provider are one machine", "intel9", "nas")
	if len(said) != 1 {
		t.Errorf("HO032 is told %d times", len(said))
	}
	if said := cleanPlan(t, w.Workspace(), sm(labs.Intel9, nil)).Diags.Warnings().Find("HO032"); len(said) > 0 {
		t.Errorf("one name: %v", said)
	}
}
