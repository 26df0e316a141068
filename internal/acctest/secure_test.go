package acctest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// Versions of a card with secure firmware.
var (
	secureOld = [3]uint16{16, 35, 4030}
	secureNew = [3]uint16{16, 35, 8008}
)

// secureImage is an image that secure firmware takes.
func secureImage(chip card.Chip, version [3]uint16, change func(*card.TOCSpec)) []byte {
	s := controlledFS4(chip, card.PSIDCX5, version)
	s.Flags = card.FlagSecure | card.FlagControlled
	if change != nil {
		change(&s)
	}
	return card.BuildTOC(s)
}

// secureHost is a host whose card has secure firmware.
func secureHost(chip card.Chip) labs.Host {
	h := labs.ConnectX5("cx5", "192.0.2.31", 2)
	h.Cards[0].Chip, h.Cards[0].Image = chip, secureImage(chip, secureOld, nil)
	return h
}

// secureFinding is a finding on such a card, by the security version of the image and the version of
// the image that is to go back.
func secureFinding(code, at string, security uint32, back [3]uint16, says string) findingCase {
	to := secureImage(card.ConnectX5, secureNew, func(s *card.TOCSpec) { s.Security = security })
	return findingCase{code: code, at: at, hosts: func() []labs.Host { return []labs.Host{secureHost(card.ConnectX5)} },
		says: []string{says}, config: func(w *Lab) Config {
			return w.secureConfig(to, secureImage(card.ConnectX5, back, nil), nil)
		}}
}

// secureConfig wants an image in such a card, with another one as the way back.
func (w *Lab) secureConfig(to, back []byte, consent any) Config {
	cfg := w.laterConfig(to, map[string]any{"on_destroy": "restore", "allow": map[string]any{"without_copy": consent},
		"rollback_image_id": To("infiniband_firmware_image.back", "id")})
	return append(Config{{Type: "infiniband_firmware_image", Name: "back",
		Attrs: map[string]any{"host": "cx5", "source": w.file("back.bin", back)}}}, cfg...)
}

func (w *Lab) consentToNoCopy(to, back []byte) map[string]any {
	return map[string]any{"card": "MT1712X00002", "rollback_sha256": fmt.Sprintf("%x", sha256.Sum256(back)),
		"image_sha256": fmt.Sprintf("%x", sha256.Sum256(to))}
}

// TestSecure_cards_are_updated burns a card whose flash nobody can read: with an image of what it
// has as the way back, and with the consent that names card and both images. A destroy goes back to it.
func TestSecure_cards_are_updated(t *testing.T) {
	t.Parallel()
	for _, chip := range []card.Chip{card.ConnectX5, card.ConnectX6, card.ConnectX7} {
		t.Run(chip.Name, func(t *testing.T) {
			t.Parallel()
			w := startLaterChip(t, secureHost(chip), nil)
			to, back := secureImage(chip, secureNew, nil), secureImage(chip, secureOld, nil)
			ws, before := w.Workspace(), w.Flash("cx5")
			consent := w.consentToNoCopy(to, back)
			line := fmt.Sprintf("without_copy = { card = %q, rollback_sha256 = %q, image_sha256 = %q }", consent["card"],
				consent["rollback_sha256"], consent["image_sha256"])
			said := mustPlan(t, ws, w.secureConfig(to, back, nil)).Diags.Errors()
			if len(said) != 1 || len(said.Find("FW039", "fingerprint, and no copy", line)) != 1 {
				t.Fatalf("without a consent:\n%s", said)
			}
			cfg := w.secureConfig(to, back, consent)
			mustApply(t, ws, cfg)
			flash, running := w.Flash("cx5"), w.Card("cx5").Running()
			if flash.Version != secureNew || running.Version != secureNew || flash.GUIDs != before.GUIDs {
				t.Errorf("before %+v\nin flash %+v\nrunning %+v", before, flash, running)
			}
			if plan := cleanPlan(t, ws, cfg); len(plan.Actions()) > 0 {
				t.Errorf("there is something to do still: %v", plan.Actions())
			}
			w.checkFingerprint(back)
			mustApply(t, ws, nil)
			flash, running = w.Flash("cx5"), w.Card("cx5").Running()
			if flash.Version != secureOld || running.Version != secureOld || flash.GUIDs != before.GUIDs {
				t.Errorf("restored: in flash %+v, running %+v", flash, running)
			}
		})
	}
}

// checkFingerprint holds that backup_dir has the rollback image, and calls it what it is.
func (w *Lab) checkFingerprint(back []byte) {
	w.t.Helper()
	records, err := filepath.Glob(filepath.Join(w.Backups, "cx5", "*", "*", "card.json"))
	if err != nil || len(records) != 1 {
		w.t.Fatalf("records: %q, %v", records, err)
	}
	record, err := os.ReadFile(records[0])
	if err != nil || !strings.Contains(string(record), `"kind": "fingerprint"`) {
		w.t.Errorf("%v\n%s", err, record)
	}
	kept, err := os.ReadFile(filepath.Join(filepath.Dir(records[0]), "firmware.bin"))
	if err != nil || string(kept) != string(back) {
		w.t.Errorf("%v: another image is kept", err)
	}
}

