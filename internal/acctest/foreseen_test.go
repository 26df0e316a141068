package acctest

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// shownChanges are the attributes that a plan of one resource shows to change: those with a new value, and those whose
// value is not known.
func shownChanges(t *testing.T, p *Plan) (known, open []string) {
	t.Helper()
	if len(p.Changes) != 1 {
		t.Fatalf("planned %v", p.Changes)
	}
	prior, planned := Decode(p.Changes[0].Prior), Decode(p.Changes[0].Planned)
	names, _ := planned.(map[string]any)
	for name := range names {
		switch is := At(planned, name); {
		case is == Unknown:
			open = append(open, name)
		case !reflect.DeepEqual(At(prior, name), is):
			known = append(known, name)
		}
	}
	slices.Sort(known)
	slices.Sort(open)
	return known, open
}

// Files of an interface of the port of these tests.
const (
	plan60      = "/etc/netplan/60-infiniband-e41d2d0300e44ed1.yaml"
	rule70      = "/etc/udev/rules.d/70-infiniband-e41d2d0300e44ed1.rules"
	modulesList = "/etc/modules-load.d/terraform-infiniband.conf"
)

// An update shows what changes, and no more. What was planned is there after the apply: a refresh finds nothing else.
func TestForeseen_updates(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	const conf = "writes /etc/opensm/terraform-0xe41d2d0300e44ed1.conf"
	restarts, rereads := conf+"; restarts "+smUnit, conf+"; has "+smUnit+" read its files again"
	unit := func(w *Lab) { w.Run(host, "systemctl stop "+smUnit) }
	edit := func(w *Lab) { w.Run(host, "echo '# mine' >> "+smConf) }
	const portUnit = "infiniband-port-0000:01:00.0-1.service"
	port := func(attrs map[string]any) Config {
		all := map[string]any{"card_id": host + "/0000:01:00.0", "port": 1}
		return Config{Resource{Type: "infiniband_port", Name: "it", Attrs: all}.With(attrs)}
	}
	off := port(map[string]any{"enabled": false})
	slow := port(map[string]any{"speeds": []any{"SDR", "DDR"}})
	loose := func(w *Lab) { w.Run(host, "echo Nice=5 >> /etc/systemd/system/"+portUnit) }
	const link = "lid physical_state rate sm_lid state"
	const rewrites = "writes /usr/local/sbin/terraform-infiniband-port, /etc/systemd/system/" + portUnit +
		"; enables " + portUnit
	for _, c := range []struct {
		name        string
		from, to    Config
		between     func(*Lab)
		known, open string
		change      string
	}{
		{"MTU", ipoib(host, map[string]any{"mtu": 9000}), ipoib(host, map[string]any{"mtu": 8000}), nil,
			"change mtu", "", "mtu: 9000 -> 8000; writes " + plan60},
		{"address", ipoib(host, nil), ipoib(host, map[string]any{"addresses": []any{"172.16.0.21/24"}}), nil,
			"addresses change", "", "addresses: 172.16.0.20/24 -> 172.16.0.21/24; writes " + plan60},
		{"rule of an interface", ipoib(host, nil), ipoib(host, nil), func(w *Lab) { w.Run(host, "rm "+rule70) }, "change effective mode",
			"stored_in", "mode: none -> connected; writes " + rule70},
		{"rule and MTU of an interface", ipoib(host, nil), ipoib(host, map[string]any{"mtu": 9000}), func(w *Lab) { w.Run(host, "rm "+rule70+" "+modulesList) },
			"change effective mode mtu", "stored_in", "mode: none -> connected; mtu: 65520 -> 9000; writes " + plan60 + ", " + rule70 + ", " + modulesList},
		{"list of modules", ipoib(host, nil), ipoib(host, nil), func(w *Lab) { w.Run(host, "rm "+modulesList) }, "change",
			"stored_in", "mends ib_ipoib and mlx4_ib are not in " + modulesList + ", which loads them at boot; writes " + modulesList},
		{"priority", sm(host, nil), sm(host, map[string]any{"priority": 6}), nil, "change priority", "role sm_lid", rereads},
		{"log level", sm(host, nil), sm(host, map[string]any{"log_level": "verbose"}), nil, "change log_level", "", rereads},
		{"routing engine", sm(host, nil), sm(host, map[string]any{"routing_engine": []any{"ftree"}}), nil,
			"change routing_engine", "role sm_lid", restarts},
		{"stopped", sm(host, nil), sm(host, nil), unit, "active change", "role sm_lid", "starts " + smUnit},
		{"edited", sm(host, nil), sm(host, nil), edit, "change", "role sm_lid", restarts},
		{"unit of a port", slow, slow, loose, "change", "", rewrites},
		{"unit of a port that is disabled", off, off, loose, "change", "", rewrites},
		{"unit of a port without link", slow, slow, func(w *Lab) {
			loose(w)
			w.Disconnect(labsim.CardEnd(host, "0000:01:00.0", 1))
		}, "change", link, rewrites},
		{"speeds of a port", port(nil), slow, nil, "change speeds", link, rewrites},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: vpi()})
			drivers(w)
			if c.from[0].Type != "infiniband_opensm" { // or the apply may give the interface its carrier
				w.AddSM(&labsim.SM{Port: w.Machine(labs.Xeon2zfs).Cards()[0].Ports[0], Priority: 1})
			}
			ws := w.Workspace()
			mustApply(t, ws, c.from)
			if c.between != nil {
				c.between(w)
			}
			p := cleanPlan(t, ws, c.to)
			known, open := shownChanges(t, p)
			if got := strings.Join(known, " "); got != c.known {
				t.Errorf("the plan shows new values of %q, want %q", got, c.known)
			}
			if got := strings.Join(open, " "); got != c.open {
				t.Errorf("the plan leaves open %q, want %q", got, c.open)
			}
			address := c.to[0].Address()
			if change := p.Get(address, "change"); c.change != "" && change != c.change {
				t.Errorf("change is %v", change)
			}
			applyStep(t, ws, p, "")
			applied := ws.State[address]
			emptyPlan(t, ws, c.to)
			if !reflect.DeepEqual(Decode(applied.Value), Decode(ws.State[address].Value)) {
				t.Errorf("the apply has stored  %v\nthe refresh has found %v", Decode(applied.Value), Decode(ws.State[address].Value))
			}
		})
	}
}

