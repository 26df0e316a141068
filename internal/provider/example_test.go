package provider_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// engine is the path of the engine under which a test runs. make test-engine finds such tests
// by their names, and runs them under other engines.
func engine(t *testing.T) string {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestAcc") {
		t.Fatal("a test that runs an engine is called TestAcc…")
	}
	return acctest.Engine(t)
}

// exampleVariables are the variables of the example for a lab.
func exampleVariables(w *acctest.Lab, consent bool) map[string]any {
	hosts := map[string]any{}
	for name, s := range w.Servers {
		hosts[name] = map[string]any{"address": s.Addr.IP.String(), "port": s.Addr.Port, "user": w.User(name)}
	}
	vars := map[string]any{
		"hosts": hosts, "private_key_file": w.KeyFile(), "known_hosts_files": []string{w.KnownHostsFile()},
		"subnet_manager": intel9, "image": w.Image(acctest.ImageVPI),
		"image_sha256": w.Images[acctest.ImageVPI].SHA256, "cards": exampleCards("", nil),
	}
	if consent {
		vars["allow"] = map[string]any{"psid_change": consentToVPI()}
	}
	return vars
}

func consentToVPI() any { return map[string]string{"from": card.PSIDEN, "to": card.PSIDVPI} }

// exampleCards are the cards of the lab, that of intel9 with another base MAC and the consent to it if
// one is given, and each with a consent to the cross-flash of its own if there is one.
func exampleCards(mac string, consent any) map[string]any {
	all := map[string]any{}
	for host, c := range labs.CrossFlashCards() {
		var was string
		if host == intel9 && mac != "" {
			was, c.BaseMAC = c.BaseMAC, mac
		}
		allow := map[string]any{}
		if consent != nil {
			allow["psid_change"] = consent
		}
		if was != "" {
			macs := func(base string) []string {
				first := ib.MustParseMAC(base)
				return []string{first.String(), (first + 1).String()}
			}
			allow["guid_change"] = map[string]any{"from": macs(was), "to": macs(mac)}
		}
		all[host] = map[string]any{"pci_address": c.PCIAddress, "base_mac": c.BaseMAC, "port": c.Port,
			"address": c.Address, "allow": allow}
	}
	return all
}

// withNewMAC are the variables with another base MAC for the card of intel9.
func withNewMAC(vars map[string]any) map[string]any {
	all := maps.Clone(vars)
	all["cards"] = exampleCards("e4:1d:2d:e4:5e:d0", nil)
	return all
}

// withOwnConsents are the variables with a consent in the entry of each card.
func withOwnConsents(vars map[string]any) map[string]any {
	all := maps.Clone(vars)
	all["cards"] = exampleCards("", consentToVPI())
	return all
}

// The whole main scenario by the real engine: refusal, apply, nothing left,
// drift and its mending, destroy.
func TestAccExample_labCrossflash(t *testing.T) {
	engine(t)
	w := acctest.Start(t, acctest.Options{})
	dir := acctest.Example(t, "crossflash")
	// The provider runs in this process, so that path.root, which is ".", and with
	// it the backup_dir of the example, is where the test stands.
	t.Chdir(t.TempDir())
	consented := exampleVariables(w, true)
	acctest.RunSteps(t, []acctest.Step{
		{
			Dir: dir, Vars: exampleVariables(w, false),
			Refused: regexp.MustCompile(`(?s)Refusing\s+to\s+burn\s+firmware\s+on\s+card\s+intel9/0000:01:00\.0:\s+FW023.*allow\s+=\s+{\s+psid_change\s+=\s+{\s+from\s+=\s+"` + card.PSIDEN),
		},
		{Dir: dir, Vars: withOwnConsents(exampleVariables(w, false)), PlanOnly: true,
			Changes: true},
		{
			Dir: dir, Vars: consented,
			Planned: []acctest.Value{
				state(`module.lab.infiniband_firmware.card["intel9"]`, card.PSIDVPI, "flash_psid"),
				state(`module.lab.infiniband_guids.card["intel9"]`, "0xe41d2d0300e44ed1", "port_guids", "1"),
			},
			State: []acctest.Value{
				state(`module.lab.infiniband_activation.host["xeon2zfs"]`, card.PSIDVPI, "running", "0000:04:00.0", "psid"),
				state(`module.lab.infiniband_activation.host["intel9"]`, "intel9", "restarts"),
				state("data.infiniband_fabric.lab", "intel9", "nodes", "0xe41d2d0300e44ed0", "host"),
				state(`module.lab.infiniband_link_type.card["intel9"]`, "ib", "effective", "2"),
				state(`module.lab.infiniband_opensm.fabric["intel9/1"]`, "Active", "port_state"),
				state(`module.lab.infiniband_ipoib_interface.fabric["xeon2zfs/2"]`, "ibs4d1", "interface"),
				state(`module.lab.infiniband_ipoib_interface.fabric["xeon2zfs/2"]`, true, "carrier"),
			},
		},
		{Dir: dir, Vars: consented, PlanOnly: true},
		{
			Before: func() {
				w.Run(xeon2zfs, "ip link set dev ibs4d1 mtu 1500")
				w.Run(intel9, "systemctl stop 'opensm@0xe41d2d0300e44ed1.service'")
				w.Run(intel9, "echo eth > /sys/bus/pci/devices/0000:01:00.0/mlx4_port2")
			},
			Dir: dir, Vars: consented,
			Actions: map[string]string{`module.lab.infiniband_link_type.card["intel9"]`: "update",
				`module.lab.infiniband_opensm.fabric["intel9/1"]`:            "update",
				`module.lab.infiniband_ipoib_interface.fabric["xeon2zfs/2"]`: "update"},
		},
		{Dir: dir, Vars: consented, PlanOnly: true},
		// New GUIDs change what the other host sees of the fabric, too: one apply is enough.
		{Dir: dir, Vars: withNewMAC(consented)},
		{Dir: dir, Vars: withNewMAC(consented), PlanOnly: true},
		{Dir: dir, Vars: consented, Destroy: true},
	}, nil)
	for _, host := range []string{intel9, xeon2zfs} {
		if flash := w.Flash(host); flash.PSID != card.PSIDVPI {
			t.Errorf("destroy changed the flash of %s: %s", host, flash.PSID)
		}
	}
	if out := w.Run(intel9, "ip addr show dev ibp1s0"); strings.Contains(out, "172.16.0.20") {
		t.Errorf("destroy left the address:\n%s", out)
	}
}

