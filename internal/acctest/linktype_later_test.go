package acctest

import (
	"fmt"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// laterCard is a host with a ConnectX-4, and the resources that use its port.
type laterCard struct {
	*Lab
	t  *testing.T
	ws *Workspace
}

func startLaterCard(t *testing.T) *laterCard {
	t.Helper()
	w := &laterCard{Lab: Start(t, Options{Hosts: []labs.Host{labs.ConnectX4(labs.Intel9, "192.0.2.20", 0)}}), t: t}
	drivers5(w.Lab)
	w.Run(labs.Intel9, "modprobe ib_ipoib")
	w.ws = w.Workspace()
	return w
}

// uses are an interface and a subnet manager on a port, after other resources.
func (w *laterCard) uses(guid any, after ...string) Config {
	on := append(ipoib(labs.Intel9, map[string]any{"port_guid": guid, "mode": "datagram"}),
		sm(labs.Intel9, map[string]any{"port_guid": guid})...)
	for i := range on {
		on[i].After = after
	}
	return on
}

func (w *laterCard) card() Config {
	return Config{{Type: "infiniband_card", Name: "it",
		Attrs: map[string]any{"host": labs.Intel9, "pci_address": w.PCI(labs.Intel9)}}}
}

func (w *laterCard) link(link, activation string) Config {
	return Config{{Type: "infiniband_link_type", Name: "it", Attrs: map[string]any{
		"card_id": labs.Intel9 + "/" + w.PCI(labs.Intel9), "ports": map[string]any{"1": link}, "activation": activation,
	}}}
}

// byHand makes the port Ethernet as somebody with mstconfig does.
func (w *laterCard) byHand() {
	w.t.Helper()
	w.Run(labs.Intel9, "mstconfig -y -d 0000:01:00.0 set LINK_TYPE_P1=2")
	w.Reboot(labs.Intel9)
}

// An Ethernet port shows no GUID. The reference to it gives that of the flash, so that the plan
// says what is wrong and takes the port back. Where no flash is read, the plan says that.
func TestLinkType_referenceToEthernetPort(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	guid := To("infiniband_card.it", "port_guids", "1")
	cfg := append(w.card(), w.uses(guid)...)
	mustApply(t, w.ws, cfg)
	emptyPlan(t, w.ws, cfg)
	w.byHand()
	plan := mustPlan(t, w.ws, cfg)
	if len(plan.Diags.Errors().Find("PF007", "has link layer Ethernet", "remove this resource")) != 2 {
		t.Errorf("no PF007:\n%s", plan.Diags)
	}
	w.Run(labs.Intel9, "mv $(command -v mstflint) /root/mstflint.away")
	plan = mustPlan(t, w.ws, cfg)
	if got := plan.Diags.Errors().Find("port_guid is null", "says why in flash_error", "remove this resource"); len(got) != 2 ||
		len(plan.Diags.Find("provider developers")) != 0 {
		t.Errorf("a port GUID that is null:\n%s", plan.Diags)
	}
	w.Run(labs.Intel9, "mv /root/mstflint.away /usr/bin/mstflint")
	back := append(append(w.card(), w.link("ib", "reboot")...), w.uses(guid, "infiniband_link_type.it")...)
	mustApply(t, w.ws, back)
	emptyPlan(t, w.ws, back)
}

// The flash keeps the GUID of the first function. A function of another number has another.
func TestCard_flashOfAnotherFunction(t *testing.T) {
	t.Parallel()
	host := labs.ConnectX4(labs.Intel9, "192.0.2.20", 0)
	host.Cards[0].BDF = "0000:01:00.1"
	w := Start(t, Options{Hosts: []labs.Host{host}})
	ws := w.Workspace()
	mustApply(t, ws, Config{{Type: "infiniband_card", Name: "it",
		Attrs: map[string]any{"host": labs.Intel9, "pci_address": "0000:01:00.1"}}})
	shown, _, err := ws.Data(t.Context(), "infiniband_cards", nil)
	if got := At(shown, "cards", labs.Intel9+"/0000:01:00.1", "flash_port_guids", "1"); err != nil || got != nil {
		t.Errorf("the flash is said to have %v: %v", got, err)
	}
}

// A ConnectX-4 takes another type with a restart. Without one the plan refuses what needs the
// port before it, and so does each plan until the host is restarted.
func TestLinkType_usedBeforeRestart(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	w.byHand()
	guid, after := fmt.Sprintf("%#x", w.hostSpec(labs.Intel9).Cards[0].GUIDs[0]), "infiniband_link_type.it"
	uses := append(w.uses(guid, after), Resource{Type: "infiniband_port", Name: "it", After: []string{after},
		Attrs: map[string]any{"card_id": labs.Intel9 + "/" + w.PCI(labs.Intel9), "port": 1}})
	refused := func(when string) {
		t.Helper()
		plan := mustPlan(t, w.ws, append(w.link("ib", "none"), uses...))
		if len(plan.Diags.Errors().Find("PF007", "becomes InfiniBand with the next restart", "Restart the host",
			`activation = "reboot"`)) != 3 {
			t.Errorf("%s: no PF007:\n%s", when, plan.Diags)
		}
	}
	refused("before the types are stored")
	mustApply(t, w.ws, w.link("ib", "none"))
	refused("after the types were stored")
	cfg := append(w.link("ib", "reboot"), uses...)
	mustApply(t, w.ws, cfg)
	emptyPlan(t, w.ws, cfg)
}

// Without mlx5_ib nothing shows the type of an InfiniBand port. What is right stays so, a type is
// stored, and no restart is planned whose outcome nobody could see.
func TestLinkType_notShown(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	mustApply(t, w.ws, w.link("ib", "none"))
	boots := w.Machine(labs.Intel9).Boots()
	w.Run(labs.Intel9, "modprobe -r ib_ipoib; modprobe -r mlx5_ib")
	plan := emptyPlan(t, w.ws, w.link("ib", "none"))
	if len(plan.Diags.Warnings().Find("its ports show no link types", "Port 1", "effective")) == 0 {
		t.Errorf("nothing is said of a port that is not shown: %s", plan.Diags)
	}
	if got := w.ws.Get("infiniband_link_type.it", "effective", "1"); got != "ib" {
		t.Errorf("the state forgot the type: %v", got)
	}
	for _, link := range []string{"ib", "eth"} {
		if said := mustPlan(t, w.ws, w.link(link, "reboot")).Diags; len(said.Errors().Find("LT008", "Port 1", "mlx5_ib")) != 1 ||
			len(said.Find("The apply restarts")) != 0 {
			t.Errorf("%s, with a restart: %s", link, said)
		}
	}
	mustApply(t, w.ws, w.link("eth", "none"))
	emptyPlan(t, w.ws, w.link("eth", "none"))
	if w.Machine(labs.Intel9).Boots() != boots {
		t.Error("the host was restarted")
	}
	w.Run(labs.Intel9, "modprobe mlx5_ib")
	mustApply(t, w.ws, w.link("eth", "reboot"))
	w.Run(labs.Intel9, "modprobe -r mlx5_ib") // the interface shows Ethernet
	if said := emptyPlan(t, w.ws, w.link("eth", "reboot")).Diags; len(said.Find("show no link types")) != 0 {
		t.Errorf("an interface shows the type: %s", said)
	}
}

// Somebody stores another type after the apply has stored its own: the card cannot run what is not
// there, and to switch the machine off does not help. The next apply stores it again, and restarts.
func TestLinkType_otherTypeStoredSince(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	mustApply(t, w.ws, w.link("ib", "none"))
	host := w.ws.Provider["hosts"].(map[string]any)[labs.Intel9].(map[string]any)
	reboot := host["reboot"]
	host["reboot"] = map[string]any{"allowed": true,
		"drain_commands": []any{"mstconfig -y -d " + w.PCI(labs.Intel9) + " set LINK_TYPE_P1=1"}}
	said, err := w.ws.Apply(t.Context(), cleanPlan(t, w.ws, w.link("eth", "reboot")))
	if err != nil || len(said.Errors().Find("were stored; the card holds other ones now",
		"has stored port 1 ib now, and not port 1 eth", "Find out who else sets the types")) != 1 {
		t.Errorf("%v, %s", err, said)
	}
	host["reboot"] = reboot
	boots := w.Machine(labs.Intel9).Boots()
	mustApply(t, w.ws, w.link("eth", "reboot"))
	emptyPlan(t, w.ws, w.link("eth", "reboot"))
	if got := w.Machine(labs.Intel9).Boots(); got != boots+1 {
		t.Errorf("the host restarted %d times", got-boots)
	}
}
