package acctest

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// twin is another card of the kind that a host has, delivered with VPI firmware.
func twin(t *testing.T, w *Lab, host string, changes ...func(*labsim.CardConfig)) *labsim.Spare {
	t.Helper()
	config := labs.Twin(w.hostSpec(host).Cards[0], 900)
	config.GUIDs = [4]uint64{0xe41d2d0300e49000, 0xe41d2d0300e49001, 0xe41d2d0300e49002, 0xe41d2d0300e49003}
	for _, change := range changes {
		change(&config)
	}
	spare, err := labsim.NewSpare(config)
	if err != nil {
		t.Fatal(err)
	}
	return spare
}

const twinSerial = "MT1234X00900"

// exchange puts the twin of a host's card into its place.
func exchange(t *testing.T, w *Lab, host string) (old *labsim.Spare) {
	t.Helper()
	old, err := w.Machine(host).Exchange(w.PCI(host), twin(t, w, host))
	if err != nil {
		t.Fatal(err)
	}
	return old
}

// writers is everything that writes to a card: what it has now, and changes of all.
// id is the card_id.
func writers(w *Lab, host string, id any) (now, changed Config) {
	now = Config{
		{Type: "infiniband_firmware_image", Name: "now", Attrs: map[string]any{"host": host, "source": w.Image(ImageVPI)}},
		{Type: "infiniband_firmware_image", Name: "old", Attrs: map[string]any{"host": host, "source": w.Image(ImageOldVPI)}},
		{Type: "infiniband_firmware", Name: "it",
			Attrs: map[string]any{"card_id": id, "image_id": To("infiniband_firmware_image.now", "id"),
				"on_destroy": "restore"}},
		{Type: "infiniband_guids", Name: "it", Attrs: map[string]any{"card_id": id, "base_mac": baseMACs[host],
			"allow": map[string]any{"guid_change": fromTwin(baseMACs[host])}}},
		{Type: "infiniband_link_type", Name: "it",
			Attrs: map[string]any{"card_id": id, "ports": map[string]any{"1": "ib", "2": "ib"}}},
		{Type: "infiniband_firmware_backup", Name: "it", Attrs: map[string]any{"card_id": id}},
	}
	changed = now.
		With("infiniband_firmware.it", map[string]any{
			"image_id": To("infiniband_firmware_image.old", "id"), "allow": map[string]any{"downgrade": map[string]any{"from": "2.42.5000",
				"to": "2.36.5000"}},
		}).
		With("infiniband_guids.it", map[string]any{"base_mac": "e4:1d:2d:e4:4f:00",
			"allow": map[string]any{"guid_change": both(replacing(baseMACs[host], "e4:1d:2d:e4:4f:00"), fromTwin("e4:1d:2d:e4:4f:00"))}}).
		With("infiniband_link_type.it", map[string]any{"ports": map[string]any{"1": "eth", "2": "eth"}}).
		With("infiniband_firmware_backup.it", map[string]any{"triggers": map[string]any{"again": "1"}})
	return now, changed
}

var writing = []string{"infiniband_firmware.it", "infiniband_guids.it", "infiniband_link_type.it",
	"infiniband_firmware_backup.it"}

// oneByOne has the writers follow each other: what one reads of the card may not be
// read beside the write of another.
func oneByOne(cfg Config) Config {
	for i, r := range cfg {
		if at := slices.Index(writing, r.Address()); at > 0 {
			cfg[i].After = writing[at-1 : at]
		}
	}
	return cfg
}

// refusedAll checks that each writer was refused in our own words.
func refusedAll(t *testing.T, when string, diags Diags, says ...string) {
	t.Helper()
	if found := diags.Find("inconsistent"); len(found) > 0 {
		t.Errorf("%s: core blames the provider:\n%s", when, found)
	}
	for _, address := range writing {
		var text string
		for _, d := range diags.Errors() {
			if d.Address == address {
				text += d.Summary + "\n" + d.Detail + "\n"
			}
		}
		for _, part := range says {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %s does not say %q:\n%s", when, address, part, text)
			}
		}
	}
}

