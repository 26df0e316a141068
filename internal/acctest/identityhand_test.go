package acctest

import (
	"slices"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// An id that is written by hand names a place. A card that moved is followed there,
// with what was recorded of it, and another card is taken by its serial number only.
func TestIdentity_handWrittenIds(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	ws := w.Workspace()
	hand := func(id string) Config {
		now, _ := writers(w, host, id)
		return now
	}
	place := host + "/" + w.PCI(host)
	mustApply(t, ws, hand(place))
	operations := w.Card(host).Flash.Operations()

	if err := w.MoveCard(w.Machine(host), w.PCI(host), w.Machine(host), "0000:09:00.0"); err != nil {
		t.Fatal(err)
	}
	moved := host + "/0000:09:00.0"
	plan := mustPlan(t, ws, hand(moved))
	if plan.Diags.HasError() {
		t.Fatal(plan.Diags)
	}
	for address, action := range plan.Actions() {
		if action != Update {
			t.Errorf("%s of the card that moved: %s", address, action)
		}
	}
	mustApply(t, ws, hand(moved))
	emptyPlan(t, ws, hand(moved))

	old, err := w.Machine(host).Exchange("0000:09:00.0", twin(t, w, host))
	if err != nil {
		t.Fatal(err)
	}
	plan = mustPlan(t, ws, hand(moved))
	if len(plan.Diags.Errors().Find("FW080")) == 0 ||
		len(plan.Diags.Errors().Find("write host/pci_address/serial_number of the new card there")) == 0 {
		t.Errorf("another card in the slot:\n%s", plan.Diags)
	}
	plan = mustPlan(t, ws, hand(moved+"/"+twinSerial))
	if len(plan.Diags.Errors().Find("FW080")) > 0 {
		t.Errorf("the new card is named:\n%s", plan.Diags.Errors())
	}
	for _, address := range writing {
		if plan.Actions()[address] != Replace {
			t.Errorf("%s of another card: %q", address, plan.Actions()[address])
		}
	}
	if old.Card.Flash.Operations() != operations {
		t.Error("a card was written to")
	}
}

// Another card with other firmware is in the slot, and the consent to a cross-flash is still
// in the configuration. What is made anew is not written to it either: not after a taint, and
// not where a resource gets another name.
func TestIdentity_handWrittenIds_madeAnew(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	ws, place := w.Workspace(), host+"/"+w.PCI(host)
	now, _ := writers(w, host, place)
	now = now.With("infiniband_firmware.it", Allow("psid_change", Consent()))
	mustApply(t, ws, now)
	config := labs.Twin(w.hostSpec(host).Cards[0], 900)
	config.Image = card.EN()
	bought, err := labsim.NewSpare(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = w.Machine(host).Exchange(w.PCI(host), bought); err != nil {
		t.Fatal(err)
	}
	operations := w.Card(host).Flash.Operations()
	for _, when := range []string{"as before", "tainted"} {
		plan := mustPlan(t, ws, now)
		for _, address := range writing[:3] {
			said := slices.DeleteFunc(plan.Diags.Errors(), func(d Diag) bool { return d.Address != address })
			if len(said.Find("FW080", twinSerial)) == 0 || len(said.Find("HO019")) > 0 {
				t.Errorf("%s, %s:\n%s", when, address, said)
			}
		}
		for _, address := range writing {
			ws.State[address].Tainted = true
		}
	}
	if w.Card(host).Flash.Operations() != operations {
		t.Error("the new card was written to")
	}
}
