package acctest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const itsFirmware = "infiniband_firmware.it"

// Without an image a resource holds what its card has and writes nothing: when it is
// made, when somebody else burns the card, and when it is destroyed. An image that is
// given later is burned with all that a burn asks for; one that is taken away changes
// nothing on the card.
func TestHeld_firmware_without_an_image(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	burned := func() int { n, _ := burns(w, host); return n }
	ws := w.Workspace()
	with := func(extra map[string]any) Config {
		return w.burn(host, w.Image(ImageVPI), extra).With(itsFirmware,
			map[string]any{"activation": nil, "on_destroy": "restore"})
	}
	without := with(map[string]any{"image_id": nil})[1:]

	// A host in observe mode is as good: nothing is written.
	eye := w.Workspace()
	eye.Provider["mode"] = "observe"
	before := w.Print(host)
	plan := cleanPlan(t, eye, without)
	if names := unknownIn(plan, itsFirmware); len(names) > 0 || plan.Get(itsFirmware, "flash_psid") != card.PSIDEN {
		t.Errorf("the plan does not show what it adopts, nor %q:\n%s", names, plan.Diags)
	}
	applyStep(t, eye, plan, "")
	ws.State = eye.State
	for key, want := range map[string]any{
		"flash_psid": card.PSIDEN, "flash_version": "2.40.5032", "running_psid": card.PSIDEN, "reboot_required": false,
		"image_id": nil, "image_sha256": nil, "image_psid": nil, "image_version": nil, "change": nil,
		"original_backup_path": nil,
	} {
		if got := ws.Get(itsFirmware, key); got != want {
			t.Errorf("%s is %v, expected %v", key, got, want)
		}
	}
	emptyPlan(t, ws, without)
	emptyPlan(t, ws, without.With(itsFirmware,
		map[string]any{"card_id": host + "/" + w.PCI(host) + "/" + w.Card(host).Config.SerialNumber}))

	refused := mustPlan(t, ws, with(Allow("psid_change", nil)))
	if len(refused.Diags.Errors().Find("FW023", "psid_change")) == 0 {
		t.Errorf("an image that is given later needs no consent:\n%s", refused.Diags)
	}
	if after := w.Print(host); after != before || burned() != 0 {
		t.Errorf("the host was changed, with %d burns:\n%s\nbefore:\n%s", burned(), after, before)
	}

	w.write(host, card.OldVPI())
	plan = cleanPlan(t, ws, without)
	if len(plan.Diags.Warnings().Find("is another one: "+card.PSIDEN+" 2.40.5032 -> "+card.PSIDVPI+" 2.36.5000")) != 1 ||
		len(plan.Actions()) != 0 {
		t.Errorf("another firmware is planned as %v:\n%s", plan.Actions(), plan.Diags)
	}
	if got := ws.Get(itsFirmware, "flash_version"); got != "2.36.5000" {
		t.Errorf("the state has version %v", got)
	}

	w.Restart(host)
	mustApply(t, ws, with(nil))
	backup := ws.Get(itsFirmware, "original_backup_path")
	if got := w.Flash(host).Version; got != [3]uint16{2, 42, 5000} || backup == nil || burned() != 1 {
		t.Errorf("after %d burns the flash holds %v; the backup is %v", burned(), got, backup)
	}
	emptyPlan(t, ws, with(nil))

	before = w.Print(host)
	if got := cleanPlan(t, ws, without).Actions()[itsFirmware]; got != Update {
		t.Errorf("an image that is not asked for any more is %q", got)
	}
	mustApply(t, ws, without)
	emptyPlan(t, ws, without)
	for key, want := range map[string]any{"image_id": nil, "image_psid": nil, "flash_version": "2.42.5000",
		"original_backup_path": backup} {
		if got := ws.Get(itsFirmware, key); got != want {
			t.Errorf("%s is %v, expected %v", key, got, want)
		}
	}
	said := mustApply(t, ws, nil)
	if len(said.Warnings().Find("Left as it is: firmware of card", "had no image_id", backup.(string))) != 1 {
		t.Errorf("the destroy does not say that it restores nothing:\n%s", said)
	}
	if after := w.Print(host); after != before {
		t.Errorf("the host was changed:\n%s\nbefore:\n%s", after, before)
	}
}

