package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// What the driver of a ConnectX-4 shows of its temperature and its slot, and what an unmanaged switch
// says of its firmware.
func TestHardware_of_cards_and_switches(t *testing.T) {
	t.Parallel()
	hosts := labs.GPU()[1:]
	host := hosts[0].Name
	hosts[0].Cards[0].Temperatures, hosts[0].Cards[0].Node = []int{61, 44}, 2
	w := Start(t, Options{Hosts: hosts})
	ws := w.Workspace()
	mustApply(t, ws, sm(host, map[string]any{"port_guid": fmt.Sprintf("0x%016x", w.Card(host).Running().GUIDs[1])}))
	read := func(name string, attrs map[string]any) any {
		t.Helper()
		v, diags, err := ws.Data(context.Background(), name, attrs)
		if err != nil || diags.HasError() {
			t.Fatalf("%s: %v %v", name, err, diags)
		}
		return v
	}
	cards := read("infiniband_cards", map[string]any{"hosts": []any{host, hosts[1].Name}})
	for name, want := range map[string]string{host: "1 map[Module0:44 asic:61]", hosts[1].Name: "<nil> map[]"} {
		card := field(t, cards, "cards", name+"/0000:81:00.0")
		if got := fmt.Sprint(field(t, card, "numa_node"), field(t, card, "temperatures")); got != want {
			t.Errorf("the card of %s: %s", name, got)
		}
	}
	firmware := func(attrs map[string]any) string {
		t.Helper()
		attrs["host"] = host
		var all []string
		v := read("infiniband_fabric", attrs)
		for _, kind := range []string{"switches", "nodes"} {
			nodes, _ := field(t, v, kind).(map[string]any)
			for _, n := range nodes {
				all = append(all, fmt.Sprintf("%v %v", field(t, n, "running_version"), field(t, n, "running_psid")))
			}
		}
		return strings.Join(all, ", ")
	}
	if got := firmware(map[string]any{}); got != "7.4.0000 MT_9D90110009, <nil> <nil>, <nil> <nil>" {
		t.Errorf("firmware: %s", got)
	}
	if got := firmware(map[string]any{"detail": false}); got != "<nil> <nil>, <nil> <nil>, <nil> <nil>" {
		t.Errorf("firmware without details: %s", got)
	}
}

// A port whose extended speeds are switched off is QDR where FDR is expected, and says so. The switch has no
// agent that tells its firmware.
func TestHardware_extended_speeds_off(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	host := w.hosts[0].Name
	ws := w.Workspace()
	mustApply(t, ws, sm(host, map[string]any{"port_guid": w.firstPort(host)}))
	port := w.Machine(w.hosts[1].Name).Cards()[0].Ports[0]
	port.SetLink(true, &labsim.QDR4X, true)
	v, diags, err := ws.Data(context.Background(), "infiniband_fabric", map[string]any{"host": host})
	if err != nil || diags.HasError() {
		t.Fatalf("%v %v", err, diags)
	}
	links, _ := field(t, v, "links").([]any)
	want := "(LinkSpeedExtEnabled is 0): its firmware, force_link_speed_ext of the subnet manager or somebody's " +
		"ibportstate has switched the extended speeds off; infiniband_port switches them on for a card"
	if !strings.Contains(fmt.Sprint(links...), want) {
		t.Errorf("%v", links)
	}
	switches, _ := field(t, v, "switches").(map[string]any)
	for _, s := range switches {
		if field(t, s, "running_version") != nil || field(t, s, "running_psid") != nil {
			t.Errorf("%v", s)
		}
	}
	if len(switches) != 1 {
		t.Errorf("%v", switches)
	}
}