// Every example of a resource is applied on a lab whose card it fits.
func TestAccExamples_resources(t *testing.T) {
	engine(t)
	files, err := filepath.Glob("../../examples/resources/*/resource*.tf")
	if err != nil || len(files) < 7 {
		t.Fatalf("found %d examples: %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			text, readErr := os.ReadFile(file)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if name == "infiniband_firmware_image" {
				t.Setenv("XDG_CACHE_HOME", t.TempDir()) // what is unpacked is kept there
			} else {
				t.Parallel()
			}
			if name == "infiniband_benchmark" { // two hosts to plan; the measurement itself is in acctest
				step := exampleStep(acctest.Start(t, acctest.Options{}), string(text))
				step.PlanOnly, step.Changes = true, true
				acctest.RunSteps(t, []acctest.Step{step}, nil)
				return
			}
			w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
			if name == "infiniband_virtual_functions" {
				w = acctest.Start(t, acctest.Options{Hosts: []labs.Host{labs.ConnectX4("cx4", "192.0.2.30", 1)}})
				w.OfferVirtualFunctions("cx4", 8)
				w.Run("cx4", "modprobe ib_ipoib")
			}
			fabric := strings.HasPrefix(name, "infiniband_fabric_") // needs one, and the diagnostics, which come with opensm
			if fabric || strings.Contains(string(text), "port_guid ") || name == "infiniband_link_type" || name == "infiniband_port" {
				vpiFabric(t, w, fabric || strings.Contains(name, "ipoib"))
			}
			if name == "infiniband_nv_config" {
				w.Machine(intel9).Tools["mstflint"] = "4.21.0" // later ones do not serve the card
			}
			step := exampleStep(w, string(text))
			if name == "infiniband_node_names" {
				const block = "provider \"infiniband\" {\n"
				named := block + "  node_name_map = { \"0x0002c902004a1b00\" = \"leaf-a\" }\n"
				step.Config = strings.Replace(step.Config, block, named, 1)
			}
			if name == "infiniband_firmware_image" {
				step.Config = fromArchive(t, w, step.Config)
			}
			acctest.RunSteps(t, []acctest.Step{step, {Config: step.Config, PlanOnly: true}}, nil)
		})
	}
}

