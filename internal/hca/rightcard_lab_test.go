package hca

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/linktype"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// exchange puts another card of the same kind into the slot, and gives the one
// that was there.
func (b *bench) exchange(changes ...func(*labsim.CardConfig)) *labsim.Spare {
	b.t.Helper()
	config := labs.Twin(b.device().Config, 900)
	for _, change := range changes {
		change(&config)
	}
	twin, err := labsim.NewSpare(config)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.putIn(twin)
}

// putIn puts a card into the slot and gives the one that was there.
func (b *bench) putIn(other *labsim.Spare) *labsim.Spare {
	b.t.Helper()
	old, err := b.machine.Exchange(b.pci.String(), other)
	if err != nil {
		b.t.Fatal(err)
	}
	return old
}

// writers are all operations on a card that was recorded as it is in c.
func writers(b *bench, o *Ops, c cards.Card, img safety.ImageFacts, taken backup.Backup,
	left ib.FWVersion) map[string]func(context.Context) error {
	mac := ib.MustParseMAC("e4:1d:2d:e4:4f:00")
	ids, err := GUIDSpec{BaseMAC: &mac}.Resolve()
	if err != nil {
		b.t.Fatal(err)
	}
	ids.Change = fromFactory(ids.Want)
	return map[string]func(context.Context) error{
		"burn": func(ctx context.Context) error { _, err := o.ApplyFirmware(ctx, crossFlash(c, img)); return err },
		"GUIDs": func(ctx context.Context) error {
			_, err := o.ApplyGUIDs(ctx, GUIDs{Card: c, Lab: aloneInFabric(), Request: ids})
			return err
		},
		"link types": func(ctx context.Context) error {
			_, err := linktype.Apply(ctx, o.Session,
				linktype.Ask{Card: c, Request: safety.LinkTypeRequest{Ports: map[int]ib.LinkType{1: ib.LinkTypeETH,
					2: ib.LinkTypeETH}}})
			return err
		},
		"backup": func(ctx context.Context) error { _, err := o.Backups.Take(ctx, c); return err },
		"restore": func(ctx context.Context) error {
			_, err := o.RestoreFirmware(ctx,
				Restore{Card: c, Backup: taken.Dir, Left: ib.Firmware{PSID: card.PSIDVPI, FW: left}})
			return err
		},
	}
}

// TestWrites_refuse_another_card has the card exchanged, moved, and recorded as
// nothing, and nothing writes to what is there instead.
func TestWrites_refuse_another_card(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	o, c := b.ops("alice"), b.card(ctx)
	backup, err := o.Backups.Take(ctx, c)
	if err != nil {
		t.Fatal(explain(err))
	}
	vpi := b.image(card.VPI())
	if _, err = o.ApplyFirmware(ctx, crossFlash(c, vpi)); err != nil {
		t.Fatal(explain(err))
	}
	img := b.image(card.EN())
	refused := func(when string, c cards.Card, code string, says ...string) {
		t.Helper()
		operations := b.machine.Cards()[0].Flash.Operations()
		for name, write := range writers(b, o, c, img, backup, vpi.FW) {
			said := write(ctx)
			var refusal *safety.RefusedError
			if !errors.As(said, &refusal) || !strings.Contains(said.Error(), code) {
				t.Errorf("%s, %s: %s", when, name, explain(said))
				continue
			}
			for _, part := range says {
				if !strings.Contains(explain(said), part) {
					t.Errorf("%s, %s: %q is missing in %s", when, name, part, explain(said))
				}
			}
		}
		if now := b.machine.Cards()[0].Flash.Operations(); now != operations {
			t.Errorf("%s: the flash was used %d times", when, now-operations)
		}
	}
	nobody := c
	nobody.Recorded = ib.Identity{}
	refused("nothing recorded", nobody, "FW081", "nothing was recorded")
	serial := c.Recorded.Serial
	old := b.exchange()
	c.Host.Drop()
	refused("exchanged", c, "FW080", serial, b.device().Config.SerialNumber)
	if err = b.machine.Rebuild(func() error { return b.machine.PutIn(old, "0000:41:00.0") }); err != nil {
		t.Fatal(err)
	}
	c.Host.Drop()
	refused("in another slot", c, "FW082", serial, "now at 0000:41:00.0")
	if err = b.machine.Rebuild(func() error { _, out := b.machine.TakeOut(b.pci.String()); return out }); err != nil {
		t.Fatal(err)
	}
	c.Host.Drop()
	refused("in another slot, its own empty", c, "FW082", "now at 0000:41:00.0")
	b.clean()
}

// TestWrites_know_their_own_addresses has a card without a readable serial number
// get other GUIDs and MACs. What was recorded before is still of this card, and not
// of the next one.
func TestWrites_know_their_own_addresses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t, labs.Intel9, 0)
	b.device().Config.PartNumber = "" // lspci shows no vital product data
	o, c := b.ops("alice"), b.card(ctx)
	if c.Recorded.Serial != "" || len(c.Recorded.MACs) == 0 {
		t.Fatalf("recorded %s", c.Recorded)
	}
	img := b.image(card.VPI())
	if err := writers(b, o, c, img, backup.Backup{}, img.FW)["burn"](ctx); err != nil {
		t.Fatal(explain(err))
	}
	for range 2 {
		if err := writers(b, o, c, img, backup.Backup{}, img.FW)["GUIDs"](ctx); err != nil {
			t.Fatal(explain(err))
		}
	}
	s, err := c.Host.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found, _ := s.Card(b.pci)
	if found.Flash.GUIDs.MAC1 != ib.MustParseMAC("e4:1d:2d:e4:4f:00") || s.Identity(found).Record().String() == "" {
		t.Errorf("the card has %s and is %s", found.Flash.GUIDs.MAC1, s.Identity(found))
	}
	if token := s.Identity(found).Token(); token != c.Recorded.Token() {
		t.Errorf("the card has become %s, it was recorded as %s", token, c.Recorded.Token())
	}
	b.exchange()
	c.Host.Drop()
	err = writers(b, o, c, img, backup.Backup{}, img.FW)["GUIDs"](ctx)
	if err == nil || !strings.Contains(err.Error(), "FW080") {
		t.Errorf("the next card: %s", explain(err))
	}
	b.clean()
}
