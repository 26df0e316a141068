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

// A plan of a host that is only read shows what an apply would change, as that of any other host, and its apply is
// refused before anything is changed. What takes something away is refused at once: nobody asked for that by accident.
func TestObserve_everyChangeIsShownAndRefused(t *testing.T) {
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
	const observed, wayOut = "HO008 Host is in observe mode", "remove mode = \"observe\""
	shown := func(name, thing, what string, state *acctest.Workspace, cfg acctest.Config, change acctest.Action,
		address string, differs ...string) {
		t.Run(name, func(t *testing.T) {
			reader := observedWorkspace(w, state, intel9)
			p := plan(t, reader, cfg)
			if p.Diags.HasError() || p.Actions()[address] != change {
				t.Errorf("%s is %q:\n%s", address, p.Actions()[address], p.Diags)
			}
			says(t, p.Diags.Warnings(), append(differs, thing+": "+observed, wayOut)...)
			ended, err := reader.Apply(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			says(t, ended.Errors(), "Refusing to "+what, observed, wayOut)
		})
	}
	refused := func(name, what string, cfg acctest.Config) {
		t.Run(name, func(t *testing.T) {
			says(t, plan(t, eye, cfg).Diags.Errors(), "Refusing to "+what, observed, wayOut)
		})
	}
	const guid = intel9 + "/0xe41d2d0300e44ed1"
	shown("mtu", "IPoIB interface "+guid, "configure IPoIB interface "+guid, ws, cfg.With(ipoib, map[string]any{"mtu": 5000}),
		acctest.Update, ipoib, "Host "+intel9+" is not as asked: MTU is ", ", not 5000")
	shown("priority", "Subnet manager "+guid, "run subnet manager "+guid, ws, cfg.With(sm, map[string]any{"priority": 3}),
		acctest.Update, sm, "its priority is 14, not 3")
	shown("port", "Port "+intel9+"/0000:01:00.0/2", "set port "+intel9+"/0000:01:00.0/2", ws,
		cfg.With(port.Address(), map[string]any{"enabled": false}), acctest.Update, port.Address(), "it is enabled")
	second := acctest.Resource{Type: "infiniband_ipoib_interface", Name: "second", Attrs: map[string]any{
		"host": intel9, "port_guid": "0xe41d2d0300e44ed2", "mode": "datagram", "addresses": []any{"172.17.0.20/24"},
	}}
	const secondGUID = intel9 + "/0xe41d2d0300e44ed2"
	shown("another interface", "IPoIB interface "+secondGUID, "configure IPoIB interface "+secondGUID, ws,
		append(slices.Clone(cfg), second), acctest.Create, second.Address())
	shown("new image", "Firmware image "+w.Image(acctest.ImageEN)+" on host "+intel9, "stage firmware image", w.Workspace(),
		cfg[1:2].With(image, map[string]any{
			"source": w.Image(acctest.ImageEN), "sha256": w.Images[acctest.ImageEN].SHA256,
		}), acctest.Create, image, "the image is not on it")
	refused("destroy of the interface", "remove IPoIB interface "+guid, cfg.Without(ipoib))
	refused("destroy of the subnet manager", "remove subnet manager "+guid, cfg.Without(sm, ipoib))
	refused("destroy of the port", "forget port "+intel9+"/0000:01:00.0/2", cfg.Without(port.Address()))
	if after := w.Print(intel9); after != before {
		t.Errorf("the host was changed:\n%s\nwas\n%s", after, before)
	}
	w.Run(intel9, "systemctl stop 'opensm@0xe41d2d0300e44ed1.service'")
	shown("stopped subnet manager", "Subnet manager "+guid, "run subnet manager "+guid, ws, cfg, acctest.Update, sm,
		"does not run")
}

// A whole lab is shown, and nothing of it is made.
func TestObserve_newLab(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	ws := observedWorkspace(w, w.Workspace(), intel9)
	before := w.Print(intel9)
	p := plan(t, ws, w.CrossFlash(intel9))
	if p.Diags.HasError() || p.Actions()[firmware] != acctest.Create || p.Actions()[links] != acctest.Create {
		t.Errorf("%v:\n%s", p.Actions(), p.Diags)
	}
	says(t, p.Diags.Warnings(), "Firmware on card "+intel9+"/0000:01:00.0: HO008", "has MT_9200111023 2.40.5032 in flash, not ")
	ended, err := ws.Apply(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	says(t, ended.Errors(), "Refusing to stage firmware image", "HO008")
	if after := w.Print(intel9); after != before {
		t.Errorf("the host was changed:\n%s\nwas\n%s", after, before)
	}
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
