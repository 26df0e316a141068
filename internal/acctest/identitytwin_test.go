package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// sameNumber is a card with the vital product data of the one that a host has, and with MACs,
// GUIDs and firmware of its own.
func sameNumber(t *testing.T, w *Lab, host string) *labsim.Spare {
	t.Helper()
	serial := w.Card(host).Config.SerialNumber
	return twin(t, w, host, func(c *labsim.CardConfig) { c.SerialNumber, c.Image = serial, card.OldVPI() })
}

const sameNumberGUID = "0xe41d2d0300e49000"

// A card with the serial number of the recorded one, but other MACs and GUIDs, is another
// card: before the plan and after it, whether card_id names the card or its place. The way out
// that the finding names leads to it.
func TestIdentity_same_serial_number(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	for name, byPlace := range map[string]bool{"by reference": false, "by place": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: vpi()[:1]})
			w.needSimulated("cards that change slots")
			place := host + "/" + w.PCI(host)
			var id any = To("infiniband_card.it", "id")
			if byPlace {
				id = place
			}
			ws := w.Workspace()
			adopted := adoption(host, w.PCI(host))
			now, changed := writers(w, host, id)
			mustApply(t, ws, append(adopted, oneByOne(now)...))
			emptyPlan(t, ws, append(adopted, now...))
			plan := cleanPlan(t, ws, append(adopted, changed...))
			if _, err := w.Machine(host).Exchange(w.PCI(host), sameNumber(t, w, host)); err != nil {
				t.Fatal(err)
			}
			operations := w.Card(host).Flash.Operations()
			said, err := ws.Apply(context.Background(), plan)
			if err != nil {
				t.Fatal(err)
			}
			refusedAll(t, "saved plan", said, "FW080", "as recorded, but it has", sameNumberGUID)
			for range 2 { // a refresh records nothing of it
				again := mustPlan(t, ws, append(adopted, changed...))
				if byPlace {
					refusedAll(t, "next plan", again.Diags, "FW080", "guid-e41d2d0300e49000")
				}
				if len(again.Diags.Errors().Find("Refusing to adopt card", "FW080", `node_guid = "`+sameNumberGUID)) != 1 {
					t.Errorf("the next plan:\n%s", again.Diags.Errors())
				}
			}
			ws.State["infiniband_card.it"].Tainted = true
			if again := mustPlan(t, ws, append(adopted, changed...)); len(again.Diags.Errors().Find("Refusing to adopt card",
				"FW080")) != 1 {
				t.Errorf("tainted:\n%s", again.Diags.Errors())
			}
			if w.Card(host).Flash.Operations() != operations {
				t.Error("the other card was written to")
			}
			named := place + "/guid-e41d2d0300e49000"
			if byPlace {
				now, _ = writers(w, host, named)
			}
			for _, tainted := range []bool{true, false} {
				ws.State["infiniband_card.it"].Tainted = tainted
				accepted := cleanPlan(t, ws, append(adopted.With("infiniband_card.it",
					map[string]any{"expect": map[string]any{"node_guid": sameNumberGUID}}), now...))
				if got := accepted.Get("infiniband_card.it", "id"); got != named {
					t.Errorf("accepted as %v", got)
				}
				for _, address := range writing {
					if accepted.Actions()[address] != Replace {
						t.Errorf("%s of the other card: %q", address, accepted.Actions()[address])
					}
				}
			}
		})
	}
}

// A card whose serial number cannot be read is another one by its MACs and GUIDs, and the way out of
// the finding asks for what it has.
func TestIdentity_exchanged_for_one_without_serial_number(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	ws, adopted := w.Workspace(), adoption(host, w.PCI(host))
	mustApply(t, ws, adopted)
	other := twin(t, w, host, func(c *labsim.CardConfig) { c.SerialNumber, c.Image = "", card.OldVPI() })
	if _, err := w.Machine(host).Exchange(w.PCI(host), other); err != nil {
		t.Fatal(err)
	}
	refused := mustPlan(t, ws, adopted).Diags.Errors()
	if len(refused.Find("FW080", "Its serial number cannot be read.", `expect = { node_guid = "`+sameNumberGUID)) != 1 ||
		len(refused.Find("expect = { serial_number")) != 0 {
		t.Errorf("the way out:\n%s", refused)
	}
	mustApply(t, ws, adopted.With("infiniband_card.it",
		map[string]any{"expect": map[string]any{"node_guid": sameNumberGUID}}))
	emptyPlan(t, ws, adopted.With("infiniband_card.it", map[string]any{"expect": map[string]any{"node_guid": sameNumberGUID}}))
}

