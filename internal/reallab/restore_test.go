//go:build reallab && linux

package reallab_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
)

const parameterFile = "/etc/modprobe.d/terraform-infiniband.conf"

// TestRealKernels_restore is the way there and back on Debian 13, whose mstconfig knows no
// ConnectX-3: the link types are a parameter of the driver, of which the initial RAM disk
// has a copy. The destroy burns back what the card was bought with.
func TestRealKernels_restore(t *testing.T) {
	const host = "one"
	b := newBench(t, []string{host}, machine.Trixie)
	consent := map[string]any{"from": card.PSIDEN, "to": card.PSIDVPI}
	cfg := b.crossFlash(0, consent, map[string]any{"mode": "connected", "mtu": 65520}).
		With("infiniband_firmware."+host, map[string]any{"on_destroy": "restore"})
	b.mustApply("cross-flash", cfg)
	b.checkBackup(host)
	if stored := fmt.Sprint(b.ws.Get("infiniband_link_type."+host, "stored_in")); !strings.Contains(stored, parameterFile) {
		t.Errorf("the link types are stored in %s", stored)
	}
	b.restart(host)
	b.checkTypes("after a restart", "ib ib")
	b.checkEmpty("after a restart", cfg)

	// Drift of the parameter: now only for the next boot.
	b.on(host, "sed -i s/1,1/2,2/ "+parameterFile)
	if plan := b.plan("drift", cfg); plan.Actions()["infiniband_link_type."+host] != acctest.Update {
		t.Errorf("with another parameter the plan is %v", plan.Actions())
	}
	b.mustApply("drift of the parameter", cfg)

	b.mustApply("destroy", nil)
	flashed, err := b.lab.Cards[host][0].Model.Flash.Active()
	if err != nil {
		t.Fatal(err)
	}
	if psid := flashed.Firmware().PSID; psid != card.PSIDEN {
		t.Errorf("after the destroy the flash has %s", psid)
	}
	if fw := b.lab.Cards[host][0].Model.Running(); fw.PSID != card.PSIDEN {
		t.Errorf("after the destroy the card runs %s", fw.PSID)
	}
	b.checkTypes("with the old firmware", "eth eth")
	if names := b.on(host, "ls /sys/bus/pci/devices/"+reallab.PCIAddress+"/net"); len(strings.Fields(names)) != 2 ||
		strings.Contains(names, "ib") {
		t.Errorf("the driver made %q of the ports of an Ethernet card", names)
	}
}

// restart has the system of a machine restart.
func (b *bench) restart(name string) {
	b.Helper()
	boots := b.lab.Machines[name].Boots()
	_, _ = b.lab.Run(b.Context(), name, "systemctl reboot") // the connection may end first
	b.awaitBoots(name, boots+1)
	b.awaitBoot(name)
}

// checkTypes compares what the driver shows for the ports of the first machine.
func (b *bench) checkTypes(when, want string) {
	b.Helper()
	got := b.on(b.names[0], "cat /sys/bus/pci/devices/"+reallab.PCIAddress+"/mlx4_port[12]")
	if strings.Join(strings.Fields(got), " ") != want {
		b.Errorf("%s the driver shows %q, want %s", when, got, want)
	}
}

func (b *bench) checkEmpty(when string, cfg acctest.Config) {
	b.Helper()
	plan, err := b.ws.Plan(context.Background(), cfg)
	if err != nil || plan.Diags.HasError() || len(plan.Actions()) > 0 {
		b.Fatalf("%s: %v, the plan is %v\n%v", when, err, plan.Actions(), plan.Diags)
	}
}