// Between plan and apply the card is exchanged. Nothing of the plan is done to the
// other one, whether card_id names the card or its place; and a new plan says what
// happened, until the configuration accepts the new card.
func TestIdentity_exchanged(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	for name, id := range map[string]any{"by reference": To("infiniband_card.it", "id"), "by place": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: vpi()[:1]})
			w.needSimulated("cards that change slots")
			if id == nil {
				id = host + "/" + w.PCI(host)
			}
			serial := w.Card(host).Config.SerialNumber
			ws := w.Workspace()
			adopted := Config{{Type: "infiniband_card", Name: "it",
				Attrs: map[string]any{"host": host, "pci_address": w.PCI(host),
					"expect": map[string]any{"chip": "ConnectX-3 Pro"}}}}
			now, changed := writers(w, host, id)
			now, changed = append(adopted, now...), append(adopted, changed...)
			mustApply(t, ws, now)
			emptyPlan(t, ws, now)
			if got := ws.Get("infiniband_card.it", "id"); got != host+"/"+w.PCI(host)+"/"+serial {
				t.Errorf("id %v", got)
			}
			plan := cleanPlan(t, ws, changed)
			exchange(t, w, host)
			device := w.Card(host)
			operations, guids := device.Flash.Operations(), device.Running().GUIDs

			said, err := ws.Apply(context.Background(), plan)
			if err != nil {
				t.Fatal(err)
			}
			refusedAll(t, "saved plan", said, "FW080", serial, twinSerial)
			again := mustPlan(t, ws, changed)
			if id != host+"/"+w.PCI(host) {
				if len(again.Diags.Errors().Find("Refusing to adopt card intel9/0000:01:00.0: FW080")) != 1 {
					t.Errorf("the next plan:\n%s", again.Diags.Errors())
				}
			} else {
				refusedAll(t, "next plan", again.Diags, "FW080", serial, twinSerial)
			}
			if got := ws.Get("infiniband_card.it", "serial_number"); got != serial {
				t.Errorf("a refresh has recorded %v", got)
			}
			forgotten := mustPlan(t, ws, nil)
			if len(forgotten.Diags.Errors().Find("FW080")) > 0 {
				t.Errorf("forgetting is refused:\n%s", forgotten.Diags.Errors())
			}
			if device.Flash.Operations() != operations || device.Running().GUIDs != guids {
				t.Error("the other card was written to")
			}
			accepting := adopted.With("infiniband_card.it",
				map[string]any{"expect": map[string]any{"serial_number": twinSerial}})
			accepted := cleanPlan(t, ws, accepting)
			if got := accepted.Get("infiniband_card.it", "id"); accepted.Actions()["infiniband_card.it"] != Update ||
				got != host+"/"+w.PCI(host)+"/"+twinSerial {
				t.Errorf("accepting plans %v of %v", accepted.Actions(), got)
			}
		})
	}
}

// A device in another slot gives the card another address; an empty slot is no
// card that is gone. The way that the message names leads to an empty plan, with
// nothing written and nothing forgotten.
func TestIdentity_moved(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	ws := w.Workspace()
	card := func(pci string) Resource {
		return Resource{Type: "infiniband_card", Name: "it", Attrs: map[string]any{"host": host, "pci_address": pci}}
	}
	now, changed := writers(w, host, To("infiniband_card.it", "id"))
	mustApply(t, ws, append(Config{card(w.PCI(host))}, now...))
	serial, device := w.Card(host).Config.SerialNumber, w.Card(host).Card
	plan := cleanPlan(t, ws, append(Config{card(w.PCI(host))}, changed...))
	m := w.Machine(host)
	renumber(t, w, host)
	operations := device.Flash.Operations()
	said, err := ws.Apply(context.Background(), plan)
	if err != nil {
		t.Fatal(err)
	}
	refusedAll(t, "saved plan", said, "FW082", serial, "now at 0000:02:00.0", `pci_address = "0000:02:00.0"`)
	// Another card comes into the slot that was left.
	if err = m.Rebuild(func() error { return m.PutIn(twin(t, w, host), w.PCI(host)) }); err != nil {
		t.Fatal(err)
	}
	again := mustPlan(t, ws, append(Config{card(w.PCI(host))}, now...))
	if found := again.Diags.Errors().Find("FW082"); len(found) != 1 ||
		!strings.Contains(fmt.Sprint(found), `pci_address = "0000:02:00.0"`) {
		t.Errorf("the next plan:\n%s", again.Diags.Errors())
	}
	if len(ws.State) != len(now)+1 {
		t.Errorf("a refresh has removed what moved: %d objects are left", len(ws.State))
	}
	followed := append(Config{card("0000:02:00.0")}, now...)
	for address, action := range cleanPlan(t, ws, followed).Actions() {
		if action != Update {
			t.Errorf("following the card plans %s of %s", action, address)
		}
	}
	mustApply(t, ws, followed)
	follows(t, ws, followed)
	if now := device.Flash.Operations(); now != operations {
		t.Errorf("following the card used its flash %d times", now-operations)
	}
	if used := w.Machine(host).Card(w.PCI(host)).Flash.Operations(); used > 0 {
		t.Errorf("the card in the old slot was written to %d times", used)
	}
}

