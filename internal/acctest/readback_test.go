package acctest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// A refresh that saw the port as Ethernet is stored. The next apply changes the port, and by
// that the interface, of which nothing is left to be written: the state holds what is there
// then, and not what the refresh saw.
func TestReadBack_interface_after_a_stored_refresh(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	drivers(w)
	cfg := append(w.types(labs.Intel9, "ib", "ib"), ipoib(labs.Intel9, map[string]any{"mtu": 65520})...)
	cfg[len(cfg)-1].After = []string{"infiniband_link_type.it"}
	o := newOperator(t, w, cfg, buildProvider(t))
	o.write("outputs.tf", "output \"interface\" {\n  value = infiniband_ipoib_interface.it.interface\n}\n")
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
	w.Run(labs.Intel9, "echo eth > /sys/bus/pci/devices/0000:01:00.0/mlx4_port2; echo eth > /sys/bus/pci/devices/0000:01:00.0/mlx4_port1")
	o.says(0, "apply", "-refresh-only", "-auto-approve")
	o.says(2, "plan", "-detailed-exitcode")
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
	o.says(0, "plan", "-detailed-exitcode", "-refresh=false")
}

// Somebody mends by hand what an apply was to mend: it changes nothing, and stores what is
// there.
func TestReadBack_mended_between_plan_and_apply(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	cable := func(w *Lab, in bool) {
		if !in {
			w.Disconnect(labsim.CardEnd(host, "0000:01:00.0", 1))
			return
		}
		if err := w.Connect(labsim.CardEnd(host, "0000:01:00.0", 1), labsim.SwitchEnd("switch", 30)); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name        string
		config      func(*Lab) Config
		harm, mend  func(*Lab)
		attribute   string
		seen, after any
	}{
		{"an interface that is down", func(*Lab) Config { return ipoib(host, nil) },
			func(w *Lab) { w.Run(host, "ip link set dev ibp1s0 down") },
			func(w *Lab) { w.Run(host, "ip link set dev ibp1s0 up") }, "up", false, true},
		{"a subnet manager whose file was changed", func(*Lab) Config { return sm(host, nil) },
			func(w *Lab) {
				cable(w, false)
				w.Run(host, "cp "+smConf+" /root/conf; echo qos TRUE >>"+smConf)
			},
			func(w *Lab) {
				cable(w, true)
				w.Run(host, "cp /root/conf "+smConf)
				w.waitActive(host, 1)
			}, "port_state", "Down", "Active"},
		{"a port that is Ethernet", func(w *Lab) Config { return w.types(host, "ib", "ib") },
			func(w *Lab) {
				w.Run(host, "cd /sys/bus/pci/devices/0000:01:00.0; echo eth >mlx4_port2; echo eth >mlx4_port1")
			},
			func(w *Lab) {
				w.Run(host, "cd /sys/bus/pci/devices/0000:01:00.0; echo ib >mlx4_port1; echo ib >mlx4_port2")
			}, "effective", map[string]any{"1": "eth", "2": "eth"}, map[string]any{"1": "ib", "2": "ib"}},
		{"a port whose unit was changed", func(w *Lab) Config { return w.port(nil) },
			func(w *Lab) {
				cable(w, false)
				w.Run(host, "cd /etc/systemd/system; cp infiniband-port-0000:01:00.0-1.service /root/unit; echo Nice=5 >>infiniband-port-0000:01:00.0-1.service")
			},
			func(w *Lab) {
				cable(w, true)
				w.Run(host, "cp /root/unit /etc/systemd/system/infiniband-port-0000:01:00.0-1.service")
			}, "physical_state", "Polling", "LinkUp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: vpi()})
			drivers(w)
			cfg, ws := c.config(w), w.Workspace()
			mustApply(t, ws, cfg)
			c.harm(w)
			cleanPlan(t, ws, cfg) // its refresh is stored
			plan := cleanPlan(t, ws, cfg)
			address := cfg[0].Address()
			if got := ws.Get(address, c.attribute); plan.Actions()[address] != Update || !cmp.Equal(got, c.seen) {
				t.Fatalf("planned %v with %s %v", plan.Actions(), c.attribute, got)
			}
			c.mend(w)
			applyStep(t, ws, plan, "")
			if got := ws.Get(address, c.attribute); !cmp.Equal(got, c.after) {
				t.Errorf("%s is %v in the state after the apply, not %v", c.attribute, got, c.after)
			}
			emptyPlan(t, ws, cfg)
		})
	}
}

// Two cards share the setting of the next boot. The first that is applied stores it for both,
// and the other one's state has it, too.
func TestReadBack_of_another_card(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi(anotherCard)})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	ws := w.Workspace()
	host := w.hostSpec(labs.Intel9)
	var cfg Config
	for i, c := range host.Cards {
		cfg = append(cfg, Resource{Type: "infiniband_link_type", Name: fmt.Sprint("card", i), Attrs: map[string]any{
			"card_id": labs.Intel9 + "/" + c.BDF, "ports": map[string]any{"1": "ib", "2": "ib"},
			"allow": map[string]any{"other_cards": []any{host.Cards[1-i].BDF}}}})
	}
	mustApply(t, ws, cfg)
	w.Run(labs.Intel9, "sleep 1; t=$(sed s/1,1/2,2/ /etc/modprobe.d/terraform-infiniband.conf); "+
		"printf '%s\\n' \"$t\" >/etc/modprobe.d/terraform-infiniband.conf")
	mustApply(t, ws, cfg)
	for _, r := range cfg {
		if got := ws.Get(r.Address(), "next_boot", "1"); got != "ib" {
			t.Errorf("after the apply next_boot of %s is %v", r.Address(), Decode(ws.State[r.Address()].Value))
		}
	}
	emptyPlan(t, ws, cfg)
}