// A configuration without an image may say what is in flash. Other firmware is then a change in the plan, from what is
// there to what is said, and no apply makes it.
func TestHeld_what_is_said_of_the_flash(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	ws := w.Workspace()
	says := func(psid, version string) Config {
		return Config{{Type: "infiniband_firmware", Name: "it", Attrs: map[string]any{
			"card_id": host + "/" + w.PCI(host), "flash_psid": psid, "flash_version": version,
		}}}
	}
	held := says(card.PSIDEN, "2.40.5032")
	if refused := mustPlan(t, ws, says(card.PSIDEN, "2.42.5000")).Diags.Errors(); len(refused.Find(
		"Refusing to hold firmware of card "+host, "FW090", "The flash holds "+card.PSIDEN+" 2.40.5032.")) != 1 {
		t.Errorf("a new resource that says something else:\n%s", refused)
	}
	mustApply(t, ws, held)
	emptyPlan(t, ws, held)

	w.write(host, card.OldVPI())
	before := w.Print(host)
	plan := cleanPlan(t, ws, held)
	if got := plan.Actions()[itsFirmware]; got != Update ||
		plan.Get(itsFirmware, "change") != card.PSIDVPI+" 2.36.5000 -> "+card.PSIDEN+" 2.40.5032" ||
		plan.Get(itsFirmware, "flash_psid") != card.PSIDEN || len(plan.Diags.Warnings().Find("FW090")) != 1 {
		t.Errorf("other firmware is %q:\n%s", got, plan.Diags)
	}
	if names := unknownIn(plan, itsFirmware); len(names) > 0 {
		t.Errorf("not known are %q", names)
	}
	applyStep(t, ws, plan, "FW090")
	if got := ws.Get(itsFirmware, "flash_version"); got != "2.36.5000" || w.Print(host) != before {
		t.Errorf("after a refused apply the state has %v", got)
	}
	if got := cleanPlan(t, ws, held).Actions()[itsFirmware]; got != Update {
		t.Errorf("after a refused apply it is %q", got)
	}
	emptyPlan(t, ws, says(card.PSIDVPI, "2.36.5000"))

	// Somebody burns it back between plan and apply: then the flash is as the plan says.
	plan = cleanPlan(t, ws, held)
	w.write(host, card.EN())
	applyStep(t, ws, plan, "")
	emptyPlan(t, ws, held)

	both := w.burn(host, w.Image(ImageVPI), map[string]any{"flash_version": "2.40.5032"})
	if refused := mustPlan(t, w.Workspace(), both).Diags.Errors(); len(refused.Find("the image is of other firmware")) != 1 {
		t.Errorf("an image of another version than is said:\n%s", refused)
	}
	if n, _ := burns(w, host); n != 0 {
		t.Errorf("%d burns", n)
	}
}