// fromArchive gives an example an archive on this machine in place of one on a web server, which
// acctest has, and what its image is.
func fromArchive(t *testing.T, w *acctest.Lab, config string) string {
	t.Helper()
	const address, member = "https://firmware.example.org/connectx3pro-2.42.5000.zip", "release/fw-ConnectX3Pro-vpi.bin"
	sum := regexp.MustCompile(`"[0-9a-f]{64}"`)
	image, err := os.ReadFile(w.Image(acctest.ImageVPI))
	if err != nil || !strings.Contains(config, address) || !strings.Contains(config, member) || !sum.MatchString(config) {
		t.Fatalf("no example with %s: %v\n%s", address, err, config)
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	out, err := z.Create(member)
	if err == nil {
		_, err = out.Write(image)
	}
	file := filepath.Join(t.TempDir(), "release.zip")
	if err = errors.Join(err, z.Close(), os.WriteFile(file, archive.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	config = sum.ReplaceAllString(config, fmt.Sprintf(`"%x"`, sha256.Sum256(image)))
	return strings.NewReplacer(address, file, "MT_1090111019", card.PSIDVPI).Replace(config)
}

// The provider's own example is a configuration that the provider takes. What is read
// with it is a file, so that no host of it is asked.
func TestAccExamples_provider(t *testing.T) {
	engine(t)
	text, err := os.ReadFile("../../examples/provider/provider.tf")
	if err != nil || !strings.Contains(string(text), "jump_hosts") {
		t.Fatalf("no example with jump_hosts: %v\n%s", err, text)
	}
	image := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]}).Image(acctest.ImageVPI)
	acctest.RunSteps(t, []acctest.Step{{
		Config: string(text) + fmt.Sprintf("\ndata \"infiniband_firmware_image\" \"it\" {\n  source = %q\n}\n", image),
		State:  []acctest.Value{state("data.infiniband_firmware_image.it", card.PSIDVPI, "psid")},
	}}, nil)
}

func TestAccExamples_dataSourcesAndFunctions(t *testing.T) {
	engine(t)
	var files []string
	for _, pattern := range []string{"../../examples/data-sources/*/data-source.tf",
		"../../examples/functions/*/function.tf"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < 3 {
			t.Fatalf("found %d of %s: %v", len(found), pattern, err)
		}
		files = append(files, found...)
	}
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	want := map[string]string{
		"guid_from_mac": "0xe41d2d0300e44ed0", "guids_from_base": "0xe41d2d0300e44ed1", "parse_psid": "Mellanox",
		"ipoib_max_mtu":   "4092",
		"infiniband_host": "Ubuntu 24.04", "infiniband_fabric": "flowchart TD",
		"infiniband_connectivity":   "no such interface",
		"infiniband_rdma_ready":     "No port of intel9 is Active",
		"infiniband_cards":          "ConnectX-3 Pro " + card.PSIDEN + " " + labs.MAC(0),
		"infiniband_firmware_image": card.PSIDVPI + " 2.42.5000", "infiniband_adoption": "to = infiniband_card.intel9",
		"infiniband_firmware_catalog": card.PSIDEN + " 2.40.5032 -\\u003e " + card.PSIDEN + " 2.41.0000 (host)",
		"infiniband_history":          "2026-01-02T03:04:05Z opensm of port 1: begun",
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := w
			if name == "infiniband_fabric" { // needs one, and the diagnostics, which come with opensm
				w = acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
				vpiFabric(t, w, true)
			}
			if name == "infiniband_firmware_catalog" {
				file := fmt.Sprintf(`{"images": [{"psid": %q, "version": "2.42.5000", "sha256": %q, "source": "images/en.bin"},
					{"psid": %[1]q, "version": "2.41.0000", "sha256": %[2]q, "source": "images/of.bin", "hosts": ["intel9"]}]}`,
					card.PSIDEN, strings.Repeat("0", 64))
				if err := os.WriteFile(filepath.Join(w.Dir, "firmware.json"), []byte(file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if name == "infiniband_history" { // needs a change that did not end as it should
				w.Put(labs.Intel9, inventory.StateDir+"/changes",
					"begun\ttime=2026-01-02T03:04:05Z\tid=a\twhat=opensm\tobject=port 1\t.\n")
			}
			if name == "infiniband_connectivity" { // needs two hosts, and names what these lack
				w = acctest.Start(t, acctest.Options{})
			}
			step := exampleStep(w, string(text))
			step.Check = func(s acctest.EngineState) error {
				outputs, err := json.Marshal(s.Outputs)
				if err == nil && !strings.Contains(string(outputs), want[name]) {
					err = fmt.Errorf("want %q in %s", want[name], outputs)
				}
				return err
			}
			acctest.RunSteps(t, []acctest.Step{step}, nil)
		})
	}
}

// exampleStep applies an example with the lab's provider block in front.
func exampleStep(w *acctest.Lab, text string) acctest.Step {
	text = strings.NewReplacer("images/", filepath.Join(w.Dir, "images")+"/", "${path.root}/", w.Dir+"/").Replace(text)
	return acctest.Step{Config: acctest.HCL(w.Provider(), nil) + text}
}

// vpiFabric brings the card to where the examples of ports and networks begin.
func vpiFabric(t *testing.T, w *acctest.Lab, sm bool) {
	t.Helper()
	cfg := w.CrossFlash(intel9).Without("infiniband_ipoib_interface.intel9")
	if !sm {
		cfg = cfg.Without("infiniband_opensm.intel9")
	}
	apply(t, w.Workspace(), cfg)
}
