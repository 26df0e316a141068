package provider_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// labExample applies an example on its lab: apply, an empty second plan, drift and
// its mending, destroy.
type labExample struct {
	name   string
	checks []acctest.Value
	drift  func(*acctest.Lab)
	refuse map[string]string // a variable that makes the plan refuse, and the text
	proof  func(*testing.T, *acctest.Lab)
}

func (e labExample) run(t *testing.T) {
	engine(t)
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.Named[e.name]()})
	dir, vars := acctest.Example(t, e.name), connection(w)
	var steps []acctest.Step
	for variable, text := range e.refuse {
		refused := connection(w)
		refused[variable], refused["ipoib_mtu"] = "connected", 65520
		steps = append(steps, acctest.Step{Dir: dir, Vars: refused, Refused: regexp.MustCompile(text)})
	}
	steps = append(steps,
		acctest.Step{Dir: dir, Vars: vars, State: e.checks},
		acctest.Step{Dir: dir, Vars: vars, PlanOnly: true},
		acctest.Step{Before: func() {
			if e.proof != nil {
				e.proof(t, w)
			}
			e.drift(w)
		}, Dir: dir, Vars: vars, PlanOnly: true, Changes: true},
		acctest.Step{Dir: dir, Vars: vars, State: e.checks},
		acctest.Step{Dir: dir, Vars: vars, PlanOnly: true},
		acctest.Step{Dir: dir, Vars: vars, Destroy: true},
	)
	acctest.RunSteps(t, steps, nil)
}

// connection are the variables of every example that say how hosts are reached.
func connection(w *acctest.Lab) map[string]any {
	vars := exampleVariables(w, false)
	return map[string]any{"hosts": vars["hosts"], "private_key_file": vars["private_key_file"],
		"known_hosts_files": vars["known_hosts_files"]}
}

func state(address string, want any, path ...string) acctest.Value {
	return acctest.Value{Address: address, Path: path, Want: want}
}

// shown is what the data source of an example shows of the only card of a host.
func shown(name, host string, want any, path ...string) acctest.Value {
	for _, h := range labs.Named[name]() {
		if h.Name == host {
			return state("module.lab.data.infiniband_cards.now", want, append([]string{"cards", host + "/" + h.Cards[0].BDF}, path...)...)
		}
	}
	panic("no host " + host + " in lab " + name)
}

func TestAccExample_labOEM(t *testing.T) {
	labExample{
		name: "oem",
		checks: []acctest.Value{
			shown("oem", "dl360a", "HP_9380110017", "flash_psid"),
			shown("oem", "dl360a", "103c:22f5", "pci_subsystem_id"),
			state(`module.lab.infiniband_link_type.card["dl360b"]`, "ib", "effective", "2"),
			state(`module.lab.infiniband_opensm.fabric["dl360a/1"]`, "Active", "port_state"),
			state(`module.lab.infiniband_opensm.fabric["dl360a/2"]`, "Active", "port_state"),
			state(`module.lab.infiniband_ipoib_interface.fabric["dl360b/1"]`, 65520, "mtu"),
			state(`module.lab.infiniband_ipoib_interface.fabric["dl360b/1"]`, true, "carrier"),
		},
		proof: func(t *testing.T, w *acctest.Lab) { w.Run("dl360a", "ping -c 2 172.16.0.2") },
		drift: func(w *acctest.Lab) { w.Run("dl360b", "ip link set dev ibp4s0 mtu 2044") },
	}.run(t)
}

func TestAccExample_labPointToPoint(t *testing.T) {
	labExample{
		name: "point-to-point",
		checks: []acctest.Value{
			state(`module.lab.infiniband_card.card["debian1"]`, "InfiniHost III Ex (MT25208)", "chip"),
			shown("point-to-point", "debian1", "0x0002c90200298e00", "node_guid"),
			shown("point-to-point", "debian2", "ib_mthca", "driver"),
			state(`module.lab.infiniband_opensm.fabric["debian1/1"]`, "Active", "port_state"),
			state(`module.lab.infiniband_ipoib_interface.fabric["debian2/1"]`, 65520, "mtu"),
			state(`data.infiniband_connectivity.link`, 65520, "path_mtu"),
			state(`data.infiniband_connectivity.link`, []any{}, "problems"),
			state(`infiniband_benchmark.link`, "20 Gb/sec (4X DDR)", "client_rate"),
			state(`infiniband_benchmark.link`, false, "missed"),
		},
		drift: func(w *acctest.Lab) { w.Run("debian1", "systemctl stop 'opensm@0x0002c90200298e01.service'") },
	}.run(t)
}

func TestAccExample_labQLogic(t *testing.T) {
	labExample{
		name: "qlogic",
		checks: []acctest.Value{
			state(`module.lab.infiniband_card.card["arch-pc"]`, "InfiniPath_QLE7340", "part_number"),
			shown("qlogic", "arch-pc", nil, "flash_psid"),
			shown("qlogic", "arch-pc", nil, "running_version"),
			shown("qlogic", "arch-pc", nil, "running_psid"),
			shown("qlogic", "ubuntu-pc", "ibp1s0", "ports", "1", "netdev"),
			state(`module.lab.infiniband_opensm.fabric["ubuntu-pc/1"]`, "Active", "port_state"),
			state(`module.lab.infiniband_ipoib_interface.fabric["arch-pc/1"]`, 65520, "mtu"),
		},
		drift: func(w *acctest.Lab) { w.Run("ubuntu-pc", "systemctl stop 'opensm@0x0011750000791fec.service'") },
	}.run(t)
}

func TestAccExample_labGPU(t *testing.T) {
	labExample{
		name:   "gpu",
		refuse: map[string]string{"ipoib_mode": `(?s)IP009`},
		checks: []acctest.Value{
			state(`module.lab.infiniband_card.card["r720"]`, "ConnectX-4", "chip"),
			shown("gpu", "r730b", "mlx5_core", "driver"),
			state(`module.lab.infiniband_opensm.fabric["r730a/1"]`, "Active", "port_state"),
			state(`module.lab.infiniband_ipoib_interface.fabric["r730b/1"]`, 2044, "mtu"),
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
			hosts, cards := map[string]any{}, map[string]any{}
			for i, m := range w.Machines() {
				s := w.Servers[m.Name]
				hosts[other(m.Name)] = map[string]any{"address": s.Addr.IP.String(), "port": s.Addr.Port, "user": w.User(m.Name)}
				cards[other(m.Name)] = map[string]any{"pci_address": m.Config.Cards[0].BDF,
					"address": fmt.Sprintf("172.31.0.%d/24", i+1)}
			}
			vars["hosts"], vars["cards"], vars["subnet_manager"] = hosts, cards, other(labs.Managers[name])
			acctest.RunSteps(t, []acctest.Step{{Dir: acctest.Example(t, name), Vars: vars, PlanOnly: true, Changes: true}}, nil)
		})
	}
}
