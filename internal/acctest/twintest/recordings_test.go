package twintest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

var (
	makeThem = flag.Bool("recordings.make", false, "record the simulated labs anew")
	update   = flag.Bool("recordings.update", false, "write what is found beside each recording")
)

// recordings is where a recording of an issue goes, without its table.
const recordings = "../testdata/recordings"

// Each recording can be started, and what lives there is adopted. What is found, and what cannot be adopted or is not
// in the recording, stands beside it.
func TestRecordings(t *testing.T) {
	if *makeThem {
		makeRecordings(t)
	}
	files, err := filepath.Glob(recordings + "/*.tar.gz")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			w, made := acctest.StartTwin(t, file, false)
			value, diags, err := w.Workspace().Data(t.Context(), "infiniband_adoption", map[string]any{})
			if err != nil || diags.HasError() {
				t.Fatalf("%v %s", err, diags)
			}
			got := strings.Join(made.Missing, "\n") + "\n" + acctest.Lines("", value)
			beside := strings.TrimSuffix(file, ".tar.gz") + ".txt"
			if *update {
				if err = os.WriteFile(beside, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(beside)
			if err != nil || string(want) != got {
				t.Errorf("%v\n%s", err, acctest.Difference(string(want), got))
			}
			if !strings.Contains(got, "import {") {
				t.Error("nothing of it can be adopted")
			}
		})
	}
}

// makeRecordings records the labs as they are bought, and labs that work, with each network stack.
func makeRecordings(t *testing.T) {
	t.Helper()
	keep := func(w *acctest.Lab, name string) {
		data, err := os.ReadFile(w.Record(t))
		if err == nil {
			err = os.WriteFile(filepath.Join(recordings, name+".tar.gz"), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range labs.Names() {
		keep(acctest.Start(t, acctest.Options{Hosts: labs.Named[name]()}), name)
	}
	w := acctest.Start(t, acctest.Options{})
	apply(t, w, w.BothHosts())
	keep(w, "crossflash-works")
	for name, stack := range map[string]labsim.Stack{"ifupdown": labsim.StackIfupdown, "netplan": labsim.StackNetplan,
		"networkmanager": labsim.StackNetworkManager, "networkd": labsim.StackNetworkd} {
		w = working(t, labsim.Debian12, stack)
		keep(w, name)
	}
}
