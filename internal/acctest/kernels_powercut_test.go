//go:build reallab && linux

package acctest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
)

// burnCuts are the points of a burn at which the power goes. The new image lies beside the
// old one: until its first words are written, which come last, the card boots the old one.
var burnCuts = []struct {
	name string
	// at is the operation of the flash of which only half happens; nil if all happen.
	at func(op card.Op, before []card.Op) bool
	// step is what of the apply is the last, if all operations of the flash happen.
	step string
	psid string // that the card then boots
	// ended says that the journal has the end of the job.
	ended bool
}{
	{name: "in the first erase", psid: card.PSIDEN,
		at: func(op card.Op, _ []card.Op) bool { return op.Erase }},
	{name: "erased, in the first write", psid: card.PSIDEN,
		at: func(op card.Op, _ []card.Op) bool { return !op.Erase }},
	{name: "in the midst of the image", psid: card.PSIDEN,
		at: func(op card.Op, _ []card.Op) bool { return !op.Erase && op.Addr%0x10000 >= 0x500 }},
	{name: "in the first words of the image", psid: card.PSIDEN, at: goesBack},
	{name: "burned, before the restart", psid: card.PSIDVPI, step: "note-activation", ended: true},
}

// goesBack: the image is written upwards, but for its first words.
func goesBack(op card.Op, before []card.Op) bool {
	if op.Erase || len(before) == 0 {
		return false
	}
	last := before[len(before)-1]
	return !last.Erase && op.Addr < last.Addr
}

// burnLab is a host whose card is cross-flashed.
type burnLab struct {
	*Lab
	t    *testing.T
	loan *kernelLoan
	host string
	ws   *Workspace
	cfg  Config
	ops  []card.Op // of the last burn
}

// TestKernels_power_cut takes the power from a machine at one point of a burn after the
// other: its kernel, its file system with the job's journal, and the card lose it at once.
// The real driver comes up with what the card then boots, the journal on the disk says how
// far the job was, and the last apply ends the work.
func TestKernels_power_cut(t *testing.T) {
	if !OnTestbed() {
		t.Skip("needs machines with kernels of their own: INFINIBAND_LAB=reallab")
	}
	t.Parallel()
	hosts := boughtHost(func(h *labs.Host) { h.OS = labsim.Debian12 })
	w := &burnLab{Lab: Start(t, Options{Hosts: hosts}), t: t, host: hosts[0].Name}
	loan, ok := w.testbed.(*kernelLoan)
	if !ok {
		t.Fatalf("the lab stands on %T", w.testbed)
	}
	w.loan, w.ws, w.cfg = loan, w.Workspace(), w.CrossFlash(w.host)[:4] // to the GUIDs
	for _, cut := range burnCuts {
		plan := cleanPlan(t, w.ws, w.cfg)
		back := w.cutAt(cut.at, cut.step)
		diags, err := w.ws.Apply(context.Background(), plan)
		w.ws.Ended()
		if err != nil || !diags.HasError() {
			t.Fatalf("%s: the apply that lost its host: %v\n%s\n%s", cut.name, err, diags, w.turns())
		}
		select {
		case err = <-back:
		case <-time.After(bootTimeout):
			err = fmt.Errorf("the power did not go: %d operations of the flash: %s\n%s", len(w.ops), w.turns(), diags)
		}
		if err != nil {
			t.Fatalf("%s: %v", cut.name, err)
		}
		w.checkBooted(cut.name, cut.psid)
		w.checkJournal(cut.name, cut.ended)
		w.renew(nil)
		// An apply that still waits when the host is back says it, and records the end.
		said := fmt.Sprint(diags.Errors(), cleanPlan(t, w.ws, w.cfg).Diags)
		if !cut.ended && !strings.Contains(said, "was interrupted") {
			t.Errorf("%s: neither the apply nor the next plan says that the burn was interrupted:\n%s", cut.name, said)
		}
		t.Logf("%s, the apply says:\n%s", cut.name, diags.Errors())
	}
	mustApply(t, w.ws, w.cfg)
	emptyPlan(t, w.ws, w.cfg)
	w.checkBooted("in the end", card.PSIDVPI)
	if fw := w.loan.Card(w.host, w.PCI(w.host)).Running(); fw.GUIDs[0] != NodeGUID(w.host) {
		t.Errorf("in the end the card runs with %x", fw.GUIDs)
	}
	path, _ := w.ws.Get("infiniband_firmware."+w.host, "original_backup_path").(string)
	if psid := readBackup(t, path+"/firmware.bin"); psid != card.PSIDEN {
		t.Errorf("the first backup is of %s", psid)
	}
	t.Logf("%d power cuts of a burn survived", len(burnCuts))
}

