package acctest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// rails are four Ubuntu hosts after the cross-flash: the first two on one fabric, the others on another.
func rails() []labs.Host {
	hosts := labs.Fleet(4)
	for i := range hosts {
		hosts[i].Switch, hosts[i].Cmdline = fmt.Sprintf("rail%d", i/2), "mlx4_core.port_type_array=1,1"
		hosts[i].Packages = []string{"infiniband-diags"}
	}
	return hosts
}

// ofRails is a subnet manager on each host, with the same priorities on both fabrics and other partitions on each.
func (w *Lab) ofRails() Config {
	var all Config
	for i, h := range w.hosts {
		pkey := fmt.Sprintf("0x000%d", 1+i/2)
		it := sm(h.Name, map[string]any{"port_guid": w.firstPort(h.Name), "priority": 14 - i%2,
			"sminfo_polling_timeout": "1s", "polling_retry_number": 2, "partitions": map[string]any{"Default": everybody,
				"storage": map[string]any{"pkey": pkey, "full": []any{"ALL"}}}})[0]
		it.Name = h.Name
		all = append(all, it)
	}
	return all
}

// Two fabrics with two subnet managers each. A walk tells them apart before any subnet manager runs, and the
// standbys afterwards: equal priorities and other partitions of another fabric are no finding.
func TestTwoFabrics_seen(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: rails()})
	w.needSimulated("needs two fabrics")
	drivers(w)
	ws, cfg := w.Workspace(), w.ofRails()
	quiet := func(when string, said Diags) {
		t.Helper()
		for _, code := range []string{"SM005", "SM023"} {
			if len(said.Find(code)) > 0 {
				t.Errorf("%s:\n%s", when, said)
			}
		}
	}
	quiet("before one runs", mustPlan(t, ws, cfg).Diags)
	mustApply(t, ws, cfg)
	roles := map[string]string{}
	for i, h := range w.hosts {
		roles[h.Name] = []string{"master", "standby"}[i%2]
	}
	quiet("with standbys", awaitRoles(t, ws, cfg, roles).Diags)

	// On one of the fabrics both are findings.
	odd := slices.Clone(cfg)
	odd[3] = odd[3].With(map[string]any{"priority": 14, "partitions": map[string]any{"Default": everybody}})
	said := mustPlan(t, ws, odd).Diags
	if len(said.Find("SM023", w.hosts[3].Name+" and "+w.hosts[2].Name)) != 1 {
		t.Errorf("other partitions on one fabric:\n%s", said)
	}
	if len(said.Find("SM005", w.firstPort(w.hosts[2].Name), "equal_priority = 14")) != 1 {
		t.Errorf("an equal priority on one fabric:\n%s", said)
	}
}

// Where nothing tells the fabrics apart, the configuration does: by hosts or by ports. Its word is held against
// what is seen.
func TestTwoFabrics_named(t *testing.T) {
	t.Parallel()
	hosts := rails()
	for i := range hosts {
		hosts[i].Packages = nil
	}
	w := Start(t, Options{Hosts: hosts})
	w.needSimulated("needs two fabrics")
	drivers(w)
	ws, cfg := w.Workspace(), w.ofRails()
	names := w.Names()
	said := mustPlan(t, ws, cfg).Diags
	if len(said.Find("SM005")) == 0 || len(said.Find("SM023")) == 0 {
		t.Errorf("nobody can tell that they are two fabrics:\n%s", said)
	}
	ws.Provider["fabrics"] = map[string]any{"left": []any{w.firstPort(names[0]), names[1]},
		"right": []any{names[2], names[3]}}
	said = mustPlan(t, ws, cfg).Diags
	if len(said.Find("SM005")) > 0 || len(said.Find("SM023")) > 0 {
		t.Errorf("on fabrics with names:\n%s", said)
	}
	ws.Provider["fabrics"] = map[string]any{"left": []any{names[0], names[2]}}
	if said = mustPlan(t, ws, cfg).Diags; len(said.Find("SM005", "("+names[2]+" and "+names[0]+")")) == 0 {
		t.Errorf("on one fabric with a name:\n%s", said)
	}
}

// One subnet of IPoIB on two fabrics is two subnets: their settings and addresses are not compared.
func TestTwoFabrics_subnets(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: rails()})
	w.needSimulated("needs two fabrics")
	drivers(w)
	ws, sms := w.Workspace(), w.ofRails()
	cfg := Config{sms[0], sms[2]}
	mustApply(t, ws, cfg)
	for i, host := range []string{w.Names()[0], w.Names()[2]} {
		it := ipoib(host, map[string]any{"port_guid": w.firstPort(host), "mode": []string{"connected", "datagram"}[i]})[0]
		it.Name = host
		cfg = append(cfg, it)
	}
	said := func() string { return mustPlan(t, ws, cfg).Diags.String() }
	if text := said(); strings.Contains(text, "IP041") {
		t.Errorf("on two fabrics:\n%s", text)
	}
	ws.Provider["fabrics"] = map[string]any{"one": []any{w.Names()[0], w.Names()[2]}}
	if text := said(); !strings.Contains(text, "IP041") {
		t.Errorf("IP041 is missing on one fabric:\n%s", text)
	}
}

