package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// labExample applies an example on its lab: apply, an empty second plan, drift and
// its mending, destroy.
type labExample struct {
	name   string
	checks []statecheck.StateCheck
	drift  func(*acctest.Lab)
	refuse map[string]string // a variable that makes the plan refuse, and the text
	proof  func(*testing.T, *acctest.Lab)
}

func (e labExample) run(t *testing.T) {
	engine(t)
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.Named[e.name]()})
	dir, vars := config.StaticDirectory(acctest.Example(t, e.name)), connection(w)
	var steps []resource.TestStep
	for variable, text := range e.refuse {
		refused := connection(w)
		refused[variable] = config.StringVariable("connected")
		refused["ipoib_mtu"] = config.IntegerVariable(65520)
		steps = append(steps, resource.TestStep{ConfigDirectory: dir, ConfigVariables: refused,
			ExpectError: regexp.MustCompile(text)})
	}
	steps = append(steps,
		resource.TestStep{ConfigDirectory: dir, ConfigVariables: vars, ConfigStateChecks: e.checks},
		resource.TestStep{ConfigDirectory: dir, ConfigVariables: vars, PlanOnly: true},
		resource.TestStep{PreConfig: func() {
			if e.proof != nil {
				e.proof(t, w)
			}
			e.drift(w)
		}, ConfigDirectory: dir, ConfigVariables: vars, PlanOnly: true, ExpectNonEmptyPlan: true},
		resource.TestStep{ConfigDirectory: dir, ConfigVariables: vars, ConfigStateChecks: e.checks},
		resource.TestStep{ConfigDirectory: dir, ConfigVariables: vars, PlanOnly: true},
		resource.TestStep{ConfigDirectory: dir, ConfigVariables: vars, Destroy: true},
	)
	resource.UnitTest(t, resource.TestCase{Steps: withProviders(steps)})
}

// connection are the variables of every example that say how hosts are reached.
func connection(w *acctest.Lab) config.Variables {
	vars := exampleVariables(w, false)
	return config.Variables{"hosts": vars["hosts"], "private_key_file": vars["private_key_file"],
		"known_hosts_files": vars["known_hosts_files"]}
}

func state(address string, value knownvalue.Check, path ...string) statecheck.StateCheck {
	at := tfjsonpath.New(path[0])
	for _, key := range path[1:] {
		at = at.AtMapKey(key)
	}
	return stateCheck{address, at, value}
}

// stateCheck is statecheck.ExpectKnownValue for resources of modules, too.
type stateCheck struct {
	address string
	at      tfjsonpath.Path
	value   knownvalue.Check
}

// CheckState implements statecheck.StateCheck.
func (c stateCheck) CheckState(_ context.Context, req statecheck.CheckStateRequest, resp *statecheck.CheckStateResponse) {
	type module struct {
		Resources []struct {
			Address string
			Values  map[string]any
		}
		Children []module `json:"child_modules"`
	}
	var root module
	text, err := json.Marshal(req.State.Values.RootModule)
	values := json.NewDecoder(bytes.NewReader(text))
	values.UseNumber() // as the checks want them
	if resp.Error = errors.Join(err, values.Decode(&root)); resp.Error != nil {
		return
	}
	resp.Error = fmt.Errorf("%s is not in the state", c.address)
	for modules := []module{root}; len(modules) > 0; modules = append(modules[1:], modules[0].Children...) {
		for _, r := range modules[0].Resources {
			if r.Address != c.address {
				continue
			}
			got, err := tfjsonpath.Traverse(r.Values, c.at)
			if err == nil {
				err = c.value.CheckValue(got)
			}
			if resp.Error = err; err != nil {
				resp.Error = fmt.Errorf("%s.%s: %w", c.address, c.at.String(), err)
			}
		}
	}
}

// shown is what the data source of an example shows of the only card of a host.
func shown(name, host string, value knownvalue.Check, path ...string) statecheck.StateCheck {
	for _, h := range labs.Named[name]() {
		if h.Name == host {
			return state("module.lab.data.infiniband_cards.now", value, append([]string{"cards", host + "/" + h.Cards[0].BDF}, path...)...)
		}
	}
	panic("no host " + host + " in lab " + name)
}

func TestAccExample_labOEM(t *testing.T) {
	labExample{
		name: "oem",
		checks: []statecheck.StateCheck{
			shown("oem", "dl360a", knownvalue.StringExact("HP_9380110017"), "flash_psid"),
			shown("oem", "dl360a", knownvalue.StringExact("103c:22f5"), "pci_subsystem_id"),
			state(`module.lab.infiniband_link_type.card["dl360b"]`, knownvalue.StringExact("ib"), "effective", "2"),
			state(`module.lab.infiniband_opensm.fabric["dl360a/1"]`, knownvalue.StringExact("Active"), "port_state"),
			state(`module.lab.infiniband_opensm.fabric["dl360a/2"]`, knownvalue.StringExact("Active"), "port_state"),
			state(`module.lab.infiniband_ipoib_interface.fabric["dl360b/1"]`, knownvalue.Int64Exact(65520), "mtu"),
			state(`module.lab.infiniband_ipoib_interface.fabric["dl360b/1"]`, knownvalue.Bool(true), "carrier"),
		},
		proof: func(t *testing.T, w *acctest.Lab) { w.Run("dl360a", "ping -c 2 172.16.0.2") },
		drift: func(w *acctest.Lab) { w.Run("dl360b", "ip link set dev ibp4s0 mtu 2044") },
	}.run(t)
}