// An image that is known at apply only is postponed; that there is none turns out
// then, for a new resource and for one that had an image. A flash that cannot be read
// is no firmware to hold.
func TestHeld_an_image_that_is_not_known_yet(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := portHost(t)
	// The rate of a port is not known before it is set. One that is switched off has none.
	late := Config{w.port(map[string]any{"enabled": false})[0], w.burn(host, "", nil).With(itsFirmware,
		map[string]any{"image_id": To("infiniband_port.it", "rate")})[1]}
	for name, first := range map[string]Config{"new": nil, "had an image": w.burn(host, w.Image(ImageVPI), nil)} {
		ws := w.Workspace()
		mustApply(t, ws, first)
		plan := cleanPlan(t, ws, late)
		if len(plan.Diags.Warnings().Find("Checked at apply", "firmware of card")) != 1 {
			t.Errorf("%s: the plan does not say that the image is not known yet:\n%s", name, plan.Diags)
		}
		applyStep(t, ws, plan, "")
		if got := ws.Get(itsFirmware, "image_id"); got != nil || ws.Get(itsFirmware, "flash_psid") != card.PSIDVPI {
			t.Errorf("%s: the state has image %v and PSID %v", name, got, ws.Get(itsFirmware, "flash_psid"))
		}
		emptyPlan(t, ws, late)
		// The image that is in flash already is recorded, and not burned.
		given := w.burn(host, w.Image(ImageVPI), nil)
		mustApply(t, ws, given)
		if got := ws.Get(itsFirmware, "image_id"); got == nil || got != ws.Get("infiniband_firmware_image.it", "id") {
			t.Errorf("%s: the state has image %v", name, got)
		}
		emptyPlan(t, ws, given)
	}
	if n, _ := burns(w, host); n != 0 {
		t.Errorf("%d burns", n)
	}
	w.Machine(host).FS.Drop("/usr/bin/mstflint")
	refused := mustPlan(t, w.Workspace(), Config{late[1].With(map[string]any{"image_id": nil})})
	if len(refused.Diags.Errors().Find("Unable to adopt firmware of card "+host, "its flash could not be read",
		"Reason: ")) != 1 {
		t.Errorf("a flash that cannot be read is adopted:\n%s", refused.Diags)
	}
}

// A resource without an image follows its card to another slot, and holds no other
// card for it.
func TestHeld_firmware_of_a_card_that_moves(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	ws := w.Workspace()
	at := func(pci string) Config {
		return Config{
			{Type: "infiniband_card", Name: "it", Attrs: map[string]any{"host": host, "pci_address": pci}},
			{Type: "infiniband_firmware", Name: "it", Attrs: map[string]any{"card_id": To("infiniband_card.it", "id")}},
		}
	}
	first := w.PCI(host)
	mustApply(t, ws, at(first))
	m, device := w.Machine(host), w.Card(host).Card
	if err := m.Rebuild(func() error { return m.Renumber(1) }); err != nil {
		t.Fatal(err)
	}
	operations := device.Flash.Operations()
	if err := m.Rebuild(func() error { return m.PutIn(twin(t, w, host), first) }); err != nil {
		t.Fatal(err)
	}
	other := w.Workspace()
	other.State = map[string]*Object{itsFirmware: ws.State[itsFirmware]}
	byPlace := Config{at(first)[1].With(map[string]any{"card_id": ws.Get("infiniband_card.it", "id")})}
	if said := cleanPlan(t, other, byPlace).Diags.Warnings(); len(said.Find("FW082", "now at 0000:02:00.0")) != 1 {
		t.Errorf("the other card in the slot is not told of:\n%s", said)
	}
	mustApply(t, ws, at("0000:02:00.0"))
	follows(t, ws, at("0000:02:00.0"))
	if named := ws.Identity(itsFirmware)["pci_address"]; named != "0000:02:00.0" ||
		ws.Get(itsFirmware, "id") != host+"/0000:02:00.0" {
		t.Errorf("the identity names %v, the id is %v", named, ws.Get(itsFirmware, "id"))
	}
	if now := device.Flash.Operations(); now != operations {
		t.Errorf("following the card used its flash %d times", now-operations)
	}
}

// The engine writes a configuration for a card that nobody has burned by this
// provider, and its plan imports and changes nothing.
func TestBinary_configuration_of_imported_firmware(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	o := newOperator(t, w, nil, buildProvider(t))
	o.write("main.tf", Required+HCL(w.Provider(),
		nil)+"import {\n  to = "+itsFirmware+"\n  id = \""+host+"/"+w.PCI(host)+"\"\n}\n")
	if text := o.says(0, "plan", "-generate-config-out=generated.tf"); !strings.Contains(text,
		"1 to import, 0 to add, 0 to change, 0 to destroy") {
		t.Errorf("the plan of the import:\n%s", text)
	}
	generated, err := os.ReadFile(filepath.Join(o.dir, "generated.tf"))
	if err != nil || strings.Contains(string(generated), `image_id = "`) {
		t.Errorf("%v:\n%s", err, generated)
	}
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
	if n, _ := burns(w, host); n != 0 {
		t.Errorf("%d burns", n)
	}
}