// adoption is a configuration that adopts the card at an address.
func adoption(host, pci string) Config {
	return Config{{Type: "infiniband_card", Name: "it", Attrs: map[string]any{"host": host, "pci_address": pci}}}
}

// renumber gives the cards of a host the next bus, as a device in a slot before them does.
func renumber(t *testing.T, w *Lab, host string) {
	t.Helper()
	m := w.Machine(host)
	if err := m.Rebuild(func() error { return m.Renumber(1) }); err != nil {
		t.Fatal(err)
	}
}

// follows holds that the state of every resource of a card names the place where it
// is now, so that no plan asks to follow it any more.
func follows(t *testing.T, ws *Workspace, cfg Config) {
	t.Helper()
	emptyPlan(t, ws, cfg)
	if found := mustPlan(t, ws, cfg).Diags.Find("FW082"); len(found) > 0 {
		t.Errorf("a card that is where the configuration says is to be followed:\n%s", found)
	}
	card := fmt.Sprint(ws.Get("infiniband_card.it", "id"))
	for address := range ws.State {
		if !slices.Contains(writing, address) {
			continue
		}
		if named := fmt.Sprint(ws.Identity(address)["host"], "/",
			ws.Identity(address)["pci_address"]); named != ws.Get(address, "id") {
			t.Errorf("the identity of %s is %v", address, ws.Identity(address))
		}
		if id, place := ws.Get(address, "card_id"), fmt.Sprint(ws.Get(address, "id")); id != card ||
			!strings.HasPrefix(card, place) {
			t.Errorf("%s is of card %v at %s, and the card is %s", address, id, place, card)
		}
	}
}

// After a burn the vital product data may be unreadable. What the journal of the host knows
// of the card goes with it to another slot: nothing is forgotten.
func TestIdentity_moved_without_serial_number(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	ws := w.Workspace()
	_, changed := writers(w, host, To("infiniband_card.it", "id"))
	at := func(pci string) Config { return append(adoption(host, pci), oneByOne(changed)...) }
	mustApply(t, ws, at(w.PCI(host)))
	w.Card(host).Config.PartNumber = "" // lspci shows none from now on
	emptyPlan(t, ws, at(w.PCI(host)))
	device := w.Card(host).Card
	renumber(t, w, host)
	operations, objects := device.Flash.Operations(), len(ws.State)
	again := mustPlan(t, ws, at(w.PCI(host)))
	if found := again.Diags.Errors().Find("FW082"); len(found) != 1 || len(ws.State) != objects {
		t.Errorf("%d of %d objects are left, and the plan says\n%s", len(ws.State), objects, again.Diags)
	}
	followed := at("0000:02:00.0")
	mustApply(t, ws, followed)
	follows(t, ws, followed)
	if now := device.Flash.Operations(); now != operations {
		t.Errorf("following the card used its flash %d times", now-operations)
	}
}

// What was burned is taken back by a destroy also after the card has moved.
func TestIdentity_moved_is_restored(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	ws := w.Workspace()
	_, changed := writers(w, host, To("infiniband_card.it", "id"))
	at := func(pci string) Config { return append(adoption(host, pci), changed[:3]...) }
	device := w.Card(host).Card
	delivered := device.Flash.Operations()
	mustApply(t, ws, at(w.PCI(host)))
	if device.Flash.Operations() == delivered {
		t.Fatal("nothing was burned")
	}
	renumber(t, w, host)
	operations := device.Flash.Operations()
	moved := at("0000:02:00.0")
	mustApply(t, ws, moved)
	follows(t, ws, moved)
	if now := device.Flash.Operations(); now != operations {
		t.Errorf("following the card used its flash %d times", now-operations)
	}
	said := fmt.Sprint(mustApply(t, ws, nil))
	if !strings.Contains(said, "Restored: firmware of card intel9/0000:02:00.0") || !strings.Contains(said, "2.42.5000") {
		t.Errorf("the destroy says:\n%s", said)
	}
}

