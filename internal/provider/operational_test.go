package provider_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
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
	checkUnchanged(t, ws, cfg)
	for name, edited := range map[string]acctest.Config{
		"consent withdrawn": cfg.With("infiniband_firmware.intel9", acctest.Allow("psid_change", nil)),
		"consent to a pair": cfg.With("infiniband_firmware.intel9",
			acctest.Allow("downgrade", map[string]any{"from": "2.42.5000", "to": "2.36.5000"})),
		"consent to a version": cfg.With("infiniband_firmware.intel9", acctest.Allow("reinstall", "2.42.5000")),
		"consent to a path": cfg.With("infiniband_guids.intel9",
			acctest.Allow("management_path", []any{"eno1"})),
		"consent to GUIDs": cfg.With("infiniband_guids.intel9", acctest.Allow("guid_change", map[string]any{
			"from": []any{"e4:1d:2d:e4:4e:d0"}, "to": []any{"e4:1d:2d:00:10:00"}})),
		"activation":          cfg.With("infiniband_firmware.intel9", map[string]any{"activation": "none"}),
		"activation of GUIDs": cfg.With("infiniband_guids.intel9", map[string]any{"activation": nil}),
		"path of the image": cfg.With("infiniband_firmware_image.intel9",
			map[string]any{"source": w.Folder + "/images/../images/" + acctest.ImageVPI}),
		"no hash of the image": cfg.With("infiniband_firmware_image.intel9", map[string]any{"sha256": nil}),
		"MAC with dashes":      cfg.With("infiniband_guids.intel9", map[string]any{"base_mac": "E4-1D-2D-E4-4E-D0"}),
		"base GUID instead": cfg.With("infiniband_guids.intel9",
			map[string]any{"base_mac": nil, "base_guid": "e41d:2d03:00e4:4ed0"}),
		"GUIDs one by one": cfg.With("infiniband_guids.intel9",
			map[string]any{"base_mac": nil, "node_guid": "0xe41d2d0300e44ed0", "system_image_guid": "0xe41d2d0300e44ed3",
				"port_guids": map[string]any{"1": "e41d2d0300e44ed1", "2": "0xe41d2d0300e44ed2"}}),
		"short PCI address":     cfg.With("infiniband_card.intel9", map[string]any{"pci_address": "01:00.0"}),
		"card id spelled short": cfg.With("infiniband_link_type.intel9", map[string]any{"card_id": "intel9/01:00.0"}),
		"GUID of the SM's port": cfg.With("infiniband_opensm.intel9",
			map[string]any{"port_guid": "e4:1d:2d:03:00:e4:4e:d1"}),
		"one port only": cfg.With("infiniband_link_type.intel9",
			map[string]any{"ports": map[string]any{"1": "ib"}}),
		"consent to adopt":        cfg.With("infiniband_ipoib_interface.intel9", acctest.Allow("adopt_interface", "ibp1s0")),
		"MTU that is the default": cfg.With("infiniband_ipoib_interface.intel9", map[string]any{"mtu": 65520}),
	} {
		t.Run(name, func(t *testing.T) { checkUnchanged(t, ws, edited) })
	}
}

// A destroy has no configuration: what it may need is stored by an apply that
// touches nothing else, and so are timeouts. All other consents are in no plan and in
// no state.
func TestPlan_storesTheConsentsOfADestroyAndTimeouts(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	ws, cfg := w.Workspace(), w.CrossFlash(intel9).With("infiniband_ipoib_interface.intel9",
		acctest.Allow("private_mtu", 9300))
	cfg = append(cfg, thePort())
	apply(t, ws, cfg)
	before := w.Print(intel9)
	interfaces, times := []any{[]any{"ibp1s0"}, nil}, []any{map[string]any{"update": "1h"},
		map[string]any{"create": "1m", "update": "1h"}, nil}
	for _, c := range []struct {
		address, argument string
		values            []any
	}{
		{"infiniband_firmware.intel9", "allowed_management_path", interfaces}, {"infiniband_ipoib_interface.intel9",
			"allowed_management_path", interfaces},
		{"infiniband_firmware.intel9", "timeouts", times}, {"infiniband_guids.intel9", "timeouts",
			times}, {"infiniband_link_type.intel9", "timeouts", times},
		{"infiniband_opensm.intel9", "allowed_last_manager", []any{"0xe41d2d0300e44ed1", nil}},
		{"infiniband_opensm.intel9", "timeouts", times}, {"infiniband_ipoib_interface.intel9", "timeouts",
			times}, {"infiniband_port.intel9", "timeouts", times},
		{"infiniband_firmware.intel9", "timeouts", []any{map[string]any{"delete": "2h"}}},
	} {
		for _, value := range c.values {
			change := map[string]any{c.argument: value}
			if consent, is := strings.CutPrefix(c.argument, "allowed_"); is {
				change = acctest.Allow(consent, value)
			}
			edited := cfg.With(c.address, change)
			p := plan(t, ws, edited)
			if got := p.Actions(); len(got) != 1 || got[c.address] != acctest.Update || p.Diags.HasError() {
				t.Fatalf("%s of %s = %v: got %v\n%s", c.argument, c.address, value, got, p.Diags)
			}
			apply(t, ws, edited)
			if got := givenParts(ws.Get(c.address, c.argument)); !reflect.DeepEqual(got, value) {
				t.Errorf("%s of %s is stored as %v, and %v was given", c.argument, c.address, got, value)
			}
			checkUnchanged(t, ws, edited)
		}
	}
	if after := w.Print(intel9); after != before {
		t.Errorf("the host was changed:\n%s\nbefore:\n%s", after, before)
	}
	for _, address := range []string{"infiniband_firmware.intel9", "infiniband_ipoib_interface.intel9"} {
		if got := ws.Get(address, "allow"); got != nil {
			t.Errorf("consents are in the state of %s: %v", address, got)
		}
	}
}

