//go:build reallab && linux

package reallab_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
)

// TestRealKernels_restore is the way there and back on Debian 13, whose own mstflint crashes
// on a ConnectX-3: with the tool that the refusal advises. The destroy burns back what the
// card was bought with.
func TestRealKernels_restore(t *testing.T) {
	const host, donor = "one", "donor"
	b := newBench(t, []string{host, donor}, machine.Trixie, machine.Bookworm)
	consent := map[string]any{"from": card.PSIDEN, "to": card.PSIDVPI}
	cfg := typesFirst(b.crossFlash(0, consent, map[string]any{"mode": "connected", "mtu": 65520}), host).
		With("infiniband_firmware."+host, map[string]any{"on_destroy": "restore"})
	refused, err := b.ws.Plan(context.Background(), cfg)
	if err != nil || len(refused.Diags.Errors().Find("Finding: FW052", "apt install "+strings.Join(oldPackages, " "))) != 1 {
		t.Fatalf("a burn with Debian 13's own mstflint: %v\n%v", err, refused.Diags.Errors())
	}
	b.wayOut(host, donor)
	b.mustApply("cross-flash", cfg)
	b.checkBackup(host)
	b.restart(host)
	b.checkTypes("after a restart", "ib ib")
	b.checkEmpty("after a restart", cfg)

	// Somebody stores other types in the card, for the next boot.
	b.on(host, "mstconfig -y -d "+reallab.PCIAddress+" set LINK_TYPE_P1=2 LINK_TYPE_P2=2")
	if plan := b.plan("drift", cfg); plan.Actions()["infiniband_link_type."+host] != acctest.Update {
		t.Errorf("with other types in the card the plan is %v", plan.Actions())
	}
	b.mustApply("drift of the types in the card", cfg)

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

// typesFirst has the link types set before the GUIDs. Linux 6.12 makes no RDMA device of a
// card that has Ethernet ports only, unless its firmware has RoCE, which the emulated one
// has not: nothing would show the GUIDs.
func typesFirst(cfg acctest.Config, host string) acctest.Config {
	for i := range cfg {
		switch cfg[i].Type {
		case "infiniband_link_type":
			cfg[i].After = []string{"infiniband_firmware." + host}
		case "infiniband_guids":
			cfg[i].After = []string{"infiniband_link_type." + host}
		}
	}
	return cfg
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
