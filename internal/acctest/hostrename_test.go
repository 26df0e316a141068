package acctest

import (
	"maps"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// The key of a host in the provider's map is a name. Who renames it everywhere in the
// configuration sees no change of a card or of a service: the machine is the one that has them.
func TestHost_renamed(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: []labs.Host{
		lockedHost(oneEnd, "192.0.2.20", 0, labsim.StackNetplan), lockedHost("other", "192.0.2.21", 1, labsim.StackNetworkManager),
	}})
	config := func(name string) Config {
		var cfg Config
		for i, host := range w.Names() {
			cfg = append(cfg, w.crossFlash(host, i)...)
		}
		cfg = append(cfg, Resource{Type: "infiniband_port", Name: "it", After: []string{"infiniband_ipoib_interface." + oneEnd},
			Attrs: map[string]any{"card_id": To("infiniband_card."+oneEnd, "id"), "port": 2, "speeds": []any{"SDR", "DDR", "QDR"}}})
		for _, r := range cfg {
			if r.Attrs["host"] == oneEnd {
				r.Attrs["host"] = name
			}
		}
		return cfg
	}
	ws := w.Workspace()
	all := config(oneEnd)
	mustApply(t, ws, all[:len(all)-1]) // the port has to be InfiniBand before it is planned
	mustApply(t, ws, all)
	emptyPlan(t, ws, config(oneEnd))
	before := w.prints()

	hosts := maps.Clone(ws.Provider["hosts"].(map[string]any))
	hosts["desk"] = hosts[oneEnd]
	delete(hosts, oneEnd)
	ws.Provider = maps.Clone(ws.Provider)
	ws.Provider["hosts"] = hosts
	plan := cleanPlan(t, ws, config("desk"))
	for address, action := range plan.Actions() {
		want := NoOp
		if address == "infiniband_firmware_image."+oneEnd { // nothing tells whose copy it is
			want = Update
		}
		if action != want {
			t.Errorf("%s of %s, expected %s", action, address, want)
		}
	}
	if _, err := ws.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	emptyPlan(t, ws, config("desk"))
	if id := ws.Get("infiniband_opensm."+oneEnd, "id"); id != "desk/0xe41d2d0300e44ed1" {
		t.Errorf("the state has %v", id)
	}
	if after := w.prints(); before != after {
		t.Errorf("a host was changed:\n%s\n%s", before, after)
	}

	// A host that is gone from the map and has its cards in no other is not taken for another one.
	delete(hosts, "desk")
	if plan := mustPlan(t, ws, config("desk")); len(plan.Diags.Errors().Find(`Host "desk" is not in the provider's hosts map`)) == 0 {
		t.Errorf("without the host:\n%s", plan.Diags)
	}
	if ws.State["infiniband_card."+oneEnd] == nil {
		t.Error("the state of a host that is gone is lost")
	}
}
