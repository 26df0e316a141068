package acctest

import (
	"context"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// ids are what the resources of a host are imported by.
func (w *Lab) ids(host string) map[string]string {
	cardID := host + "/" + w.PCI(host)
	port := 1
	if host == labs.Xeon2zfs {
		port = 2
	}
	return map[string]string{
		"infiniband_card": cardID, "infiniband_firmware": cardID, "infiniband_guids": cardID, "infiniband_link_type": cardID,
		"infiniband_firmware_image":  host + "/" + w.Image(ImageVPI),
		"infiniband_opensm":          host + "/" + portGUID(host, port),
		"infiniband_ipoib_interface": host + "/" + portGUID(host, port),
	}
}

// Both hosts from purchase to destroy, in process: the state may be lost and is
// found again by import, the plan after it is empty, and a destroy leaves the
// cards alone and says so.
func TestLife_lost_state_is_imported(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	cfg := w.BothHosts()
	mustApply(t, w.Workspace(), cfg)
	if err := w.works(); err != nil {
		t.Fatal(err)
	}
	before := w.prints()
	ws := w.Workspace() // with an empty state
	for _, r := range cfg {
		diags, err := ws.Import(context.Background(), r, w.ids(r.Name)[r.Type])
		if err != nil || diags.HasError() || ws.State[r.Address()] == nil {
			t.Fatalf("import %s: %v\n%s", r.Address(), err, diags)
		}
	}
	emptyPlan(t, ws, cfg)
	if after := w.prints(); after != before {
		t.Error("the import or the plan changed a host")
	}
	diags := mustApply(t, ws, nil)
	if len(ws.State) > 0 {
		t.Errorf("left in the state: %v", ws.State)
	}
	for _, kind := range []string{"firmware of card", "GUIDs of card", "link types of card"} {
		if len(diags.Warnings().Find("Left as it is: "+kind)) != 2 {
			t.Errorf("the destroy does not say twice that it leaves %s as they are:\n%s", kind, diags)
		}
	}
	if err := w.leftAsItIs(); err != nil {
		t.Error(err)
	}
}

// A state that was lost altogether is made anew by an apply that changes nothing
// on the hosts.
func TestLife_create_over_what_is_there(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	cfg := w.BothHosts()
	mustApply(t, w.Workspace(), cfg)
	ws := w.Workspace()
	boots := w.Boots(labs.Intel9) + w.Boots(labs.Xeon2zfs)
	mustApply(t, ws, cfg)
	for _, host := range []string{labs.Intel9, labs.Xeon2zfs} {
		once(t, w, host)
		checkConverged(t, w, ws, cfg, host)
	}
	if now := w.Boots(labs.Intel9) + w.Boots(labs.Xeon2zfs); now != boots {
		t.Errorf("hosts restarted %d times for nothing", now-boots)
	}
	if err := w.works(); err != nil {
		t.Error(err)
	}
}

// A newer image is an update of the same object, never a replace; the way back is
// a downgrade that wants its own consent.
func TestLife_another_image_is_an_update(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	ws := w.Workspace()
	cfg := w.burn(host, w.Image(ImageVPI), Allow("psid_change", nil))
	mustApply(t, ws, cfg)
	down := w.burn(host, w.Image(ImageOldVPI),
		map[string]any{"allow": map[string]any{"psid_change": nil, "downgrade": map[string]any{"from": "2.42.5000", "to": "2.36.5000"}}})
	plan := cleanPlan(t, ws, down)
	if got := plan.Actions()["infiniband_firmware.it"]; got != Update {
		t.Errorf("the firmware is to be %q, expected %q", got, Update)
	}
	mustApply(t, ws, down)
	if flash := w.Flash(host); flash.Version != [3]uint16{2, 36, 5000} || flash.PSID != card.PSIDVPI ||
		flash.GUIDs[0] != NodeGUID(host) {
		t.Errorf("in flash: %s %v, node GUID %x", flash.PSID, flash.Version, flash.GUIDs[0])
	}
	emptyPlan(t, ws, down)
	// The consent that was used up means nothing for the way forward.
	up := w.burn(host, w.Image(ImageVPI),
		map[string]any{"allow": map[string]any{"psid_change": nil, "downgrade": map[string]any{"from": "2.42.5000", "to": "2.36.5000"}}})
	mustApply(t, ws, up)
	if running := w.Card(host).Running(); running.Version != [3]uint16{2, 42, 5000} {
		t.Errorf("runs %v", running.Version)
	}
	backupHolds(t, w, host, card.PSIDVPI)
}
