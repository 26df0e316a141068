package acctest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// configurable is a host whose mstconfig still knows the card.
func configurable(h *labs.Host) { h.MstflintVersion = "4.21.0" }

// The life of one card, from purchase to the firmware that it was bought with:
// refusal, cross-flash, GUIDs, link types kept in the card, import, drift of each
// kind, restore.
func TestFirmware_life_of_a_card(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost(configurable)})
	ws, cfg := w.Workspace(), w.cardOnly(host)
	firmware, guids, link := "infiniband_firmware."+host, "infiniband_guids."+host, "infiniband_link_type."+host
	before := w.Print(host)
	refused := mustPlan(t, ws, cfg.With(firmware, Allow("psid_change", nil)))
	if len(refused.Diags.Errors().Find("FW023", "psid_change", card.PSIDEN)) == 0 {
		t.Errorf("a cross-flash without consent is not refused:\n%s", refused.Diags)
	}
	if after := w.Print(host); after != before {
		t.Error("a refused plan changed the host")
	}

	mustApply(t, ws, cfg)
	once(t, w, host)
	checkConverged(t, w, ws, cfg, host)
	if n := w.Boots(host); n != 3 {
		t.Errorf("%d boots; expected the first, one for the firmware, one for the GUIDs", n)
	}
	for key, want := range map[string]any{"stored_in": "mstconfig", "next_boot": map[string]any{"1": "ib", "2": "ib"},
		"effective": map[string]any{"1": "ib", "2": "ib"}} {
		if diff := cmp.Diff(want, ws.Get(link, key)); diff != "" {
			t.Errorf("link types: %s (-want +got):\n%s", key, diff)
		}
	}
	if nv := w.Card(host).NextNV(); nv.LinkType != [2]int{card.LinkIB, card.LinkIB} {
		t.Errorf("the card's configuration for the next boot: %v", nv)
	}

	imported := w.Workspace()
	for _, r := range cfg {
		diags, err := imported.Import(t.Context(), r, w.ids(host)[r.Type])
		if err != nil || diags.HasError() {
			t.Fatalf("import %s: %v\n%s", r.Address(), err, diags)
		}
	}
	emptyPlan(t, imported, cfg)

	for _, drift := range []struct{ command, address string }{
		{"mstflint -y -d " + w.PCI(host) + " -guid 0002c90300112230 sg", guids},
		{"mstconfig -y -d " + w.PCI(host) + " set LINK_TYPE_P1=2", link},
	} {
		w.Run(host, drift.command)
		plan := cleanPlan(t, ws, cfg)
		if got := plan.Actions(); got[drift.address] != Update || got[firmware] != "" {
			t.Errorf("after %s is planned: %v", drift.command, got)
		}
		// The state has the restart of the first change, so that an engine hides this one.
		if told := len(plan.Diags.Find("The apply restarts host " + host)); told != 1 && drift.address == guids {
			t.Errorf("a second restart is told %d times:\n%s", told, plan.Diags)
		}
		mustApply(t, ws, cfg)
		checkConverged(t, w, ws, cfg, host)
	}
	w.restores(t, ws, cfg, host)
}

// restores destroys what asks for its former firmware, and looks for it.
func (w *Lab) restores(t *testing.T, ws *Workspace, cfg Config, host string) {
	t.Helper()
	mustApply(t, ws, cfg.With("infiniband_firmware."+host, map[string]any{"on_destroy": "restore"}))
	said := mustApply(t, ws, nil)
	if len(said.Warnings().Find("Restored: firmware of card "+host)) == 0 {
		t.Errorf("the destroy does not say that it restored:\n%s", said)
	}
	flash, running := w.Flash(host), w.Card(host).Running()
	if flash.PSID != card.PSIDEN || running.PSID != card.PSIDEN || flash.Version != [3]uint16{2, 40, 5032} ||
		flash.MACs != w.MACs(host) || flash.GUIDs[0] != NodeGUID(host) {
		t.Errorf("after the restore: in flash %+v, running %+v", flash, running)
	}
	if out := w.Run(host, "mstflint -d "+w.PCI(host)+" v"); !strings.Contains(out, "verification succeeded") {
		t.Errorf("mstflint verify says:\n%s", out)
	}
}

// Firmware that somebody else burned is drift, and is burned over.
func TestFirmware_burned_by_somebody_else(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	ws, cfg := w.Workspace(), w.burn(host, w.Image(ImageVPI), Allow("psid_change", nil))
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	if images, guids := burns(w, host); images+guids != 0 {
		t.Errorf("%d burns and %d GUID changes of a card that had it all", images, guids)
	}
	w.write(host, card.OldVPI())
	w.Restart(host)
	if got := cleanPlan(t, ws, cfg).Actions()["infiniband_firmware.it"]; got != Update {
		t.Errorf("with older firmware in flash is planned: %q", got)
	}
	mustApply(t, ws, cfg)
	if now, running := w.Flash(host), w.Card(host).Running(); now.Version != [3]uint16{2, 42, 5000} ||
		running.Version != now.Version {
		t.Errorf("in flash %v, running %v", now.Version, running.Version)
	}
}