// A card that shows nothing of what was recorded is not written to. Unknown is
// not the same. Earlier releases recorded no MACs and GUIDs beside a serial number; where they
// are recorded, the card that shows them is the recorded one.
func TestIdentity_unread(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("a card whose vital product data are lost")
	ws := w.Workspace()
	now, changed := writers(w, host, To("infiniband_card.it", "id"))
	card := Config{{Type: "infiniband_card", Name: "it", Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}}}
	mustApply(t, ws, append(card, now...))
	serial := w.Card(host).Config.SerialNumber
	w.Card(host).Config.PartNumber = "" // lspci shows none from now on
	operations := w.Card(host).Flash.Operations()
	cleanPlan(t, ws, append(card, changed...))
	for _, address := range writing {
		ws.State[address] = editedObject(t, ws.State[address], map[string]tftypes.Value{"card_identity": tftypes.NewValue(
			tftypes.String, "serial number "+serial+", part number MCX354A-FCCT, chip ConnectX-3 Pro")})
	}
	plan := mustPlan(t, ws, append(card, changed...))
	refusedAll(t, "plan", plan.Diags, "FW081", serial, "lspci shows no serial number")
	if got := ws.Get("infiniband_card.it", "serial_number"); got != serial {
		t.Errorf("a refresh has recorded %v", got)
	}
	emptyPlan(t, ws, append(card, now...))
	if w.Card(host).Flash.Operations() != operations {
		t.Error("the card was written to")
	}
}

// What a card shows is not recorded as that of the recorded one as long as nothing proves
// that they are one card: a serial number that can be read at last may be another card's.
func TestIdentity_undecided(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	for name, byPlace := range map[string]bool{"by reference": false, "by place": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: vpi(func(h *labs.Host) { h.Cards[0].PartNumber = "" })[:1]})
			w.needSimulated("cards that change slots")
			var id any = To("infiniband_card.it", "id")
			if byPlace {
				id = host + "/" + w.PCI(host)
			}
			ws := w.Workspace()
			now, changed := writers(w, host, id)
			adopted := adoption(host, w.PCI(host))
			mustApply(t, ws, append(adopted, now...))
			recorded := map[string]any{}
			for _, address := range writing {
				recorded[address] = ws.Get(address, "card_identity")
			}
			before := ws.Get("infiniband_card.it", "id")
			unset := twin(t, w, host, func(c *labsim.CardConfig) {
				c.PartNumber = "MCX354A-FCCT_Ax"
				c.GUIDs, c.MACs = card.PlaceholderGUIDs, card.PlaceholderMACs
			})
			if _, err := w.Machine(host).Exchange(w.PCI(host), unset); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second plan knows what the first refresh has recorded
				plan := mustPlan(t, ws, append(adopted, changed...))
				refusedAll(t, "plan", plan.Diags, "FW081", twinSerial)
			}
			for _, address := range writing {
				if got := ws.Get(address, "card_identity"); got != recorded[address] {
					t.Errorf("a refresh has recorded %v in %s, and %v was there", got, address, recorded[address])
				}
			}
			if got := ws.Get("infiniband_card.it", "id"); got != before {
				t.Errorf("the card is %v now, and was %v", got, before)
			}
			if got := ws.Get("infiniband_card.it", "serial_number"); got != nil {
				t.Errorf("a refresh has recorded the serial number %v", got)
			}
			if used := w.Card(host).Flash.Operations(); used > 0 {
				t.Errorf("the other card was written to %d times", used)
			}
		})
	}
}

