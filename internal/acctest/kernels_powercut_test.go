//go:build reallab && linux

package acctest

import (
	"context"
	"fmt"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// TestKernels_power_cut takes the power from a machine while the real mstflint writes the
// flash: its kernel, its file system with the job's journal, and the card lose it at once.
// The card then boots the old image, and the next apply ends the work.
func TestKernels_power_cut(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	for _, n := range []int{1, 150} {
		t.Run(fmt.Sprint("at flash operation ", n), func(t *testing.T) {
			t.Parallel()
			hosts := boughtHost(func(h *labs.Host) { h.OS = labsim.Debian12 })
			w := Start(t, Options{Hosts: hosts})
			host, ws := hosts[0].Name, w.Workspace()
			cfg := w.CrossFlash(host)[:4] // to the GUIDs
			plan := cleanPlan(t, ws, cfg)
			back := make(chan error, 1)
			left := n
			w.Card(host).Flash.SetHook(func(card.Op) error {
				if left--; left == 0 {
					go func() { back <- w.testbed.Restart(host) }()
				}
				return nil
			})
			diags, err := ws.Apply(context.Background(), plan)
			if err != nil || !diags.HasError() {
				t.Fatalf("the apply that lost its host: %v\n%s", err, diags)
			}
			if err := <-back; err != nil {
				t.Fatal(err)
			}
			w.Card(host).Flash.SetHook(nil)
			if fw := w.testbed.Card(host, w.PCI(host)).Running(); fw.PSID != card.PSIDEN {
				t.Errorf("after the cut the card runs %s", fw.PSID)
			}
			mustApply(t, ws, cfg)
			emptyPlan(t, ws, cfg)
			if fw := w.testbed.Card(host, w.PCI(host)).Running(); fw.PSID != card.PSIDVPI || fw.GUIDs[0] != NodeGUID(host) {
				t.Errorf("in the end the card runs %s with %x", fw.PSID, fw.GUIDs)
			}
			path, _ := ws.Get("infiniband_firmware."+host, "original_backup_path").(string)
			if psid := readBackup(t, path+"/firmware.bin"); psid != card.PSIDEN {
				t.Errorf("the first backup is of %s", psid)
			}
		})
	}
}