// thePort is a port with the setting that it has already.
func thePort() acctest.Resource {
	return acctest.Resource{Type: "infiniband_port", Name: intel9,
		Attrs: map[string]any{"card_id": acctest.To("infiniband_card."+intel9, "id"), "port": 1}}
}

// givenParts is a value of the state without the parts that are null.
func givenParts(v any) any {
	parts, ok := v.(map[string]any)
	if !ok {
		return v
	}
	parts = maps.Clone(parts)
	maps.DeleteFunc(parts, func(_ string, v any) bool { return v == nil })
	return parts
}

// Each operation that timeouts name ends with its time, and says which argument it was.
func TestTimeouts_end_the_operations_that_they_name(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	ws, cfg := w.Workspace(), append(w.CrossFlash(intel9), thePort())
	over := func(operation string) map[string]any {
		return map[string]any{"timeouts": map[string]any{operation: "1ns"}}
	}
	ends := func(address, operation string, wanted acctest.Config) {
		t.Helper()
		p := plan(t, ws, wanted)
		if p.Diags.HasError() {
			t.Fatalf("%s of %s: %s", operation, address, p.Diags.Errors())
		}
		said, err := ws.Apply(context.Background(), p)
		if err != nil || len(said.Errors().Find("timeouts."+operation+" = 1ns is over")) == 0 {
			t.Errorf("%s of %s: %v\n%s", operation, address, err, said)
		}
	}
	var made acctest.Config
	for _, r := range cfg {
		if made = append(made, r); r.Type != "infiniband_card" && r.Type != "infiniband_firmware_image" {
			ends(r.Address(), "create", made.With(r.Address(), over("create")))
		}
		apply(t, ws, made)
	}
	for address, change := range map[string]map[string]any{
		"infiniband_firmware.intel9": {"image_id": acctest.To("infiniband_firmware_image.older", "id"),
			"allow": map[string]any{"downgrade": map[string]any{"from": "2.42.5000", "to": "2.36.5000"}}},
		"infiniband_guids.intel9": {"macs": map[string]any{"1": "e4:1d:2d:00:10:00", "2": "e4:1d:2d:00:10:01"},
			"allow": map[string]any{"guid_change": map[string]any{"from": []any{"e4:1d:2d:e4:4e:d0", "e4:1d:2d:e4:4e:d1"},
				"to": []any{"e4:1d:2d:00:10:00", "e4:1d:2d:00:10:01"}}}},
		"infiniband_link_type.intel9":       {"ports": map[string]any{"1": "ib", "2": "eth"}},
		"infiniband_opensm.intel9":          {"priority": 3},
		"infiniband_ipoib_interface.intel9": {"mtu": 2044},
		"infiniband_port.intel9":            {"widths": []any{"4X"}},
	} {
		wanted := cfg
		if address == "infiniband_firmware.intel9" {
			older := acctest.Resource{Type: "infiniband_firmware_image", Name: "older",
				Attrs: map[string]any{"host": intel9, "source": w.Image(acctest.ImageOldVPI)}}
			wanted = append(acctest.Config{older}, cfg...)
			apply(t, ws, wanted)
		}
		ends(address, "update", wanted.With(address, change).With(address, over("update")))
	}
	apply(t, ws, cfg)
	for i, r := range slices.Backward(cfg) {
		change := map[string]any{}
		switch r.Type {
		case "infiniband_firmware":
			change["on_destroy"] = "restore"
		case "infiniband_port", "infiniband_ipoib_interface", "infiniband_opensm":
		default:
			continue // a destroy forgets it
		}
		apply(t, ws, cfg[:i+1].With(r.Address(), change).With(r.Address(), over("delete")))
		ends(r.Address(), "delete", cfg[:i])
		apply(t, ws, cfg[:i+1])
	}
}
