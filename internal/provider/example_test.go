package provider_test

import (
	"archive/zip"
	"bytes"
	"context"
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

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

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
func exampleVariables(w *acctest.Lab, consent bool) config.Variables {
	hosts := map[string]config.Variable{}
	for name, s := range w.Servers {
		hosts[name] = config.ObjectVariable(map[string]config.Variable{
			"address": config.StringVariable(s.Addr.IP.String()), "port": config.IntegerVariable(s.Addr.Port),
			"user": config.StringVariable(w.User(name)),
		})
	}
	vars := config.Variables{
		"hosts":             config.MapVariable(hosts),
		"private_key_file":  config.StringVariable(w.KeyFile()),
		"known_hosts_files": config.ListVariable(config.StringVariable(w.KnownHostsFile())),
		"subnet_manager":    config.StringVariable(intel9),
		"image":             config.StringVariable(w.Image(acctest.ImageVPI)),
		"image_sha256":      config.StringVariable(w.Images[acctest.ImageVPI].SHA256),
	}
	vars["cards"] = exampleCards("", nil)
	if consent {
		vars["allow"] = config.ObjectVariable(map[string]config.Variable{"psid_change": consentToVPI()})
	}
	return vars
}

func consentToVPI() config.Variable {
	return config.ObjectVariable(map[string]config.Variable{
		"from": config.StringVariable(card.PSIDEN), "to": config.StringVariable(card.PSIDVPI),
	})
}

// exampleCards are the cards of the lab, that of intel9 with another base MAC and the consent to it if
// one is given, and each with a consent to the cross-flash of its own if there is one.
func exampleCards(mac string, consent config.Variable) config.Variable {
	all := map[string]config.Variable{}
	for host, c := range labs.CrossFlashCards() {
		var was string
		if host == intel9 && mac != "" {
			was, c.BaseMAC = c.BaseMAC, mac
		}
		entry := map[string]config.Variable{
			"pci_address": config.StringVariable(c.PCIAddress), "base_mac": config.StringVariable(c.BaseMAC),
			"port": config.IntegerVariable(c.Port), "address": config.StringVariable(c.Address),
		}
		allow := map[string]config.Variable{}
		if consent != nil {
			allow["psid_change"] = consent
		}
		if was != "" {
			macs := func(base string) config.Variable {
				first := ib.MustParseMAC(base)
				return config.ListVariable(config.StringVariable(first.String()), config.StringVariable((first + 1).String()))
			}
			allow["guid_change"] = config.ObjectVariable(map[string]config.Variable{"from": macs(was), "to": macs(mac)})
		}
		entry["allow"] = config.ObjectVariable(allow)
		all[host] = config.ObjectVariable(entry)
	}
	return config.MapVariable(all)
}

// withNewMAC are the variables with another base MAC for the card of intel9.
func withNewMAC(vars config.Variables) config.Variables {
	all := maps.Clone(vars)
	all["cards"] = exampleCards("e4:1d:2d:e4:5e:d0", nil)
	return all
}

// withOwnConsents are the variables with a consent in the entry of each card.
func withOwnConsents(vars config.Variables) config.Variables {
	all := maps.Clone(vars)
	all["cards"] = exampleCards("", consentToVPI())
	return all
}

// The whole main scenario by the real engine: refusal, apply, nothing left,
// drift and its mending, destroy.
func TestAccExample_labCrossflash(t *testing.T) {
	engine(t)
	w := acctest.Start(t, acctest.Options{})
	dir := config.StaticDirectory(acctest.Example(t, "crossflash"))
	// The provider runs in this process, so that path.root, which is ".", and with
	// it the backup_dir of the example, is where the test stands.
	t.Chdir(t.TempDir())
	consented := exampleVariables(w, true)
	intelPort := tfjsonpath.New("port_guids").AtMapKey("1")
	updates := func(addresses ...string) resource.ConfigPlanChecks {
		var checks []plancheck.PlanCheck
		for _, a := range addresses {
			checks = append(checks, plancheck.ExpectResourceAction(a, plancheck.ResourceActionUpdate))
		}
		return resource.ConfigPlanChecks{PreApply: checks}
	}
	resource.UnitTest(t, resource.TestCase{Steps: withProviders([]resource.TestStep{
		{
			ConfigDirectory: dir, ConfigVariables: exampleVariables(w, false),
			ExpectError: regexp.MustCompile(`(?s)Refusing\s+to\s+burn\s+firmware\s+on\s+card\s+intel9/0000:01:00\.0:\s+FW023.*allow\s+=\s+{\s+psid_change\s+=\s+{\s+from\s+=\s+"` + card.PSIDEN),
		},
		{ConfigDirectory: dir, ConfigVariables: withOwnConsents(exampleVariables(w, false)), PlanOnly: true,
			ExpectNonEmptyPlan: true},
		{
			ConfigDirectory: dir, ConfigVariables: consented,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectKnownValue(`module.lab.infiniband_firmware.card["intel9"]`, tfjsonpath.New("flash_psid"),
					knownvalue.StringExact(card.PSIDVPI)),
				plancheck.ExpectKnownValue(`module.lab.infiniband_guids.card["intel9"]`, intelPort,
					knownvalue.StringExact("0xe41d2d0300e44ed1")),
			}},
			ConfigStateChecks: []statecheck.StateCheck{
				state(`module.lab.infiniband_firmware.card["xeon2zfs"]`, knownvalue.StringExact(card.PSIDVPI), "running_psid"),
				state(`module.lab.infiniband_firmware.card["xeon2zfs"]`, knownvalue.Bool(false), "reboot_required"),
				state(`module.lab.infiniband_guids.card["intel9"]`, knownvalue.StringExact("0xe41d2d0300e44ed0"), "effective", "node_guid"),
				state(`module.lab.infiniband_link_type.card["intel9"]`, knownvalue.StringExact("ib"), "effective", "2"),
				state(`module.lab.infiniband_opensm.fabric["intel9/1"]`, knownvalue.StringExact("Active"), "port_state"),
				state(`module.lab.infiniband_ipoib_interface.fabric["xeon2zfs/2"]`, knownvalue.StringExact("ibs4d1"), "interface"),
				state(`module.lab.infiniband_ipoib_interface.fabric["xeon2zfs/2"]`, knownvalue.Bool(true), "carrier"),
			},
		},
		{ConfigDirectory: dir, ConfigVariables: consented, PlanOnly: true},
		{
			PreConfig: func() {
				w.Run(xeon2zfs, "ip link set dev ibs4d1 mtu 1500")
				w.Run(intel9, "systemctl stop 'opensm@0xe41d2d0300e44ed1.service'")
				w.Run(intel9, "echo eth > /sys/bus/pci/devices/0000:01:00.0/mlx4_port2")
			},
			ConfigDirectory: dir, ConfigVariables: consented,
			ConfigPlanChecks: updates(`module.lab.infiniband_link_type.card["intel9"]`, `module.lab.infiniband_opensm.fabric["intel9/1"]`,
				`module.lab.infiniband_ipoib_interface.fabric["xeon2zfs/2"]`),
		},
		{ConfigDirectory: dir, ConfigVariables: consented, PlanOnly: true},
		// New GUIDs change what the other host sees of the fabric, too: one apply is enough.
		{ConfigDirectory: dir, ConfigVariables: withNewMAC(consented)},
		{ConfigDirectory: dir, ConfigVariables: withNewMAC(consented), PlanOnly: true},
		// The library's own clean-up cannot read a state with for_each.
		{ConfigDirectory: dir, ConfigVariables: consented, Destroy: true},
	})})
	for _, host := range []string{intel9, xeon2zfs} {
		if flash := w.Flash(host); flash.PSID != card.PSIDVPI {
			t.Errorf("destroy changed the flash of %s: %s", host, flash.PSID)
		}
	}
	if out := w.Run(intel9, "ip addr show dev ibp1s0"); strings.Contains(out, "172.16.0.20") {
		t.Errorf("destroy left the address:\n%s", out)
	}
}

