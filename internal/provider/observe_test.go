package provider_test

import (
	"context"
	"slices"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// observedWorkspace is a workspace with the state of another one, whose host is only read.
func observedWorkspace(w *acctest.Lab, state *acctest.Workspace, host string) *acctest.Workspace {
	ws := w.Workspace()
	ws.Provider["hosts"].(map[string]any)[host].(map[string]any)["mode"] = "observe"
	ws.State = state.State
	return ws
}

func TestObserve_everyChangeIsRefusedWhilePlanning(t *testing.T) {
	t.Parallel()
	w, ws, cfg := oneHost(t)
	port := acctest.Resource{Type: "infiniband_port", Name: intel9, After: []string{links}, Attrs: map[string]any{
		"card_id": acctest.To(cardAddr, "id"), "port": 2, "enabled": true,
	}}
	cfg = append(cfg, port)
	apply(t, ws, cfg)
	eye := observedWorkspace(w, ws, intel9)
	t.Run("nothing to change", func(t *testing.T) { checkUnchanged(t, eye, cfg) })
	before := w.Print(intel9)
	refused := func(name, what string, ws *acctest.Workspace, cfg acctest.Config, differs ...string) {
		t.Run(name, func(t *testing.T) {
			says(t, plan(t, ws, cfg).Diags.Errors(), append(differs, "Refusing to "+what,
				"HO008 Host is in observe mode", "Remove mode = \"observe\"")...)
		})
	}
	const guid = intel9 + "/0xe41d2d0300e44ed1"
	refused("mtu", "configure IPoIB interface "+guid, eye, cfg.With(ipoib, map[string]any{"mtu": 5000}),
		"Host "+intel9+" is not as asked: MTU is ", ", not 5000")
	refused("priority", "run subnet manager "+guid, eye, cfg.With(sm, map[string]any{"priority": 3}),
		"its priority is 14, not 3")
	refused("port", "set port "+intel9+"/0000:01:00.0/2", eye, cfg.With(port.Address(), map[string]any{"enabled": false}),
		"it is enabled")
	refused("another interface",
		"configure IPoIB interface "+intel9+"/0xe41d2d0300e44ed2", eye, append(slices.Clone(cfg), acctest.Resource{
			Type: "infiniband_ipoib_interface", Name: "second", Attrs: map[string]any{
				"host": intel9, "port_guid": "0xe41d2d0300e44ed2", "mode": "datagram", "addresses": []any{"172.17.0.20/24"},
			},
		}))
	refused("destroy of the interface", "remove IPoIB interface "+guid, eye, cfg.Without(ipoib))
	refused("destroy of the subnet manager", "remove subnet manager "+guid, eye, cfg.Without(sm, ipoib))
	refused("destroy of the port", "forget port "+intel9+"/0000:01:00.0/2", eye, cfg.Without(port.Address()))
	if after := w.Print(intel9); after != before {
		t.Errorf("planning changed the host:\n%s\nwas\n%s", after, before)
	}
	w.Run(intel9, "systemctl stop 'opensm@0xe41d2d0300e44ed1.service'")
	refused("stopped subnet manager", "run subnet manager "+guid, eye, cfg, "does not run")
	refused("new image", "stage firmware image", observedWorkspace(w, w.Workspace(), intel9), cfg[1:2].With(image, map[string]any{
		"source": w.Image(acctest.ImageEN), "sha256": w.Images[acctest.ImageEN].SHA256,
	}), "the image is not on it")
}

// A plan that was made while the host could be changed is not applied any more, and
// what refuses it says so: nothing was begun.
func TestObserve_destroyOnTrueNASWasNeverBegun(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()})
	ws, cfg := w.Workspace(), w.BothHosts()
	apply(t, ws, cfg)
	name := "infiniband_ipoib_interface." + xeon2zfs
	eye := observedWorkspace(w, ws, xeon2zfs)
	says(t, plan(t, eye, cfg.Without(name)).Diags.Errors(), "Refusing to remove IPoIB interface", "HO008")
	p := plan(t, ws, cfg.Without(name))
	ended, err := eye.Apply(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	says(t, ended.Errors(), "Refusing to remove IPoIB interface", "HO008")
	if wrong := ended.Find("shows what was done"); len(wrong) > 0 {
		t.Errorf("it says that something was begun:\n%s", wrong)
	}
}

// Somebody has given the card other GUIDs; by its MACs it is still the recorded one. Its interface
// keeps our address, which belongs to the name, and the plan that gives the GUIDs back has to pass.
func TestIPoIB_itsOwnInterfaceUnderAnotherGUID(t *testing.T) {
	t.Parallel()
	w, ws, cfg := oneHost(t)
	apply(t, ws, cfg)
	w.Run(intel9, "mstflint -y -d "+w.PCI(intel9)+" -guid 0002c90300aaaaa0 sg")
	w.Reboot(intel9)
	waitUp(t, w)
	apply(t, ws, cfg)
	checkUnchanged(t, ws, cfg)
}
