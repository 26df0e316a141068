package provider_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/runlog"
)

// TestRunLog_says_how_far_a_write_is burns a card while run.log cannot be written, which
// is a warning, and then writes its GUIDs, which run.log follows to the end.
func TestRunLog_says_how_far_a_write_is(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	ws, all := w.Workspace(), w.CrossFlash(intel9)
	log := filepath.Join(w.Backups, runlog.Name)
	if err := os.MkdirAll(log, 0o700); err != nil {
		t.Fatal(err)
	}
	said := apply(t, ws, all[:3])
	says(t, said.Warnings(), "Unable to write "+log, "is no regular file", "The change itself does not depend on it")
	if n := len(said.Warnings().Find("Unable to write " + log)); n != 1 {
		t.Errorf("%d warnings", n)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if said = apply(t, ws, all[:4]); len(said.Warnings().Find(log)) > 0 {
		t.Errorf("%s", said)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(log)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	rest := string(text)
	// A step that is over before the next look has no line.
	for _, want := range []string{" backup            next: verify the two copies, in some minutes\n",
		" burned      100%  next: read the card back and verify it, within a minute\n",
		" verified    100%  read back: the card holds what was asked for\n", " restart           next: see the card run what was written, in some minutes\n",
		" restarted         the card runs "} {
		_, after, found := strings.Cut(rest, " "+intel9+" "+w.PCI(intel9)+want)
		if !found {
			t.Fatalf("no %q at its place in:\n%s", want, text)
		}
		rest = after
	}
}