// errNoPower is what operations of the flash give until the machine notices that the power
// has gone. Of the first one, half happens.
var errNoPower = errors.New("no power")

// cutAt has the power go at an operation of the flash, or after a step of the apply, and
// come back.
func (w *burnLab) cutAt(at func(card.Op, []card.Op) bool, step string) <-chan error {
	back := make(chan error, 1)
	cut := sync.OnceFunc(func() {
		go func() {
			w.loan.Machines[w.host].Cut()
			w.loan.Card(w.host, w.PCI(w.host)).Flash.SetHook(nil)
			back <- w.loan.Restart(w.host)
		}()
	})
	w.ops = nil
	gone := false
	w.loan.Card(w.host, w.PCI(w.host)).Flash.SetHook(func(op card.Op) error {
		switch {
		case gone:
			return errNoPower
		case at != nil && at(op, w.ops):
			gone = true
			cut()
			return card.ErrPowerLost
		}
		w.ops = append(w.ops, op)
		return nil
	})
	w.renew(func(e host.Event) {
		if step != "" && strings.Contains(e.What, step) {
			cut()
		}
	})
	return back
}

// renew has another provider work with the same state.
func (w *burnLab) renew(trace func(host.Event)) {
	state := w.ws.State
	w.ws = NewWorkspace(func() (tfprotov6.ProviderServer, error) {
		return provider.Server(provider.NewTuned("test", provider.Tuning{Pace: pace, Lost: 30 * time.Second, Trace: trace})()), nil
	}, w.Provider())
	w.ws.Ended = w.DropAll
	w.ws.State = state
}

// checkBooted: the card has booted an image, and the driver of the stock kernel has come up
// with it.
func (w *burnLab) checkBooted(when, psid string) {
	w.t.Helper()
	if fw := w.loan.Card(w.host, w.PCI(w.host)).Running(); fw.PSID != psid {
		w.t.Errorf("%s: the card runs %s", when, fw.PSID)
	}
	out := w.Run(w.host, "modprobe -a mlx4_ib && udevadm settle; readlink /sys/bus/pci/devices/"+w.PCI(w.host)+
		"/driver; cat /sys/class/infiniband/*/board_id")
	if !strings.Contains(out, "/mlx4_core\n") || !strings.HasSuffix(out, psid+"\n") {
		w.t.Errorf("%s: the driver says:\n%s", when, out)
	}
}

// checkJournal: what the job had noted before the cut is on the disk, its last line whole.
func (w *burnLab) checkJournal(when string, ended bool) {
	w.t.Helper()
	out := w.Run(w.host, "cd /var/lib/terraform-provider-infiniband/jobs && cd $(ls -t | head -n 1) && cat states && "+
		"if [ -e exit ]; then echo exit $(cat exit); fi")
	w.t.Logf("%s, the journal:\n%s", when, out)
	if has := strings.Contains(out, "exit 0\n"); has != ended {
		w.t.Errorf("%s: the journal of the burn:\n%s", when, out)
	}
}

// turns are the operations at which the burn did not go on upwards.
func (w *burnLab) turns() string {
	var words []string
	for i, op := range w.ops {
		if i == 0 || op.Erase != w.ops[i-1].Erase || op.Addr < w.ops[i-1].Addr {
			words = append(words, fmt.Sprintf("%d: erase %v %#x of %d", i, op.Erase, op.Addr, op.Size))
		}
	}
	return strings.Join(words, "; ")
}