// A GUID of two cards refuses a subnet manager, unless the configuration puts their hosts on two fabrics.
func TestTwoFabrics_oneGUID(t *testing.T) {
	t.Parallel()
	hosts := vpi()
	hosts[1].Cards[0].GUIDs = hosts[0].Cards[0].GUIDs
	hosts[1].Switch = "other"
	w := Start(t, Options{Hosts: hosts})
	w.needSimulated("needs two fabrics")
	drivers(w)
	ws, cfg := w.Workspace(), sm(labs.Intel9, nil)
	if said := mustPlan(t, ws, cfg).Diags; len(said.Errors().Find("SM019", portGUID(labs.Intel9, 1))) != 1 {
		t.Errorf("on fabrics without names:\n%s", said)
	}
	ws.Provider["fabrics"] = map[string]any{"a": []any{labs.Intel9}, "b": []any{labs.Xeon2zfs}}
	said := mustPlan(t, ws, cfg).Diags
	if said.HasError() || len(said.Warnings().Find("SM019", "Cards on two fabrics have one GUID", portGUID(labs.Intel9, 1))) != 1 {
		t.Errorf("on two fabrics:\n%s", said)
	}
}

// Another card's GUID refuses GUIDs, unless the configuration puts the two cards on two fabrics. MACs are of Ethernet.
func TestTwoFabrics_guids(t *testing.T) {
	t.Parallel()
	hosts := vpi()
	hosts[1].Switch = "other"
	w := Start(t, Options{Hosts: hosts})
	w.needSimulated("needs two fabrics")
	drivers(w)
	ws := w.Workspace()
	two := map[string]any{"a": []any{labs.Intel9}, "b": []any{labs.Xeon2zfs}}
	taken, near := map[string]any{"base_guid": "0xe41d2d0300e44ee0"}, map[string]any{"base_guid": "0xe41d2d0300e44ede"}
	for _, tt := range []struct {
		what            string
		fabrics         any
		asks            map[string]any
		refuses, warned int
	}{
		{"no names", nil, taken, 4, 0},
		{"two fabrics", two, taken, 0, 1},
		{"two fabrics, and overlapping bases", two, near, 0, 1},
		{"one fabric", map[string]any{"a": []any{labs.Intel9, labs.Xeon2zfs}}, taken, 4, 0},
		{"a port on the other fabric", map[string]any{"a": []any{labs.Intel9}, "b": []any{labs.Xeon2zfs},
			"c": []any{portGUID(labs.Xeon2zfs, 2)}}, taken, 4, 0},
		{"one of the two has no name", map[string]any{"a": []any{labs.Intel9}}, taken, 4, 0},
		{"a MAC", two, map[string]any{"macs": map[string]any{"1": "e4:1d:2d:e4:4e:e1", "2": "e4:1d:2d:e4:4e:e2"}}, 1, 0},
	} {
		delete(ws.Provider, "fabrics")
		if tt.fabrics != nil {
			ws.Provider["fabrics"] = tt.fabrics
		}
		said := mustPlan(t, ws, w.guids(labs.Intel9, tt.asks)).Diags
		refused, warned := said.Errors().Find("GU006"), said.Warnings().Find("GU006", "on the fabrics a and b")
		if len(refused) != tt.refuses || len(warned) != tt.warned {
			t.Errorf("%s: %d refusals and %d warnings:\n%s", tt.what, len(refused), len(warned), said)
		}
	}
	ws.Provider["fabrics"] = two
	taken["allow"] = map[string]any{"guid_change": replacingGUIDs(NodeGUID(labs.Intel9), 0xe41d2d0300e44ee0)}
	mustApply(t, ws, w.guids(labs.Intel9, taken))
	if got := ws.Get("infiniband_guids.it", "node_guid"); got != "0xe41d2d0300e44ee0" {
		t.Errorf("the card has %v", got)
	}
}

// Names of two fabrics do not count for cards that a look shows on one, whichever of the two hosts looks.
func TestTwoFabrics_guidsSeenOnOne(t *testing.T) {
	t.Parallel()
	const looks, other = labs.Intel9, labs.Xeon2zfs
	for _, programs := range []string{"", "infiniband-diags"} {
		hosts := vpi()
		hosts[0].Packages = strings.Fields(programs)
		w := Start(t, Options{Hosts: hosts})
		w.needSimulated("needs one fabric")
		drivers(w)
		ws := w.Workspace()
		ws.Provider["fabrics"] = map[string]any{"a": []any{looks}, "b": []any{other}}
		for _, host := range []string{looks, other} {
			base := NodeGUID(looks) ^ NodeGUID(other) ^ NodeGUID(host)
			said := mustPlan(t, ws, w.guids(host, map[string]any{"base_guid": fmt.Sprintf("0x%016x", base),
				"allow": map[string]any{"guid_change": replacingGUIDs(NodeGUID(host), base)}})).Diags
			refused, warned := len(said.Errors().Find("GU006")), len(said.Warnings().Find("GU006", "on the fabrics"))
			if seen := programs != ""; (refused == 4) != seen || (warned == 0) != seen {
				t.Errorf("%s with %q on %s: %d refusals, %d warnings:\n%s", host, programs, looks, refused, warned, said)
			}
		}
	}
}

