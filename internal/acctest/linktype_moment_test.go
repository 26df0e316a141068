package acctest

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// A plan has said that the card has the types stored and that nothing is stored. Somebody takes
// them back after it: the apply neither stores them again nor restarts the host.
func TestLinkType_takenBackAfterThePlan(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	mustApply(t, w.ws, w.link("ib", "none"))
	mustApply(t, w.ws, w.link("eth", "none"))
	plan := cleanPlan(t, w.ws, w.link("eth", "reboot"))
	if len(plan.Diags.Warnings().Find("Nothing is stored anew")) != 1 {
		t.Fatalf("what the plan says: %s", plan.Diags)
	}
	w.Run(labs.Intel9, "mstconfig -y -d "+w.PCI(labs.Intel9)+" set LINK_TYPE_P1=1")
	boots := w.Machine(labs.Intel9).Boots()
	applyStep(t, w.ws, plan, "HO019")
	if w.Machine(labs.Intel9).Boots() != boots {
		t.Error("the host was restarted")
	}
	if got := w.Run(labs.Intel9, "mstconfig -d "+w.PCI(labs.Intel9)+" q LINK_TYPE_P1"); !strings.Contains(got, "IB(1)") {
		t.Errorf("the card has stored:\n%s", got)
	}
	mustApply(t, w.ws, w.link("eth", "reboot"))
	emptyPlan(t, w.ws, w.link("eth", "reboot"))
}

// Somebody sets other types in our file after the plan. They are not replaced, also if the
// initial RAM disk was not rebuilt for them.
func TestLinkType_editAfterThePlan(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	ws, ib, eth := w.Workspace(), w.types(labs.Intel9, "ib", "ib"), w.types(labs.Intel9, "eth", "eth")
	mustApply(t, ws, ib)
	emptyPlan(t, ws, ib)
	for _, rebuild := range []string{"true", "update-initramfs -u"} {
		plan := cleanPlan(t, ws, eth)
		text := w.Run(labs.Intel9, "sleep 1; cat "+platform.ModprobePath)
		w.Put(labs.Intel9, platform.ModprobePath, strings.Replace(text, "=1,1", "=1,0", 1))
		w.Run(labs.Intel9, rebuild)
		if said := applyStep(t, ws, plan, "HO019"); !strings.Contains(said,
			"port 2 had ib stored for the next boot and has auto") {
			t.Errorf("%q: %s", rebuild, said)
		}
		if got := w.Run(labs.Intel9, "cat "+platform.ModprobePath); !strings.Contains(got, "port_type_array=1,0") {
			t.Errorf("%q: the file is now\n%s", rebuild, got)
		}
		mustApply(t, ws, ib)
		emptyPlan(t, ws, ib)
	}
}

// The VPI image is in flash, and the host was not restarted: what is missing is the restart.
func TestLinkType_burnedAndNotRestarted(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: boughtHost()})
	ws, burn := w.Workspace(), w.burn(labs.Intel9, w.Image(ImageVPI), map[string]any{"activation": "none"})
	mustApply(t, ws, burn)
	types := w.types(labs.Intel9, "ib", "ib")
	said := mustPlan(t, ws, append(burn, types...)).Diags
	if len(said.Errors().Find("LT001", "In flash: MT_9", "activation = \"reboot\" in the infiniband_firmware",
		"mstflint -d 0000:01:00.0 v")) != 1 || len(said.Find("LT001", "Burn the VPI image")) != 0 {
		t.Errorf("before the restart:\n%s", said)
	}
	types[0].After = []string{"infiniband_firmware.it"}
	mustApply(t, ws, append(w.burn(labs.Intel9, w.Image(ImageVPI), nil), types...))
	emptyPlan(t, ws, append(w.burn(labs.Intel9, w.Image(ImageVPI), nil), types...))
}

// Without a driver nothing shows the ports. That is not another type: a configuration that the
// state holds is not refused for it, and one that asks for another type is.
func TestLinkType_driverGone(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	ws, ib := w.Workspace(), w.types(labs.Intel9, "ib", "ib")
	mustApply(t, ws, ib)
	w.unbind(labs.Intel9)
	if said := emptyPlan(t, ws, ib).Diags.Warnings(); len(said.Find("its ports show no link types", "Port 1",
		"Port 2")) == 0 {
		t.Errorf("nothing is said of ports that are not shown:\n%s", said)
	}
	if said := mustPlan(t, ws, w.types(labs.Intel9, "eth", "eth")).Diags; len(said.Errors().Find("LT008")) != 1 {
		t.Errorf("another type:\n%s", said)
	}
	// Somebody has set another type for the next boot.
	w.Put(labs.Intel9, "/etc/modprobe.d/zz.conf", "options mlx4_core port_type_array=2,2\n")
	w.Run(labs.Intel9, "update-initramfs -u")
	if said := mustPlan(t, ws, ib).Diags; len(said.Errors().Find("LT008")) != 1 {
		t.Errorf("another type at the next boot:\n%s", said)
	}
}

// The same with a ConnectX-4, whose own configuration is read without a driver: a configuration
// that restarts the host is held as well, and nothing is restarted.
func TestLinkType_laterDriverGone(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	reboot := w.link("ib", "reboot")
	mustApply(t, w.ws, reboot)
	w.Run(labs.Intel9, "modprobe -r ib_ipoib; modprobe -r mlx5_ib")
	emptyPlan(t, w.ws, reboot)
	w.Run(labs.Intel9, "mstconfig -y -d "+w.PCI(labs.Intel9)+" set LINK_TYPE_P1=2")
	if said := mustPlan(t, w.ws, reboot).Diags; len(said.Errors().Find("LT008")) != 1 {
		t.Errorf("another type is stored:\n%s", said)
	}
	w.Run(labs.Intel9, "mstconfig -y -d "+w.PCI(labs.Intel9)+" set LINK_TYPE_P1=1")
	emptyPlan(t, w.ws, reboot)
	w.Run(labs.Intel9, "mv $(command -v mstconfig) /root/away")
	if said := emptyPlan(t, w.ws, reboot).Diags.Warnings(); len(said.Find(
		"its stored link types could not be read")) == 0 {
		t.Errorf("nothing is said of a tool that is not there:\n%s", said)
	}
	if said := mustPlan(t, w.ws, w.link("eth", "reboot")).Diags; len(said.Errors().Find("LT013")) != 1 {
		t.Errorf("another type, without tool and driver:\n%s", said)
	}
}