// What is new in a plan is not made on a card of the same serial number that comes after it.
func TestIdentity_same_serial_number_after_the_first_plan(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	ws := w.Workspace()
	_, changed := writers(w, host, To("infiniband_card.it", "id"))
	mustApply(t, ws, adoption(host, w.PCI(host)))
	plan := cleanPlan(t, ws, append(adoption(host, w.PCI(host)), changed...))
	if _, err := w.Machine(host).Exchange(w.PCI(host), sameNumber(t, w, host)); err != nil {
		t.Fatal(err)
	}
	operations := w.Card(host).Flash.Operations()
	said, err := ws.Apply(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range writing {
		if ws.State[address] != nil || !strings.Contains(said.Errors().String(), address) {
			t.Errorf("%s was made:\n%s", address, said.Errors())
		}
	}
	if w.Card(host).Flash.Operations() != operations {
		t.Error("the other card was written to")
	}
}

// What this provider has written makes a card no other one: not in the same apply, not later,
// and not when the host has lost its journal.
func TestIdentity_own_addresses(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	ws, adopted := w.Workspace(), adoption(host, w.PCI(host))
	was := baseMACs[host]
	config := func(mac string) Config {
		now, _ := writers(w, host, To("infiniband_card.it", "id"))
		return append(adopted, oneByOne(now.With("infiniband_guids.it",
			map[string]any{"base_mac": mac, "allow": map[string]any{"guid_change": replacing(was, mac)}}))...)
	}
	for _, mac := range []string{"e4:1d:2d:e4:4f:00", "e4:1d:2d:e4:5f:00", "e4:1d:2d:e4:6f:00"} {
		mustApply(t, ws, config(mac))
		w.Restart(host)
		emptyPlan(t, ws, config(mac))
		w.Run(host, "rm -rf "+inventory.StateDir+"/jobs")
		emptyPlan(t, ws, config(mac))
		was = mac
	}
	if who := fmt.Sprint(ws.Get("infiniband_firmware.it", "card_identity")); !strings.Contains(who, "MAC e4:1d:2d:e4:6f:00") {
		t.Errorf("recorded is %s", who)
	}
	// Set by hand it is a stranger until somebody says otherwise; a restart before that hides it.
	w.Run(host, "mstflint -y -d "+w.PCI(host)+" -guid 0xe41d2d0300e47000 -mac e41d2de47000 sg")
	w.Restart(host)
	said := mustPlan(t, ws, config("e4:1d:2d:e4:6f:00")).Diags.Errors()
	if len(said.Find("FW080", "Somebody has set the MACs and GUIDs of the card", "0xe41d2d0300e47000")) != 1 {
		t.Errorf("set by hand:\n%s", said)
	}
}

// Two cards of a host with one serial number are told apart by MACs and GUIDs, and the plan
// says that it has only these.
func TestIdentity_one_serial_number_for_two(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi(anotherCard, func(h *labs.Host) {
		h.Cards[1].SerialNumber = h.Cards[0].SerialNumber
	})[:1]})
	w.needSimulated("cards that change slots")
	ws := w.Workspace()
	cfg := adoption(host, w.PCI(host))
	_, changed := writers(w, host, To("infiniband_card.it", "id"))
	changed = changed.Without("infiniband_link_type.it")
	changed[len(changed)-1].After = nil
	plan := cleanPlan(t, ws, append(cfg, changed...))
	if len(plan.Diags.Warnings().Find("FW083", "card 0000:02:00.0 has the same one")) != 1 {
		t.Errorf("nothing is said of the number:\n%s", plan.Diags)
	}
	mustApply(t, ws, append(cfg, changed...))
	emptyPlan(t, ws, append(cfg, changed...))
	m := w.Machine(host)
	if err := w.MoveCard(m, w.PCI(host), m, "0000:09:00.0"); err != nil {
		t.Fatal(err)
	}
	if err := w.MoveCard(m, "0000:02:00.0", m, "0000:01:00.0"); err != nil {
		t.Fatal(err)
	}
	said := mustPlan(t, ws, append(cfg, changed...)).Diags.Errors()
	if len(said.Find("FW082", "now at 0000:09:00.0")) != 1 {
		t.Errorf("the cards have changed their places:\n%s", said)
	}
}

// The first apply has recorded the MACs of a card that has no GUIDs yet, although nothing was refreshed
// since: a card with its serial number and others is another one for the next plan.
func TestIdentity_same_serial_number_after_the_first_apply(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{})
	w.needSimulated("cards that change slots")
	ws := w.Workspace()
	mustApply(t, ws, adoption(host, w.PCI(host)))
	other := sameNumber(t, w, host)
	if _, err := w.Machine(host).Exchange(w.PCI(host), other); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again := mustPlan(t, ws, adoption(host, w.PCI(host)))
		if len(again.Diags.Errors().Find("FW080", "as recorded, but it has")) != 1 {
			t.Errorf("the next plan:\n%s", again.Diags)
		}
	}
}