// The data source has the names of fabric and nodes, and says which of them do not fit what is seen.
func TestTwoFabrics_names(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: rails()})
	w.needSimulated("needs two fabrics")
	drivers(w)
	ws, names := w.Workspace(), w.Names()
	mustApply(t, ws, Config{w.ofRails()[0]})
	look := func(attrs map[string]any) any {
		t.Helper()
		attrs["host"] = names[0]
		v, diags, err := ws.Data(context.Background(), "infiniband_fabric", attrs)
		if err != nil || diags.HasError() {
			t.Fatalf("%v %v", err, diags)
		}
		return v
	}
	guid := fmt.Sprintf("0x%016x", w.hosts[1].Cards[0].GUIDs[0])
	ws.Provider["fabrics"] = map[string]any{"left": []any{names[0], names[1]}, "right": []any{names[2]}}
	ws.Provider["node_name_map"] = map[string]any{"0x0002c902004a1b00": "leaf-a", guid: "storage hca",
		"0x0002c90200000001": "leaf-z"}
	cables := []any{map[string]any{"a": names[0] + "/1", "b": "leaf-a/1"}, map[string]any{"a": names[0] + "/2", "b": "leaf-a/2"},
		map[string]any{"a": "storage hca/1", "b": "leaf-a/3"}, map[string]any{"a": "storage hca/2", "b": "leaf-a/4"}}
	got := look(map[string]any{"expected_links": cables})
	called := field(t, got, "nodes", guid, "ports", "1", "fabric")
	if m := messages(t, got); m != "" || called != "left" {
		t.Errorf("fabric %v:\n%s", called, m)
	}
	if svg, _ := field(t, got, "svg").(string); !strings.Contains(svg, ">leaf-a</text>") || !strings.Contains(svg, ">storage hca</text>") {
		t.Errorf("the picture does not have the names:\n%s", svg)
	}
	w.Disconnect(labsim.SwitchEnd("rail0", 4))
	ws.Provider["fabrics"] = map[string]any{"left": []any{names[0]}, "right": []any{names[1], names[2]}}
	got = look(map[string]any{"expected_links": cables})
	for _, want := range []string{
		"missing: The cable storage hca/2 - leaf-a/4 is not there.",
		"two_fabrics: Ports that the configuration puts on different fabrics are on one: " + names[0] + " mlx4_0 port 1 (left), storage hca port 1 (right).",
	} {
		if !strings.Contains(messages(t, got), want) {
			t.Errorf("want %q in\n%s", want, messages(t, got))
		}
	}
	// One fabric has all nodes of the map.
	hosts, _ := ws.Provider["hosts"].(map[string]any)
	delete(hosts, names[2])
	delete(hosts, names[3])
	delete(ws.Provider, "fabrics")
	ws.Provider["node_name_map"] = map[string]any{"0x0002c90200000001": "leaf-z", w.firstPort(names[1]): "storage"}
	got = look(map[string]any{})
	for _, want := range []string{
		"unknown_guid: No node of the fabric has the GUID 0x0002c90200000001, which node_name_map calls leaf-z. It is misspelled",
		"It is another GUID of " + names[1] + " mlx4_0, whose node GUID is " + guid + ".",
	} {
		if !strings.Contains(messages(t, got), want) {
			t.Errorf("want %q in\n%s", want, messages(t, got))
		}
	}
}

// What cannot be a fabric or a name is refused before a host is asked.
func TestTwoFabrics_refusals(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	w.needSimulated("its hosts have names of their own")
	for _, c := range []struct {
		attribute string
		value     map[string]any
		want      string
	}{
		{"fabrics", map[string]any{"a": []any{"intel8"}}, `"intel8" is no port GUID and no key of hosts.`},
		{"fabrics", map[string]any{"a": []any{"intel9"}, "b": []any{"intel9"}}, `intel9 is on the fabric "a", too.`},
		{"fabrics", map[string]any{"a": []any{"0xe41d2d0300e44ed1"}, "b": []any{"0xE41D2D0300E44ED1"}},
			`0xe41d2d0300e44ed1 is on the fabric "a", too.`},
		{"node_name_map", map[string]any{"leaf": "leaf"}, "The key is no GUID"},
		{"node_name_map", map[string]any{"0x1": "a", "0x01": "b"}, `The GUID is there twice, also as "0x01".`},
		{"node_name_map", map[string]any{"0x1": "a", "0x2": "a"}, `The node "0x1" has the name "a", too.`},
		{"node_name_map", map[string]any{"0x1": "a\nb"}, "1 to 64 bytes without quotes, # and control characters"},
	} {
		ws := w.Workspace()
		ws.Provider[c.attribute] = c.value
		if said := mustPlan(t, ws, nil).Diags; len(said.Errors().Find(c.want)) != 1 {
			t.Errorf("%s = %v:\n%s", c.attribute, c.value, said)
		}
	}
}
