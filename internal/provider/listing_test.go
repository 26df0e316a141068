package provider_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
)

// listed are the results of one list block.
func listed(t *testing.T, ws *acctest.Workspace, kind string, attrs map[string]any, whole bool,
	limit int64) (all []acctest.Listed, said acctest.Diags) {
	t.Helper()
	said, err := ws.List(t.Context(), kind, attrs, whole, limit, func(one acctest.Listed) bool {
		all = append(all, one)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, said
}

// Each kind that can be adopted is listed with the identity by which an import finds it,
// and reads each host once.
func TestList_givesWhatAnImportTakes(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{})
	apply(t, w.Workspace(), w.BothHosts())
	for kind, titles := range map[string][]string{
		"infiniband_card":             {"intel9/0000:01:00.0", "(ConnectX-3 Pro, MCX314A-BCCT)"},
		"infiniband_firmware":         {"xeon2zfs/0000:04:00.0", "2.42.5000"},
		"infiniband_guids":            {"intel9/0000:01:00.0", "0xe41d2d0300e44ed0"},
		"infiniband_link_type":        {"intel9/0000:01:00.0", "xeon2zfs/0000:04:00.0"},
		"infiniband_opensm":           {"intel9/0xe41d2d0300e44ed1", "opensm@0xe41d2d0300e44ed1.service"},
		"infiniband_ipoib_interface":  {"intel9/0xe41d2d0300e44ed1", "xeon2zfs/0xe41d2d0300e44ee2 (ibs4d1"},
		"infiniband_port":             nil, // none has a setting of its own
		"infiniband_firmware_backup!": nil, // not found on a host: no list
	} {
		if name, none := strings.CutSuffix(kind, "!"); none {
			if _, err := w.Workspace().List(t.Context(), name, nil, false, 0, nil); err == nil {
				t.Errorf("%s is listed", name)
			}
			continue
		}
		ws, before := w.Workspace(), w.Machine(intel9).Counters()
		all, said := listed(t, ws, kind, nil, true, 0)
		after := w.Machine(intel9).Counters()
		if len(said) > 0 || (len(all) == 0) != (titles == nil) {
			t.Errorf("%s: %d are listed\n%s", kind, len(all), said)
		}
		// The copy of an image that was burned is one command more.
		if n := after.Sessions - before.Sessions; n > 2 || n > 1 && kind != "infiniband_firmware" {
			t.Errorf("%s: it took %d commands", kind, n)
		}
		var names []string
		for _, one := range all {
			names = append(names, one.Name)
			checkListed(t, w, kind, one)
		}
		for _, want := range titles {
			if !strings.Contains(strings.Join(names, "\n"), want) {
				t.Errorf("%s: no %s among %q", kind, want, names)
			}
		}
	}
}

// checkListed imports what was listed: the state is the same.
func checkListed(t *testing.T, w *acctest.Lab, kind string, one acctest.Listed) {
	t.Helper()
	r, ws := acctest.Resource{Type: kind, Name: "it"}, w.Workspace()
	said, err := ws.ImportByIdentity(t.Context(), r, one.Identity)
	if err != nil || said.HasError() {
		t.Fatalf("import %s %v: %v\n%s", kind, one.Identity, err, said)
	}
	if state := ws.State[r.Address()]; state == nil || !reflect.DeepEqual(acctest.Decode(state.Value), one.Resource) {
		t.Errorf("%s: listed is\n%v\nimported is\n%v", one.Name, one.Resource, state)
	}
	if !reflect.DeepEqual(ws.Identity(r.Address()), one.Identity) {
		t.Errorf("%s: listed as %v, imported as %v", one.Name, one.Identity, ws.Identity(r.Address()))
	}
}

// A host that fails is a warning, so that the engine goes on. A limit and an engine that has
// enough end the list, and the state comes only if it is asked for.
func TestList_hostThatFailsLimitAndState(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{})
	ws := w.Workspace()
	ws.Provider["hosts"].(map[string]any)["away"] = map[string]any{"address": "127.0.0.1", "port": 1, "connect_attempts": 1}
	const kind = "infiniband_card"
	all, said := listed(t, ws, kind, nil, false, 0)
	if len(all) != 2 || said.HasError() || all[0].Resource != nil {
		t.Errorf("%v are listed\n%s", all, said)
	}
	says(t, said, "Host away is left out: Unable to read host away", "refused")
	if all, said = listed(t, ws, kind, nil, true, 1); len(all) != 1 || all[0].Resource == nil || len(said) != 1 {
		t.Errorf("with a limit of 1: %v\n%s", all, said)
	}
	n := 0
	if _, err := ws.List(t.Context(), kind, nil, false, 0, func(acctest.Listed) bool { n++; return false }); err != nil || n != 1 {
		t.Errorf("after its end: %d, %v", n, err)
	}
	all, said = listed(t, ws, kind, map[string]any{"hosts": []any{xeon2zfs}}, false, 0)
	if len(all) != 1 || len(said) > 0 || !strings.HasPrefix(all[0].Name, xeon2zfs+"/") {
		t.Errorf("of one host: %v\n%s", all, said)
	}
	all, said = listed(t, ws, kind, map[string]any{"hosts": []any{"on"}}, false, 0)
	if len(all) > 0 {
		t.Errorf("of no host: %v", all)
	}
	says(t, said.Errors(), "Unable to read host on", "known hosts: away, intel9, xeon2zfs")
}

// Every list resource has an example, which TestBlocks holds to its schema, and no other.
func TestList_examples(t *testing.T) {
	files, err := filepath.Glob("../../examples/list-resources/*/list-resource.tfquery.hcl")
	if err != nil {
		t.Fatal(err)
	}
	judge := newHCLJudge(t)
	var kinds []string
	for _, file := range files {
		text, bad := os.ReadFile(file)
		if bad != nil {
			t.Fatal(bad)
		}
		kind := filepath.Base(filepath.Dir(file))
		kinds = append(kinds, kind)
		for _, problem := range judge.problems(block{file: file, text: string(text)}, nil) {
			t.Errorf("%s: %s", file, problem)
		}
		if !strings.Contains(string(text), `list "`+kind+`" "`) {
			t.Errorf("%s lists no %s", file, kind)
		}
	}
	var want []string
	for kind := range judge.schemas.ListResourceSchemas {
		want = append(want, kind)
	}
	slices.Sort(want)
	if !slices.Equal(kinds, want) || len(kinds) != 8 {
		t.Errorf("examples of %v, list resources %v", kinds, want)
	}
}
