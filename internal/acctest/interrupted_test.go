package acctest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// burns counts what wrote to the flash of a host: firmware and GUIDs.
func burns(w *Lab, host string) (images, guids int) { return w.Burns(host) }

// checkConverged holds what must be true of a host after the main scenario, whatever
// happened on the way: the right card, burned as often as was due and no more,
// its old firmware in the backups, and nothing left to do.
func checkConverged(t *testing.T, w *Lab, ws *Workspace, cfg Config, host string) {
	t.Helper()
	flash, running := w.Flash(host), w.Card(host).Running()
	if flash.PSID != card.PSIDVPI || running.PSID != card.PSIDVPI || flash.Version != running.Version {
		t.Errorf("in flash %s %v, running %s %v", flash.PSID, flash.Version, running.PSID, running.Version)
	}
	node := NodeGUID(host)
	if want := [4]uint64{node, node + 1, node + 2, node + 3}; flash.GUIDs != want || running.GUIDs != want {
		t.Errorf("GUIDs in flash %x, running %x, expected %x", flash.GUIDs, running.GUIDs, want)
	}
	if mac := w.MACs(host); flash.MACs != mac {
		t.Errorf("MACs %x, expected %x", flash.MACs, mac)
	}
	backupHolds(t, w, host, card.PSIDEN)
	emptyPlan(t, ws, cfg)
	checkUntainted(t, ws)
}

// backupHolds looks for a backup of a host's card with a PSID.
func backupHolds(t *testing.T, w *Lab, host, psid string) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(w.Backups, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".bin" {
			return err
		}
		if img := readBackup(t, path); img == psid {
			found++
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("no backup of %s holds %s: %v", host, psid, err)
	}
}

// settle plans and applies until nothing fails and nothing is left of a network change that
// holds (IP047), at most three times. It gives what was said on the way.
func settle(t *testing.T, ws *Workspace, cfg Config) Diags {
	t.Helper()
	var said Diags
	for try := 1; ; try++ {
		plan := mustPlan(t, ws, cfg)
		failed := plan.Diags.HasError()
		said = append(said, plan.Diags...)
		if !failed {
			diags, err := ws.Apply(context.Background(), plan)
			if err != nil {
				t.Fatal(err)
			}
			said = append(said, diags...)
			failed = diags.HasError() || len(diags.Warnings().Find("The change is confirmed and holds", "The next plan names it")) > 0
		}
		checkUntainted(t, ws)
		if !failed {
			return said
		}
		if try == 3 {
			t.Fatalf("three applies did not converge:\n%s", said.Errors())
		}
	}
}

// The connection breaks at the k-th command of the whole job, for every k: before
// the command starts, while it runs, or before its status arrives. Each k gets
// one of the three moments; INFINIBAND_ALL_CUTS=1 gives it all.
func TestInterrupted_connection_cut_at_every_command(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	whole := Start(t, Options{Hosts: labs.TwoHosts()[:1]})
	mustApply(t, whole.Workspace(), whole.CrossFlash(host))
	n := whole.Machine(host).Counters().Sessions
	if n < 20 {
		t.Fatalf("the whole job took %d commands; too few to mean anything", n)
	}
	moments := []labsim.CutWhen{labsim.CutBefore, labsim.CutDuring, labsim.CutAfter}
	all := os.Getenv("INFINIBAND_ALL_CUTS") != ""
	for k := 1; k <= n; k++ {
		for i, when := range moments {
			if !all && k%len(moments) != i {
				continue
			}
			t.Run(fmt.Sprintf("%d_%s", k, when), func(t *testing.T) {
				t.Parallel()
				w := Start(t, Options{Hosts: labs.TwoHosts()[:1]})
				ws, cfg := w.Workspace(), w.CrossFlash(host)
				w.Machine(host).Faults.Set(labsim.FaultSpec{CutAtExec: k, CutWhen: when})
				said := settle(t, ws, cfg)
				w.Machine(host).Faults.Clear() // the job may have taken fewer commands than k
				once(t, w, host)
				checkConverged(t, w, ws, cfg, host)
				if t.Failed() {
					t.Logf("on the way:\n%s", said)
				}
			})
		}
	}
}

// once holds that firmware and GUIDs were written exactly once.
func once(t *testing.T, w *Lab, host string) {
	t.Helper()
	if images, guids := burns(w, host); images != 1 || guids != 1 {
		t.Errorf("%d firmware burns and %d GUID changes of %s, expected one of each", images, guids, host)
	}
}
