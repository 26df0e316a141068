package adopt_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// adoption reads the data source.
func adoption(t *testing.T, ws *acctest.Workspace, attrs map[string]any) (map[string]any, acctest.Diags) {
	t.Helper()
	value, said, err := ws.Data(t.Context(), "infiniband_adoption", attrs)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := value.(map[string]any)
	return data, said
}

// A host that no program answers on.
func gone(ws *acctest.Workspace, name string) {
	ws.Provider["hosts"].(map[string]any)[name] = map[string]any{"address": "127.0.0.1", "port": 1, "connect_attempts": 1}
}

// For hosts of a provider block the data source gives what the command writes, and reads
// each host once.
func TestData_isTheTextOfTheCommand(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{})
	mustApply(t, w, w.BothHosts())
	o := run(t, w, labs.Intel9, labs.Xeon2zfs)
	if o.status != command.OK {
		t.Fatalf("ended with %d\n%s", o.status, o.err)
	}
	ws, before := w.Workspace(), w.Machine(labs.Intel9).Counters()
	data, said := adoption(t, ws, nil)
	after := w.Machine(labs.Intel9).Counters()
	if len(said) > 0 {
		t.Error(said)
	}
	// One command reads the host, one the copy of the image that was burned.
	if n := after.Sessions - before.Sessions; n != 2 || after.Connections-before.Connections != 1 {
		t.Errorf("it took %d commands and %d connections", n, after.Connections-before.Connections)
	}
	files, _ := data["files"].(map[string]any)
	if names := slices.Sorted(maps.Keys(files)); !slices.Equal(names,
		[]string{"cards.tf", "fabric.tf", "imports.tf", "network.tf"}) {
		t.Errorf("it gives %v", names)
	}
	for name, text := range files {
		if diff := cmp.Diff(o.file(t, name), text); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A host that fails does not stop the others; a name that is no host is a mistake.
func TestData_saysWhatIsNotAdopted(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: two(), Tolerate: true})
	byHand(w, "one", "apt-get install -y rdma-core mstflint opensm infiniband-diags; update-initramfs -u")
	w.Run("one", "systemctl enable --now opensm")
	ws := w.Workspace()
	gone(ws, "away")
	data, said := adoption(t, ws, map[string]any{"hosts": []any{"one", "away"}})
	says(t, said.String(), "Host away is left out: Unable to read host away")
	leftOut, _ := data["left_out"].(map[string]any)
	reason, _ := leftOut["away"].(string)
	says(t, reason, "Unable to read host away", "refused")
	not, _ := data["not_adopted"].(map[string]any)
	sm, _ := not["infiniband_opensm.one_port1"].(map[string]any)
	reason, _ = sm["reason"].(string)
	says(t, reason, "Its plan would change what sets it up", "restarts it")
	if sm["id"] != "one/0xe41d2d0300e44ed1" {
		t.Errorf("its id is %v", sm["id"])
	}
	files, _ := data["files"].(map[string]any)
	imports, _ := files["imports.tf"].(string)
	if says(t, imports, "to = infiniband_card.one"); strings.Contains(imports, "other") {
		t.Errorf("a host that is not named is adopted:\n%s", imports)
	}
	_, said = adoption(t, ws, map[string]any{"hosts": []any{"on"}})
	says(t, said.Errors().String(), "Unable to read host on", `known hosts: away, one, other`)
}
