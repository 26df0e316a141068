package provider_test

import (
	"context"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// importIDs are the ids of all resources of the main scenario on one host.
func importIDs(w *acctest.Lab, host string, port int) map[string]string {
	card := host + "/" + w.PCI(host)
	guid := map[string]string{intel9: "0xe41d2d0300e44ed", xeon2zfs: "0xe41d2d0300e44ee"}[host] + string(rune('0'+port))
	return map[string]string{
		"infiniband_card": card, "infiniband_firmware": card, "infiniband_guids": card, "infiniband_link_type": card,
		"infiniband_activation":     host,
		"infiniband_firmware_image": host + "/" + w.Image(acctest.ImageVPI),
		"infiniband_opensm":         host + "/" + guid, "infiniband_ipoib_interface": host + "/" + guid,
	}
}

func TestImport_isFollowedByAnEmptyPlan(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{})
	cfg := w.BothHosts()
	apply(t, w.Workspace(), cfg)

	ws := w.Workspace() // another operator, who knows nothing
	ids := map[string]map[string]string{intel9: importIDs(w, intel9, 1), xeon2zfs: importIDs(w, xeon2zfs, 2)}
	for _, r := range cfg {
		said, err := ws.Import(context.Background(), r, ids[r.Name][r.Type])
		if err != nil || said.HasError() {
			t.Fatalf("import %s: %v\n%s", r.Address(), err, said)
		}
	}
	checkUnchanged(t, ws, cfg)
	t.Run("by identity", func(t *testing.T) { sameByIdentity(t, w, ids[intel9]) })
}

// sameByIdentity imports each kind by its id and by the identity that comes of it,
// which are one.
func sameByIdentity(t *testing.T, w *acctest.Lab, ids map[string]string) {
	t.Helper()
	ids["infiniband_firmware_backup"], ids["infiniband_port"] = ids["infiniband_card"], ids["infiniband_card"]+"/1"
	ids["infiniband_nv_config"] = ids["infiniband_card"]
	ids["infiniband_fabric_file"] = w.KeyFile()
	names := platform.OwnedHeader("infiniband_node_names") + "0x1 \"a\"\n"
	w.Machine(intel9).FS.Put("/etc/rdma/ib-node-name-map", names, 0o644)
	ids["infiniband_node_names"] = intel9
	unit := platform.OwnedHeader("infiniband_virtual_functions")
	w.Machine(intel9).FS.Put("/etc/systemd/system/infiniband-vfs-0000:01:00.0.service", unit, 0o644)
	ids["infiniband_virtual_functions"] = ids["infiniband_card"]
	for kind := range allResources() {
		if notImported[kind] != "" {
			continue
		}
		r, byID, byIdentity := acctest.Resource{Type: kind, Name: "it"}, w.Workspace(), w.Workspace()
		said, err := byID.Import(context.Background(), r, ids[kind])
		if err != nil || said.HasError() {
			t.Fatalf("import %s %s: %v\n%s", kind, ids[kind], err, said)
		}
		identity := byID.Identity(r.Address())
		said, err = byIdentity.ImportByIdentity(context.Background(), r, identity)
		if err != nil || said.HasError() {
			t.Fatalf("import %s %v: %v\n%s", kind, identity, err, said)
		}
		one, two := byID.State[r.Address()], byIdentity.State[r.Address()]
		if one == nil || two == nil || !one.Value.Equal(two.Value) ||
			!reflect.DeepEqual(identity, byIdentity.Identity(r.Address())) {
			t.Errorf("%s: by id %+v, by identity %+v", kind, one, two)
		}
		for _, part := range strings.SplitN(ids[kind], "/", len(identity)) {
			if !strings.Contains(fmt.Sprint(identity), part) {
				t.Errorf("the identity of %s is %v", ids[kind], identity)
			}
		}
	}
}

// The engine's own import of each kind plans nothing, either.
func TestAccImport_isFollowedByAnEmptyPlan(t *testing.T) {
	engine(t)
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	importsByEngine(t, w, importIDs(w, intel9, 1))
}

// An engine that knows identities imports each kind by one.
func TestAccImport_byIdentity(t *testing.T) {
	var major, minor int
	out, err := exec.CommandContext(t.Context(), engine(t), "version").Output()
	_, version, _ := strings.Cut(string(out), " v")
	if _, bad := fmt.Sscanf(version, "%d.%d.", &major, &minor); err != nil || bad != nil {
		t.Fatalf("version %q: %v, %v", out, err, bad)
	}
	if major == 1 && minor < 12 {
		t.Skip("identities came with 1.12")
	}
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	ids := importIDs(w, intel9, 1)
	for kind := range ids {
		ids[kind] = ""
	}
	importsByEngine(t, w, ids)
}

// importsByEngine has the engine import each resource by its id, or by its identity if that is empty.
func importsByEngine(t *testing.T, w *acctest.Lab, ids map[string]string) {
	t.Helper()
	s := acctest.NewSteps(t)
	cfg := append(w.CrossFlash(intel9), acctest.Resource{Type: "infiniband_activation", Name: intel9,
		Attrs: map[string]any{"host": intel9}, After: []string{"infiniband_guids." + intel9}})
	if err := s.Do(acctest.Step{Config: acctest.HCL(w.Provider(), cfg)}); err != nil {
		t.Fatal(err)
	}
	for kind, id := range ids {
		if err := s.Import(kind+"."+intel9, id); err != nil {
			t.Error(err)
		}
	}
	if err := s.Destroy(); err != nil {
		t.Error(err)
	}
}

func TestImport_refusesIdsThatAreNone(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{})
	for typ, ids := range map[string]map[string]string{
		"infiniband_card": {"intel9": "want host/pci_address", "intel9/mlx4_0": "invalid PCI address",
			"nobody/0000:01:00.0": "known hosts: intel9, xeon2zfs"},
		"infiniband_firmware":          {"0000:01:00.0": "want host/pci_address", "nobody/0000:01:00.0": "known hosts"},
		"infiniband_guids":             {"intel9/": "invalid PCI address"},
		"infiniband_link_type":         {"/0000:01:00.0": "want host/pci_address"},
		"infiniband_nv_config":         {"intel9": "want host/pci_address", "nobody/0000:01:00.0": "known hosts"},
		"infiniband_virtual_functions": {"intel9": "want host/pci_address"},
		"infiniband_activation":        {"nobody": "known hosts"},
		"infiniband_node_names":        {"nobody": "known hosts"},
		"infiniband_firmware_image":    {"intel9": "must be host/path", "intel9/no/such.bin": "cannot be read"},
		"infiniband_opensm":            {"intel9": "want host/port_guid", "intel9/0xzz": "invalid GUID"},
		"infiniband_ipoib_interface":   {"intel9/0xe41d2d0300e44ed1/0x0": "are not partitions"},
		"infiniband_firmware_backup":   {"intel9": "want host/pci_address", "nobody/0000:01:00.0": "known hosts"},
		"infiniband_fabric_file":       {"no/such.svg": "there is no such file", ".": "is a directory"},
		"infiniband_port": {"intel9/1": "want host/pci_address/port",
			"intel9/0000:01:00.0/3": "a card has the ports 1 and 2"},
	} {
		for id, want := range ids {
			ws := w.Workspace()
			said, err := ws.Import(context.Background(), acctest.Resource{Type: typ, Name: "x"}, id)
			if err != nil {
				t.Fatal(err)
			}
			if !said.HasError() || !strings.Contains(strings.ToLower(said.String()), strings.ToLower(want)) {
				t.Errorf("import %s %q: want %q in\n%s", typ, id, want, said)
			}
		}
	}
}
