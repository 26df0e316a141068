package acctest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// everySystem is one system of each way of configuring a host.
var everySystem = []labsim.OS{labsim.Ubuntu, labsim.Debian12, labsim.RHEL9, labsim.TrueNAS}

// everyKind is one resource of each kind that can be imported, on a host of a system
// with as many arguments as that knows. They follow one another.
func (w *Lab) everyKind(host string, system labsim.OS, port uint64) Config {
	id, guid := host+"/"+w.PCI(host), fmt.Sprintf("0x%016x", port)
	onPort := func(more map[string]any) map[string]any {
		all := map[string]any{"host": host, "port_guid": guid}
		maps.Copy(all, more)
		return all
	}
	cfg := Config{
		{Type: "infiniband_card", Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}},
		{Type: "infiniband_firmware_image", Attrs: map[string]any{"host": host, "source": w.Image(ImageVPI)}},
		{Type: "infiniband_firmware", Attrs: map[string]any{"card_id": id}},
		{Type: "infiniband_firmware_backup", Attrs: map[string]any{"card_id": id}},
		{Type: "infiniband_guids", Attrs: map[string]any{"card_id": id, "base_guid": fmt.Sprintf("0x%016x", port-1)}},
		{Type: "infiniband_link_type", Attrs: map[string]any{"card_id": id, "ports": map[string]any{"1": "ib", "2": "ib"}}},
		{Type: "infiniband_activation", Attrs: map[string]any{"host": host}},
	}
	ours := map[string]any{"mode": "connected", "addresses": []any{"172.16.0.20/24", "fd00::20/64"}}
	if system != labsim.TrueNAS {
		ours["routes"] = []any{map[string]any{"to": "10.20.0.0/16", "via": "172.16.0.1"}}
		cfg = append(cfg, Resource{Type: "infiniband_opensm", Attrs: onPort(map[string]any{"priority": 5, "sminfo_polling_timeout": "2s",
			"routing_engine": []any{"ftree", "minhop"}, "partitions": map[string]any{
				"Default": map[string]any{"ipoib": true, "full": []any{"ALL"}},
				"storage": map[string]any{"pkey": "0x8001", "ipoib": true, "full": []any{guid}, "limited": []any{"ALL_CAS"}},
			}})}, Resource{Type: "infiniband_port", Attrs: map[string]any{"card_id": id, "port": 1,
			"widths": []any{"1X", "4X"}}})
	}
	cfg = append(cfg, Resource{Type: "infiniband_ipoib_interface", Attrs: onPort(ours)})
	for i := range cfg {
		if cfg[i].Name = host; i > 0 {
			cfg[i].After = []string{cfg[i-1].Address()}
		}
	}
	if system != labsim.TrueNAS {
		cfg = append(cfg, Resource{Type: "infiniband_ipoib_interface", Name: "child", After: []string{cfg[len(cfg)-1].Address()},
			Attrs: onPort(map[string]any{"pkey": "0x8001", "addresses": []any{"172.16.1.20/24"}})})
	}
	return append(cfg, Resource{Type: "infiniband_fabric_file", Name: host, Attrs: map[string]any{
		"file_path": w.pictureFile(), "content": "flowchart TD\n  a --> b\n"}})
}

// startWithEveryKind starts a lab of one host of the system, and returns one resource of
// each kind for that host.
func startWithEveryKind(t *testing.T, system labsim.OS) (*Lab, Config) {
	t.Helper()
	h := labs.Server("h", system, "192.0.2.20", 0)
	h.Cmdline = "mlx4_core.port_type_array=1,1"
	w := Start(t, Options{Hosts: []labs.Host{h}})
	drivers(w)
	return w, w.everyKind("h", system, h.Cards[0].GUIDs[1])
}

// pictureFile is a file of this machine that a resource writes.
func (w *Lab) pictureFile() string { return filepath.Join(w.Dir, "fabric.mmd") }

// importID is the id by which the documentation imports an object of a state.
func (w *Lab) importID(ws *Workspace, r Resource) any {
	switch r.Type {
	case "infiniband_firmware_image":
		return r.Name + "/" + w.Image(ImageVPI)
	case "infiniband_fabric_file":
		return w.pictureFile()
	}
	return ws.Get(r.Address(), "id")
}

// notGenerated are the resources that the engine cannot write: content is write-only, so that no state has it.
func notGenerated(cfg Config) (out Config) {
	for _, r := range cfg {
		if r.Type == "infiniband_fabric_file" {
			out = append(out, r)
		}
	}
	return out
}

// What nobody would write: arguments that say nothing, and those of another platform.
var emptyArguments = regexp.MustCompile(`(?m)^\s*\w+\s*=\s*(""|\[\]|\{\}|\[[^\]]*null[^\]]*\])\s*(#.*)?$`)

// The engine writes a configuration for everything that can be imported, on every kind
// of host. It is valid, its plan imports and changes nothing, and neither does the next.
func TestBinary_configuration_of_every_import(t *testing.T) {
	t.Parallel()
	built := buildProvider(t)
	for _, system := range everySystem {
		t.Run(string(system), func(t *testing.T) {
			t.Parallel()
			w, cfg := startWithEveryKind(t, system)
			ws := w.Workspace()
			mustApply(t, ws, cfg)
			o := newOperator(t, w, nil, built)
			text := Required + HCL(w.Provider(), notGenerated(cfg))
			for _, r := range cfg {
				text += fmt.Sprintf("import {\n  to = %s\n  id = %q\n}\n", r.Address(), w.importID(ws, r))
			}
			o.write("main.tf", text)
			said := o.says(0, "plan", "-generate-config-out=generated.tf")
			generated, err := os.ReadFile(filepath.Join(o.dir, "generated.tf"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(said, fmt.Sprintf("%d to import, 0 to add, 0 to change, 0 to destroy", len(cfg))) {
				t.Errorf("the plan of the import:\n%s\n%s", said, generated)
			}
			if bad := emptyArguments.FindAllString(string(generated), -1); len(bad) > 0 {
				t.Errorf("arguments that say nothing: %q\n%s", bad, generated)
			}
			o.says(0, "apply", "-auto-approve")
			o.says(0, "plan", "-detailed-exitcode")
		})
	}
}