// A card that left its host is looked for on all others, and is gone only if none of
// them has it: one that does not answer may.
func TestIdentity_onAnotherHost(t *testing.T) {
	t.Parallel()
	from, to := labs.Intel9, labs.Xeon2zfs
	w := Start(t, Options{Hosts: vpi()})
	w.needSimulated("cards that change slots")
	ws := w.Workspace()
	cfg := Config{{Type: "infiniband_card", Name: "it", Attrs: map[string]any{"host": from, "pci_address": w.PCI(from)}}}
	mustApply(t, ws, cfg)
	card := w.Card(from)
	if err := w.MoveCard(w.Machine(from), w.PCI(from), w.Machine(to), "0000:41:00.0"); err != nil {
		t.Fatal(err)
	}
	plan := mustPlan(t, ws, cfg)
	for _, part := range []string{"FW082", card.Config.SerialNumber, "now at 0000:41:00.0 of xeon2zfs",
		`host        = "xeon2zfs"`, `pci_address = "0000:41:00.0"`} {
		if len(plan.Diags.Errors().Find(part)) != 1 {
			t.Errorf("the plan does not say %q:\n%s", part, plan.Diags.Errors())
		}
	}
	w.Machine(to).Halt()
	plan = mustPlan(t, ws, cfg)
	if len(plan.Diags.Warnings().Find("It may have moved to host xeon2zfs, which did not answer")) != 1 ||
		ws.State["infiniband_card.it"] == nil {
		t.Errorf("with a host that does not answer:\n%s", plan.Diags)
	}
	w.Machine(to).Start()
	if err := w.Machine(to).Rebuild(func() error { _, err := w.Machine(to).TakeOut("0000:41:00.0"); return err }); err != nil {
		t.Fatal(err)
	}
	plan = mustPlan(t, ws, cfg)
	if len(plan.Diags.Errors().Find("has no InfiniBand card")) != 1 || ws.State["infiniband_card.it"] != nil {
		t.Errorf("a card that is on no host:\n%s", plan.Diags)
	}
}

// editedObject is an object of the state with other values.
func editedObject(t *testing.T, obj *Object, changes map[string]tftypes.Value) *Object {
	t.Helper()
	attrs := map[string]tftypes.Value{}
	if err := obj.Value.As(&attrs); err != nil {
		t.Fatal(err)
	}
	maps.Copy(attrs, changes)
	out := *obj
	out.Value = tftypes.NewValue(obj.Value.Type(), attrs)
	return &out
}

// A state whose ids name places alone is that of the card whose serial number it
// holds. An import may name the card, and then takes no other.
func TestIdentity_statesAndImportsThatNameAPlace(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	ws := w.Workspace()
	card := Config{{Type: "infiniband_card", Name: "it", Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}}}
	now, _ := writers(w, host, To("infiniband_card.it", "id"))
	cfg := slices.Concat(card, now)
	mustApply(t, ws, cfg)
	serial, place := w.Card(host).Config.SerialNumber, host+"/"+w.PCI(host)
	forget := func() {
		text := func(s any) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
		ws.State["infiniband_card.it"] = editedObject(t, ws.State["infiniband_card.it"],
			map[string]tftypes.Value{"id": text(place)})
		for _, address := range writing {
			ws.State[address] = editedObject(t, ws.State[address],
				map[string]tftypes.Value{"card_id": text(place), "card_identity": text(nil)})
		}
	}
	forget()
	emptyPlan(t, ws, cfg)
	if id, who := ws.Get("infiniband_card.it",
		"id"), fmt.Sprint(ws.Get("infiniband_guids.it", "card_identity")); id != place+"/"+serial ||
		!strings.Contains(who, serial) {
		t.Errorf("the state has %v and %v", id, who)
	}
	// The number stands in the import alone: correcting that is the way out.
	misnamed := func(said Diags) bool {
		text := said.Errors().String()
		return strings.Contains(text, "FW080") && strings.Contains(text, twinSerial) && strings.Contains(text, serial) &&
			strings.Contains(text, "Correct the import") && !strings.Contains(text, "state rm") &&
			!strings.Contains(text, "Recorded")
	}
	for id, good := range map[string]bool{place: true, place + "/" + serial: true, place + "/" + twinSerial: false} {
		other := w.Workspace()
		diags, err := other.Import(context.Background(), card[0], id)
		if err != nil || diags.HasError() == good || !good && !misnamed(diags) {
			t.Errorf("import %s: %v, %s", id, err, diags)
		}
		identity := map[string]any{"host": host, "pci_address": w.PCI(host)}
		if named := strings.TrimPrefix(id, place); named != "" {
			identity["serial_number"] = named[1:]
		}
		for _, r := range append(card, now[2:]...) {
			said, importErr := w.Workspace().ImportByIdentity(t.Context(), r, identity)
			if importErr != nil || said.HasError() == good || !good && !misnamed(said) {
				t.Errorf("import %s by %v: %v, %s", r.Type, identity, importErr, said)
			}
		}
		for _, r := range now[2:] { // after the images
			said, importErr := w.Workspace().Import(context.Background(), r, id)
			if importErr != nil || said.HasError() == good || !good && !misnamed(said) {
				t.Errorf("import %s %s: %v, %s", r.Type, id, importErr, said)
			}
		}
		if got := other.Get("infiniband_card.it", "id"); good && got != place+"/"+serial {
			t.Errorf("import %s: id %v", id, got)
		}
	}
	said, importErr := w.Workspace().Import(context.Background(), card[0], host+"/0000:7f:00.0/"+serial)
	if importErr != nil || len(said.Errors().Find("has no card at 0000:7f:00.0")) == 0 {
		t.Errorf("import of an empty slot: %v, %s", importErr, said)
	}
	forget()
	exchange(t, w, host)
	plan := mustPlan(t, ws, cfg)
	if len(plan.Diags.Errors().Find("FW080")) != 1 {
		t.Errorf("the other card is taken for the one in the state:\n%s", plan.Diags.Errors())
	}
}

