package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// fleet gives every host of a fleet the seven kinds, all alike: the case in
// which anything that is said of pairs of hosts grows with their square.
func (w *Lab) fleet(hosts int) Config {
	var cfg Config
	for i := range hosts {
		host := fmt.Sprintf("host%04d", i)
		card, guids := "infiniband_card."+host, "infiniband_guids."+host
		cfg = append(cfg,
			Resource{Type: "infiniband_card", Name: host, Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}},
			Resource{Type: "infiniband_firmware_image", Name: host,
				Attrs: map[string]any{"host": host, "source": w.Image(ImageVPI)}},
			Resource{Type: "infiniband_firmware", Name: host,
				Attrs: map[string]any{"card_id": To(card, "id"), "image_id": To("infiniband_firmware_image."+host, "id")}},
			Resource{Type: "infiniband_guids", Name: host,
				Attrs: map[string]any{"card_id": To(card, "id"), "base_mac": labs.MAC(i)}},
			Resource{Type: "infiniband_link_type", Name: host,
				Attrs: map[string]any{"card_id": To(card, "id"), "ports": map[string]any{"1": "ib", "2": "ib"}}},
			Resource{Type: "infiniband_opensm", Name: host,
				Attrs: map[string]any{"host": host, "port_guid": To(guids, "port_guids", "1"), "priority": 1}},
			Resource{Type: "infiniband_ipoib_interface", Name: host, After: []string{"infiniband_opensm." + host},
				Attrs: map[string]any{
					"host": host, "port_guid": To(guids, "port_guids",
						"1"), "mode": "connected", "addresses": []any{fmt.Sprintf("172.16.0.%d/24", i+1)},
				}},
		)
	}
	return cfg
}

// size is how much a plan says: each diagnostic costs the engine milliseconds.
func (d Diags) size() (count, bytes int) {
	for _, one := range d {
		bytes += len(one.Text())
	}
	return len(d), bytes
}

// What a plan says and asks grows with the hosts, not with their pairs. Times
// say nothing on a machine that does other things as well; counts do.
func TestScale_plan_is_linear(t *testing.T) {
	t.Parallel()
	const few, many = 3, 9
	count, bytes := map[int]int{}, map[int]int{}
	for _, hosts := range []int{few, many} {
		w := Start(t, Options{Hosts: labs.Fleet(hosts)})
		ws, cfg := w.Workspace(), w.fleet(hosts)
		first, err := ws.Plan(context.Background(), cfg)
		if err != nil || first.Diags.HasError() {
			t.Fatalf("%v\n%s", err, first.Diags)
		}
		count[hosts], bytes[hosts] = first.Diags.size()
		mustApply(t, ws, cfg)
		before := w.fleetTrips()
		p, err := ws.Plan(context.Background(), cfg)
		if err != nil || len(p.Actions()) > 0 {
			t.Fatalf("%v, %v", err, p.Actions())
		}
		after := w.fleetTrips()
		if want := (trips{hosts, hosts, 0}); after.minus(before) != want {
			t.Errorf("%d hosts: a plan without changes cost %+v, expected %+v", hosts, after.minus(before), want)
		}
		if said := p.Diags.Warnings(); len(said) > 0 {
			t.Errorf("%d hosts, each on a fabric of its own: a plan without changes warns:\n%s", hosts, said)
		}
	}
	if count[many] > count[few]*many/few+many || bytes[many] > bytes[few]*many/few*3/2 {
		t.Errorf("%d hosts: %d diagnostics, %d bytes; %d hosts: %d diagnostics, %d bytes", few, count[few], bytes[few], many,
			count[many], bytes[many])
	}
}

func (w *Lab) fleetTrips() (sum trips) {
	for _, m := range w.Machines() {
		c := m.Counters()
		sum = trips{sum.connections + c.Connections, sum.commands + c.Sessions, sum.transfers + c.SFTP}
	}
	return sum
}

func (t trips) minus(o trips) trips {
	return trips{t.connections - o.connections, t.commands - o.commands, t.transfers - o.transfers}
}

// Hosts that do not answer are named once, and not for each card that is compared.
func TestScale_hosts_that_do_not_answer(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: labs.Fleet(4)})
	ws, cfg := w.Workspace(), w.fleet(2)
	mustApply(t, ws, cfg)
	for _, dead := range []string{"host0002", "host0003"} {
		w.Servers[dead].Close()
	}
	p, err := ws.Plan(context.Background(), cfg)
	if err != nil || p.Diags.HasError() {
		t.Fatalf("%v\n%s", err, p.Diags)
	}
	oneWarning(t, p.Diags, "GUIDs of hosts host0002, host0003 are not compared", "two cards with one GUID")
}

// Cards whose flash cannot be read may have any GUIDs: the driver shows none, or those from
// before a change. They are named once for each card that is compared; cards that no tool reads are not.
func TestScale_cards_that_are_not_read(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: append(labs.Fleet(3), labs.QLogic()...)})
	ws, cfg := w.Workspace(), w.fleet(2)
	mustApply(t, ws, cfg)
	w.Machine("host0002").Uninstall(mstflint)
	for range 2 {
		p, err := ws.Plan(context.Background(), cfg)
		if err != nil || p.Diags.HasError() {
			t.Fatalf("%v\n%s", err, p.Diags)
		}
		said := p.Diags.Warnings().Find("are not compared")
		if len(said) != 2 {
			t.Errorf("%d warnings:\n%s", len(said), said)
		}
		for i, one := range said {
			for _, want := range []string{
				fmt.Sprintf("Card host%04d/0000:01:00.0: GUIDs of card host0002/0000:01:00.0 are not compared", i),
				"host0002/0000:01:00.0: mstflint is not installed",
			} {
				if !strings.Contains(one.Text(), want) {
					t.Errorf("%q is missing:\n%s", want, one.Text())
				}
			}
		}
	}
}