// withProviders names the provider in each step: a directory may not have it in
// the case.
func withProviders(steps []resource.TestStep) []resource.TestStep {
	for i := range steps {
		steps[i].ProtoV6ProviderFactories = acctest.Providers()
	}
	return steps
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
				step.PlanOnly, step.ExpectNonEmptyPlan = true, true
				resource.UnitTest(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers(),
					Steps: []resource.TestStep{step}})
				return
			}
			w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
			fabric := name == "infiniband_fabric_file" // needs one, and the diagnostics, which come with opensm
			if fabric || strings.Contains(string(text), "port_guid") || name == "infiniband_link_type" || name == "infiniband_port" {
				vpiFabric(t, w, fabric || strings.Contains(name, "ipoib"))
			}
			if name == "infiniband_nv_config" {
				w.Machine(intel9).Tools["mstflint"] = "4.21.0" // later ones do not serve the card
			}
			step := exampleStep(w, string(text))
			if name == "infiniband_firmware_image" {
				step.Config = fromArchive(t, w, step.Config)
			}
			resource.UnitTest(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Providers(),
				Steps:                    []resource.TestStep{step, {Config: step.Config, PlanOnly: true}},
			})
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
	resource.UnitTest(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers(), Steps: []resource.TestStep{{
		Config: string(text) + fmt.Sprintf("\ndata \"infiniband_firmware_image\" \"it\" {\n  source = %q\n}\n", image),
		Check:  resource.TestCheckResourceAttr("data.infiniband_firmware_image.it", "psid", card.PSIDVPI),
	}}})
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
		"infiniband_cards":          "ConnectX-3 Pro " + card.PSIDEN + " " + labs.MAC(0),
		"infiniband_firmware_image": card.PSIDVPI + " 2.42.5000", "infiniband_adoption": "to = infiniband_card.intel9",
		"infiniband_firmware_catalog": card.PSIDEN + " 2.40.5032 ",
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
				file := fmt.Sprintf(`{"images": [{"psid": %q, "version": "2.42.5000", "sha256": %q, "source": "images/en.bin"}]}`,
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
			step.ConfigStateChecks = []statecheck.StateCheck{outputHolds{want[name]}}
			resource.UnitTest(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers(),
				Steps: []resource.TestStep{step}})
		})
	}
}

// outputHolds looks for a text among the outputs.
type outputHolds struct{ text string }

// CheckState implements statecheck.StateCheck.
func (o outputHolds) CheckState(_ context.Context, req statecheck.CheckStateRequest,
	resp *statecheck.CheckStateResponse) {
	outputs, err := json.Marshal(req.State.Values.Outputs)
	if err == nil && !strings.Contains(string(outputs), o.text) {
		err = fmt.Errorf("want %q in %s", o.text, outputs)
	}
	resp.Error = err
}

// exampleStep applies an example with the lab's provider block in front.
func exampleStep(w *acctest.Lab, text string) resource.TestStep {
	text = strings.NewReplacer("images/", filepath.Join(w.Dir, "images")+"/", "${path.root}/", w.Dir+"/").Replace(text)
	return resource.TestStep{Config: acctest.HCL(w.Provider(), nil) + text}
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