// Both engines carry the identity from the plan to the apply, also of a card that
// no state knows yet; and they follow a card that is accepted.
func TestIdentity_throughTheEngine(t *testing.T) {
	t.Parallel()
	Engine(t)
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	now, changed := writers(w, host, To("infiniband_card.it", "id"))
	now, changed = oneByOne(now), oneByOne(changed)
	first := Config{{Type: "infiniband_card", Name: "it", Attrs: map[string]any{"host": host, "pci_address": w.PCI(host)}}}
	accepting := first.With("infiniband_card.it", map[string]any{"expect": map[string]any{"serial_number": twinSerial}})
	var original *labsim.Spare
	exchanging := func() { original = exchange(t, w, host) }
	untouched := func() error {
		if used := w.Card(host).Flash.Operations(); used > 0 {
			return fmt.Errorf("the other card was written to %d times", used)
		}
		return nil
	}
	RunSteps(t, []Step{
		{
			// Nothing but the id of the card says in this plan which one it is.
			Config:  HCL(w.Provider(), append(first, changed...)),
			Between: exchanging,
			Refused: regexp.MustCompile(`(?s)intel9/0000:01:00.0/MT1234X0000\d.*` + twinSerial),
		},
		{
			Before: func() {
				if err := untouched(); err != nil {
					t.Error(err)
				}
				if _, err := w.Machine(host).Exchange(w.PCI(host), original); err != nil {
					t.Fatal(err)
				}
			},
			Config: HCL(w.Provider(), append(first, now...)),
		},
		{
			Config:  HCL(w.Provider(), append(first, changed...)),
			Between: exchanging,
			Refused: regexp.MustCompile(`(?s)Refusing to burn firmware.*FW080 Another card is in the\s+slot`),
		},
		{
			Config:   HCL(w.Provider(), append(first, changed...)),
			PlanOnly: true, Refused: regexp.MustCompile(`(?s)Refusing to adopt card.*FW080.*` + twinSerial),
		},
		{
			Before: func() {
				if err := untouched(); err != nil {
					t.Error(err)
				}
			},
			Config:  HCL(w.Provider(), append(accepting, now...)),
			Actions: map[string]string{"infiniband_card.it": "update", "infiniband_firmware.it": "delete, create"},
		},
		{Config: HCL(w.Provider(), append(accepting, now...)), Empty: true},
	}, nil)
}

// identityFindings name in card_id which card is meant.
func identityFindings() []findingCase {
	older := func(token string) func(*Lab) Config {
		return func(w *Lab) Config {
			return w.burn(labs.Intel9, w.Image(ImageOldVPI), map[string]any{"card_id": "intel9/0000:01:00.0/" + token})
		}
	}
	nameless := func(h *labs.Host) { h.Cards[0].PartNumber = "" } // lspci shows no vital product data
	return []findingCase{
		{code: "FW080", at: "card_id", says: []string{twinSerial, "MT1234X0000"}, config: older(twinSerial)},
		{code: "FW081", at: "card_id", hosts: func() []labs.Host { return vpi(nameless) },
			says: []string{twinSerial, "lspci shows no serial number"}, config: older(twinSerial)},
		{code: "FW082", at: "card_id", hosts: func() []labs.Host { return vpi(anotherCard) },
			says: []string{"now at 0000:02:00.0", `pci_address = "0000:02:00.0"`}, config: older("MT1234X09999")},
		{code: "FW083", at: "pci_address", hosts: func() []labs.Host { return boughtHost(nameless) },
			says: []string{"lspci shows no serial number"}, config: func(w *Lab) Config {
				return Config{{Type: "infiniband_card", Name: "it",
					Attrs: map[string]any{"host": labs.Intel9, "pci_address": w.PCI(labs.Intel9)}}}
			}},
	}
}