// A change that does what the last one did is shown all the same.
func TestForeseen_change_that_is_repeated(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	mustApply(t, ws, sm(host, nil))
	for _, want := range []string{"starts " + smUnit, "again: starts " + smUnit, "starts " + smUnit} {
		w.Run(host, "systemctl stop "+smUnit)
		p := cleanPlan(t, ws, sm(host, nil))
		if change := p.Get("infiniband_opensm.it", "change"); change != want {
			t.Errorf("change is %v, want %s", change, want)
		}
		applyStep(t, ws, p, "")
	}
}

// What the plan of a new resource says of packages, files and services is what its apply does. If somebody has
// installed the package after that, the engine stops the apply, and nothing is changed.
func TestForeseen_creates(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	known, open := shownChanges(t, cleanPlan(t, ws, ipoib(host, nil)))
	for _, name := range []string{"interface", "network_stack", "stored_in", "up"} {
		if !slices.Contains(known, name) {
			t.Errorf("%s of a new interface is not known; open are %v", name, open)
		}
	}
	made := cleanPlan(t, ws, ipoib(host, nil))
	if got := made.Get("infiniband_ipoib_interface.it", "change"); got != "mode: datagram -> connected; "+
		"addresses: none -> 172.16.0.20/24; writes "+plan60+", "+rule70+", "+modulesList {
		t.Errorf("the change of a new interface is %v", got)
	}
	key := cleanPlan(t, ws, ipoib(host, map[string]any{"pkey": "0x8001", "mode": "datagram", "mtu": 2044}))
	if got := key.Get("infiniband_ipoib_interface.it", "change"); got != "makes the interface of P_Key 0x8001; writes its files" {
		t.Errorf("the change of a new interface of a P_Key is %v", got)
	}
	w.Run(host, "echo connected > /sys/class/net/ibp1s0/mode")
	saidOf, err := ws.Apply(context.Background(), made)
	if err != nil || len(saidOf.Errors().Find("inconsistent final plan")) == 0 || ws.State["infiniband_ipoib_interface.it"] != nil {
		t.Errorf("an interface whose mode somebody has set since its plan: %v\n%s", err, saidOf)
	}
	p := cleanPlan(t, ws, sm(host, nil))
	if _, open = shownChanges(t, p); strings.Join(open, " ") != "lid package_version role sm_lid" {
		t.Errorf("open are %v", open)
	}
	change, _ := p.Get("infiniband_opensm.it", "change").(string)
	for _, part := range []string{"installs opensm; ", "writes /etc/default/opensm, " + modulesList + ", " + smConf, "; starts " + smUnit} {
		if !strings.Contains(change, part) {
			t.Errorf("change has no %q: %s", part, change)
		}
	}
	w.Run(host, "apt-get install -y opensm; systemctl stop opensm; echo PORTS=NONE > /etc/default/opensm")
	said, err := ws.Apply(context.Background(), p)
	if err != nil || len(said.Errors().Find("inconsistent final plan")) == 0 {
		t.Errorf("%v\n%s", err, said)
	}
	if w.Run(host, "cat /etc/default/opensm") != "PORTS=NONE\n" || ws.State["infiniband_opensm.it"] != nil {
		t.Error("the apply has changed something")
	}
	applyStep(t, ws, cleanPlan(t, ws, append(sm(host, nil), ipoib(host, nil)...)), "")
}