// TestSecure_cards_are_refused plans what must not be burned on them, or not with this way back.
func TestSecure_cards_are_refused(t *testing.T) {
	t.Parallel()
	chip := card.ConnectX5
	to, back := secureImage(chip, secureNew, nil), secureImage(chip, secureOld, nil)
	spec := func(change func(*card.TOCSpec)) []byte { return secureImage(chip, secureOld, change) }
	for name, c := range map[string]struct {
		to, back []byte
		consent  func(w *Lab) any
		says     []string
	}{
		"another version": {to: to, back: secureImage(chip, [3]uint16{16, 35, 4000}, nil),
			says: []string{"FW037", "version of the card 16.35.4030, of the image 16.35.4000"}},
		"another board": {to: to, back: spec(func(s *card.TOCSpec) { s.PSID = card.PSIDCX6 }),
			says: []string{"FW037", "PSID of the card " + card.PSIDCX5}},
		"another date": {to: to, back: spec(func(s *card.TOCSpec) { s.Date = 0x20200916 }),
			says: []string{"FW037", "release date of the card 2020-09-15, of the image 2020-09-16"}},
		"another product version": {to: to, back: spec(func(s *card.TOCSpec) { s.Product = "oem" }),
			says: []string{"FW037", "product version of the card 16.35.4030, of the image oem"}},
		"another chip": {to: to, back: spec(func(s *card.TOCSpec) { s.HWIDs = []uint32{0x20f} }),
			says: []string{"FW037", "does not name the hardware id of the card"}},
		"way back without a signature": {to: to, back: spec(func(s *card.TOCSpec) { s.Signed = false }),
			says: []string{"FW042", "has no signature"}},
		"image without a signature": {back: back, to: secureImage(chip, secureNew, func(s *card.TOCSpec) { s.Signed = false }),
			says: []string{"FW042", "has no signature"}},
		"image of another board": {back: back, to: secureImage(chip, secureNew, func(s *card.TOCSpec) { s.PSID = card.PSIDCX6 }),
			says: []string{"FW042", "In the image: " + card.PSIDCX6}},
		"higher security version": {back: back, to: secureImage(chip, secureNew, func(s *card.TOCSpec) { s.Security = 1 }),
			says: []string{"FW038", "Security version"}},
		"no way back": {to: to, says: []string{"FW042", "name it as `rollback_image_id`"}},
		"consent to another image": {to: to, back: back, consent: func(w *Lab) any { return w.consentToNoCopy(back, back) },
			says: []string{"FW039", "allow.without_copy names another card or image than the one observed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startLaterChip(t, secureHost(chip), nil)
			var consent any = w.consentToNoCopy(c.to, c.back)
			if c.consent != nil {
				consent = c.consent(w)
			}
			cfg := w.secureConfig(c.to, c.back, consent)
			if c.back == nil {
				cfg = w.laterConfig(c.to, nil)
			}
			plan := mustPlan(t, w.Workspace(), cfg)
			if len(plan.Diags.Errors().Find(c.says...)) == 0 {
				t.Errorf("no error says %q:\n%s", c.says, plan.Diags)
			}
			if n := w.Card("cx5").Flash.Operations(); n != 0 {
				t.Errorf("the plan made %d flash operations", n)
			}
		})
	}
}

// TestSecure_restore_needs_the_declared_image keeps a destroy from burning what nobody declares any more.
func TestSecure_restore_needs_the_declared_image(t *testing.T) {
	t.Parallel()
	w := startLaterChip(t, secureHost(card.ConnectX5), nil)
	to, back := secureImage(card.ConnectX5, secureNew, nil), secureImage(card.ConnectX5, secureOld, nil)
	ws, cfg := w.Workspace(), w.secureConfig(to, back, w.consentToNoCopy(to, back))
	mustApply(t, ws, cfg)
	mustApply(t, ws, cfg.With("infiniband_firmware.it", map[string]any{"rollback_image_id": nil}))
	plan := mustPlan(t, ws, nil)
	if len(plan.Diags.Errors().Find("BK004", "rollback_image_id does not name it any more")) == 0 {
		t.Errorf("the destroy is planned:\n%s", plan.Diags)
	}
	mustApply(t, ws, cfg)
	w.Card("cx5").Update().Refuse = card.RefusalNotApplicable
	diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, nil))
	if err != nil || len(diags.Errors().Find("Component is not applicable")) == 0 {
		t.Errorf("%v\n%s", err, diags)
	}
	if now := w.Card("cx5").Running().Version; now != secureNew || ws.State["infiniband_firmware.it"] == nil {
		t.Errorf("runs %v, in the state %v", now, ws.State["infiniband_firmware.it"])
	}
}
