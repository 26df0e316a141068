package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const namesAddress, namesFile = "infiniband_node_names.it", "/etc/rdma/ib-node-name-map"

func nodeNames(host string) Config {
	return Config{{Type: "infiniband_node_names", Name: "it", Attrs: map[string]any{"host": host}}}
}

// The names of the provider block are what iblinkinfo on the host calls the nodes, follow a change, show what somebody
// has changed, and go with the resource. The provider itself goes on seeing descriptions.
func TestNodeNames_life(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.needSimulated("installs packages by hand")
	drivers(w)
	w.Run(labs.Intel9, "apt-get install -y infiniband-diags; modprobe ib_umad")
	ws, cfg := w.Workspace(), nodeNames(labs.Intel9)
	if said := mustPlan(t, ws, cfg).Diags.Errors(); len(said.Find("Unable to plan node names of host intel9",
		"node_name_map of the provider block has no names")) != 1 {
		t.Errorf("without names: %s", said)
	}
	names := map[string]any{nodeGUID(labs.Intel9): "left", nodeGUID(labs.Xeon2zfs): "storage head"}
	ws.Provider["node_name_map"] = names
	plan := cleanPlan(t, ws, cfg)
	if got := plan.Get(namesAddress, "names", nodeGUID(labs.Intel9)); got != "left" {
		t.Errorf("the plan has %v", got)
	}
	if got := plan.Get(namesAddress, "files", 0); got != namesFile {
		t.Errorf("the plan writes %v", got)
	}
	applyStep(t, ws, plan, "")
	emptyPlan(t, ws, cfg)
	links := w.Run(labs.Intel9, "iblinkinfo -l")
	if !strings.Contains(links, `"storage head"`) || !strings.Contains(links, `left"`) {
		t.Errorf("iblinkinfo says\n%s", links)
	}
	if said := w.Run(labs.Intel9, "iblinkinfo -l --node-name-map /dev/null"); strings.Contains(said, "storage head") {
		t.Errorf("with no map iblinkinfo says\n%s", said)
	}
	names[nodeGUID(labs.Intel9)] = "right"
	mustApply(t, ws, cfg)
	if got := w.Run(labs.Intel9, "cat "+namesFile); !strings.Contains(got, ` "right"`) {
		t.Errorf("after a change: %s", got)
	}
	byHand := func(edit func(string) string) {
		w.Put(labs.Intel9, namesFile, edit(w.Run(labs.Intel9, "cat "+namesFile)))
	}
	byHand(strings.NewReplacer("right", "wrong").Replace)
	plan = cleanPlan(t, ws, cfg)
	if was, is := At(Decode(plan.Changes[0].Prior), "names", nodeGUID(labs.Intel9)), plan.Get(namesAddress, "names",
		nodeGUID(labs.Intel9)); was != "wrong" || is != "right" {
		t.Errorf("the plan changes %v to %v", was, is)
	}
	byHand(strings.NewReplacer("wrong", "worse").Replace)
	if said := applyStep(t, ws, plan, "HO019"); !strings.Contains(said, "was wrong and is worse") {
		t.Errorf("what came after the plan: %s", said)
	}
	mustApply(t, ws, cfg)
	byHand(func(text string) string { return text + "# mine\n" })
	if said := mustPlan(t, ws, cfg).Diags.Warnings(); len(said.Find("HO034", "# mine", "will be kept")) != 1 {
		t.Errorf("a line of somebody else: %s", said)
	}
	mustApply(t, ws, cfg)
	said, err := ws.Apply(t.Context(), mustPlan(t, ws, Config{}))
	if err != nil || said.HasError() {
		t.Fatalf("the destroy: %v, %s", err, said)
	}
	if w.Machine(labs.Intel9).FS.Exists(namesFile) {
		t.Error("the file is still there")
	}
}

// A file of somebody else is not replaced; an import takes one of ours; opensm gets a file where it is installed.
func TestNodeNames_files(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.needSimulated("writes files by hand")
	drivers(w)
	ws, cfg := w.Workspace(), nodeNames(labs.Intel9)
	ws.Provider["node_name_map"] = map[string]any{"0x0002c902004a1b00": "leaf-a"}
	w.Put(labs.Intel9, namesFile, "0x1 \"mine\"\n")
	if said := mustPlan(t, ws, cfg).Diags.Errors(); len(said.Find("HO035", "node names of host intel9", namesFile)) != 1 {
		t.Errorf("a file of somebody else: %s", said)
	}
	w.Run(labs.Intel9, "rm "+namesFile)
	mustApply(t, ws, cfg)
	again := w.Workspace()
	again.Provider["node_name_map"] = ws.Provider["node_name_map"]
	if said, err := again.Import(t.Context(), cfg[0], labs.Intel9); err != nil || said.HasError() {
		t.Fatalf("import: %v, %s", err, said)
	}
	emptyPlan(t, again, cfg)
	w.Run(labs.Intel9, "apt-get install -y opensm")
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	if got := ws.Get(namesAddress, "files", 1); got != "/etc/opensm/ib-node-name-map" {
		t.Errorf("with opensm: %v", got)
	}
}

func nodeGUID(host string) string { return portGUID(host, 0) }