func TestAccExample_labPointToPoint(t *testing.T) {
	labExample{
		name: "point-to-point",
		checks: []statecheck.StateCheck{
			state(`module.lab.infiniband_card.card["debian1"]`, knownvalue.StringExact("InfiniHost III Ex (MT25208)"), "chip"),
			shown("point-to-point", "debian1", knownvalue.StringExact("0x0002c90200298e00"), "node_guid"),
			shown("point-to-point", "debian2", knownvalue.StringExact("ib_mthca"), "driver"),
			state(`module.lab.infiniband_opensm.fabric["debian1/1"]`, knownvalue.StringExact("Active"), "port_state"),
			state(`module.lab.infiniband_ipoib_interface.fabric["debian2/1"]`, knownvalue.Int64Exact(65520), "mtu"),
			state(`data.infiniband_connectivity.link`, knownvalue.Int64Exact(65520), "path_mtu"),
			state(`data.infiniband_connectivity.link`, knownvalue.ListExact(nil), "problems"),
			state(`infiniband_benchmark.link`, knownvalue.StringExact("20 Gb/sec (4X DDR)"), "client_rate"),
			state(`infiniband_benchmark.link`, knownvalue.Bool(false), "missed"),
		},
		drift: func(w *acctest.Lab) { w.Run("debian1", "systemctl stop 'opensm@0x0002c90200298e01.service'") },
	}.run(t)
}

func TestAccExample_labQLogic(t *testing.T) {
	labExample{
		name: "qlogic",
		checks: []statecheck.StateCheck{
			state(`module.lab.infiniband_card.card["arch-pc"]`, knownvalue.StringExact("InfiniPath_QLE7340"), "part_number"),
			shown("qlogic", "arch-pc", knownvalue.Null(), "flash_psid"),
			shown("qlogic", "arch-pc", knownvalue.Null(), "running_version"),
			shown("qlogic", "arch-pc", knownvalue.Null(), "running_psid"),
			shown("qlogic", "ubuntu-pc", knownvalue.StringExact("ibp1s0"), "ports", "1", "netdev"),
			state(`module.lab.infiniband_opensm.fabric["ubuntu-pc/1"]`, knownvalue.StringExact("Active"), "port_state"),
			state(`module.lab.infiniband_ipoib_interface.fabric["arch-pc/1"]`, knownvalue.Int64Exact(65520), "mtu"),
		},
		drift: func(w *acctest.Lab) { w.Run("ubuntu-pc", "systemctl stop 'opensm@0x0011750000791fec.service'") },
	}.run(t)
}

func TestAccExample_labGPU(t *testing.T) {
	labExample{
		name:   "gpu",
		refuse: map[string]string{"ipoib_mode": `(?s)IP009`},
		checks: []statecheck.StateCheck{
			state(`module.lab.infiniband_card.card["r720"]`, knownvalue.StringExact("ConnectX-4"), "chip"),
			shown("gpu", "r730b", knownvalue.StringExact("mlx5_core"), "driver"),
			state(`module.lab.infiniband_opensm.fabric["r730a/1"]`, knownvalue.StringExact("Active"), "port_state"),
			state(`module.lab.infiniband_ipoib_interface.fabric["r730b/1"]`, knownvalue.Int64Exact(2044), "mtu"),
		},
		drift: func(w *acctest.Lab) { w.Run("r730a", "systemctl stop 'opensm@*.service'") },
	}.run(t)
}

// No example depends on the names of its hosts.
func TestAccExample_labs_with_other_names(t *testing.T) {
	engine(t)
	for _, name := range []string{"oem", "point-to-point", "qlogic", "gpu"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := acctest.Start(t, acctest.Options{Hosts: labs.Named[name]()})
			vars, other := connection(w), func(host string) string { return "my-" + host }
			hosts, cards := map[string]config.Variable{}, map[string]config.Variable{}
			for i, m := range w.Machines() {
				s := w.Servers[m.Name]
				hosts[other(m.Name)] = config.ObjectVariable(map[string]config.Variable{
					"address": config.StringVariable(s.Addr.IP.String()), "port": config.IntegerVariable(s.Addr.Port),
					"user": config.StringVariable(w.User(m.Name))})
				cards[other(m.Name)] = config.ObjectVariable(map[string]config.Variable{
					"pci_address": config.StringVariable(m.Config.Cards[0].BDF),
					"address":     config.StringVariable(fmt.Sprintf("172.31.0.%d/24", i+1))})
			}
			vars["hosts"], vars["cards"] = config.MapVariable(hosts), config.MapVariable(cards)
			vars["subnet_manager"] = config.StringVariable(other(labs.Managers[name]))
			resource.UnitTest(t, resource.TestCase{Steps: withProviders([]resource.TestStep{{
				ConfigDirectory: config.StaticDirectory(acctest.Example(t, name)), ConfigVariables: vars,
				PlanOnly: true, ExpectNonEmptyPlan: true}})})
		})
	}
}
