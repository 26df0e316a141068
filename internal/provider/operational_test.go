package provider_test

import (
	"reflect"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// What an operator edits without asking for another hardware is no change.
func TestPlan_isEmptyAfterOperationalEdits(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	ws, cfg := w.Workspace(), w.CrossFlash(intel9)
	apply(t, ws, cfg)
	unchanged(t, ws, cfg)
	for name, edited := range map[string]acctest.Config{
		"consent withdrawn":       cfg.With("infiniband_firmware.intel9", map[string]any{"allow_psid_change": nil}),
		"consent to a pair":       cfg.With("infiniband_firmware.intel9", map[string]any{"allow_downgrade": map[string]any{"from": "2.42.5000", "to": "2.36.5000"}}),
		"consent to a version":    cfg.With("infiniband_firmware.intel9", map[string]any{"allow_reinstall": "2.42.5000"}),
		"consent to a path":       cfg.With("infiniband_guids.intel9", map[string]any{"allow_management_path": []any{"eno1"}}),
		"activation":              cfg.With("infiniband_firmware.intel9", map[string]any{"activation": "none"}),
		"activation of GUIDs":     cfg.With("infiniband_guids.intel9", map[string]any{"activation": nil}),
		"timeout":                 cfg.With("infiniband_link_type.intel9", map[string]any{"timeout": "1h"}),
		"timeout of opensm":       cfg.With("infiniband_opensm.intel9", map[string]any{"timeout": "1h"}),
		"path of the image":       cfg.With("infiniband_firmware_image.intel9", map[string]any{"source": w.Folder + "/images/../images/" + acctest.ImageVPI}),
		"no hash of the image":    cfg.With("infiniband_firmware_image.intel9", map[string]any{"sha256": nil}),
		"MAC with dashes":         cfg.With("infiniband_guids.intel9", map[string]any{"base_mac": "E4-1D-2D-E4-4E-D0"}),
		"base GUID instead":       cfg.With("infiniband_guids.intel9", map[string]any{"base_mac": nil, "base_guid": "e41d:2d03:00e4:4ed0"}),
		"GUIDs one by one":        cfg.With("infiniband_guids.intel9", map[string]any{"base_mac": nil, "node_guid": "0xe41d2d0300e44ed0", "system_image_guid": "0xe41d2d0300e44ed3", "port_guids": map[string]any{"1": "e41d2d0300e44ed1", "2": "0xe41d2d0300e44ed2"}}),
		"short PCI address":       cfg.With("infiniband_card.intel9", map[string]any{"pci_address": "01:00.0"}),
		"card id spelled short":   cfg.With("infiniband_link_type.intel9", map[string]any{"card_id": "intel9/01:00.0"}),
		"GUID of the SM's port":   cfg.With("infiniband_opensm.intel9", map[string]any{"port_guid": "e4:1d:2d:03:00:e4:4e:d1"}),
		"one port only":           cfg.With("infiniband_link_type.intel9", map[string]any{"ports": map[string]any{"1": "ib"}}),
		"consent to adopt":        cfg.With("infiniband_ipoib_interface.intel9", map[string]any{"adopt_interface": "ibp1s0"}),
		"MTU that is the default": cfg.With("infiniband_ipoib_interface.intel9", map[string]any{"mtu": 65520}),
	} {
		t.Run(name, func(t *testing.T) { unchanged(t, ws, edited) })
	}
}

// A destroy has no configuration: what it may need is stored by an apply that
// touches nothing else. All other consents are in no plan and in no state.
func TestPlan_storesTheConsentsOfADestroy(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	ws, cfg := w.Workspace(), w.CrossFlash(intel9).With("infiniband_ipoib_interface.intel9", map[string]any{"truenas": map[string]any{"private_mtu": 9300}})
	apply(t, ws, cfg)
	before := w.Print(intel9)
	for address, consent := range map[string]string{"infiniband_firmware.intel9": "allow_management_path", "infiniband_ipoib_interface.intel9": "allow_management_path"} {
		for _, value := range []any{[]any{"ibp1s0"}, nil} {
			edited := cfg.With(address, map[string]any{consent: value})
			p := plan(t, ws, edited)
			if got := p.Actions(); len(got) != 1 || got[address] != acctest.Update || p.Diags.HasError() {
				t.Fatalf("%s = %v: got %v\n%s", consent, value, got, p.Diags)
			}
			apply(t, ws, edited)
			if got := ws.Get(address, consent); !reflect.DeepEqual(got, value) {
				t.Errorf("%s is stored as %v, and %v was given", consent, got, value)
			}
			unchanged(t, ws, edited)
		}
	}
	if after := w.Print(intel9); after != before {
		t.Errorf("the host was changed:\n%s\nbefore:\n%s", after, before)
	}
	for address, consent := range map[string]string{"infiniband_firmware.intel9": "allow_psid_change", "infiniband_ipoib_interface.intel9": "truenas"} {
		if got := ws.Get(address, consent); got != nil {
			t.Errorf("%s is in the state: %v", consent, got)
		}
	}
}
