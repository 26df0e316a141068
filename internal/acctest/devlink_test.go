package acctest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// devlinkOld and devlinkNew are versions of a card that only its driver reaches.
var devlinkOld, devlinkNew = [3]uint16{12, 28, 2006}, [3]uint16{12, 28, 4706}

// lockDown has the kernel of a host keep every tool from its cards.
func (w *Lab) lockDown(host string) {
	lock := func(m *labsim.Machine) {
		m.FS.Put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n", 0o444)
	}
	lock(w.Machine(host))
	hooks := &w.Machine(host).Hooks
	hooks.OnBoot = append(hooks.OnBoot, lock)
}

// startLockedDown is a host whose card writes its own flash, and whose kernel is locked down.
func startLockedDown(t *testing.T, change func(*labs.Host)) *Lab {
	t.Helper()
	w := startLaterChip(t, controlled(cx4(), card.FlagControlled), change)
	w.lockDown("cx4")
	return w
}

// TestDevlink_look adopts the firmware of a card that no tool can read: the driver tells PSID and version.
func TestDevlink_look(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) *Lab{
		"kernel that is locked down": func(t *testing.T) *Lab { return startLockedDown(t, nil) },
		"no mstflint": func(t *testing.T) *Lab {
			w := startLaterChip(t, controlled(cx4(), card.FlagControlled), nil)
			w.Run("cx4", "rm /usr/bin/mstflint")
			return w
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			ws := w.Workspace()
			cfg := Config{{Type: "infiniband_firmware", Name: "it", Attrs: map[string]any{"card_id": "cx4/" + w.PCI("cx4")}}}
			mustApply(t, ws, cfg)
			for attr, want := range map[string]any{"flash_psid": card.PSIDCX4, "flash_version": "12.28.2006",
				"running_version": "12.28.2006", "reboot_required": false} {
				if got := ws.Get("infiniband_firmware.it", attr); got != want {
					t.Errorf("%s is %v, want %v", attr, got, want)
				}
			}
			emptyPlan(t, ws, cfg)
		})
	}
}

// devlinkConfig wants an image in a card that only its driver reaches, with another one as the way back.
func (w *Lab) devlinkConfig(to, back []byte, consent any) Config {
	cfg := w.laterConfig(to, map[string]any{"on_destroy": "restore", "allow": map[string]any{"without_copy": consent},
		"rollback_image_id": To("infiniband_firmware_image.back", "id")})
	return append(Config{{Type: "infiniband_firmware_image", Name: "back",
		Attrs: map[string]any{"host": "cx4", "source": w.file("back.bin", back)}}}, cfg...)
}

// devlinkConsent allows the burn of the host's card.
func devlinkConsent(serial string, to, back []byte) map[string]any {
	return map[string]any{"card": serial, "rollback_sha256": fmt.Sprintf("%x", sha256.Sum256(back)),
		"image_sha256": fmt.Sprintf("%x", sha256.Sum256(to))}
}

// packages are the files that jobs have left where the kernel looks for firmware, and beside the images.
func (w *Lab) packages(host string) string {
	out, _ := w.Try(host, "ls /lib/firmware /var/lib/terraform-provider-infiniband/images | grep mfa2")
	return strings.TrimSpace(out)
}

// TestDevlink_burn updates such a card by its driver, has it run the image, and restores it at a destroy.
func TestDevlink_burn(t *testing.T) {
	t.Parallel()
	to, back := controlledCX4(card.PSIDCX4, devlinkNew), controlledCX4(card.PSIDCX4, devlinkOld)
	w := startLockedDown(t, nil)
	ws, before := w.Workspace(), w.Flash("cx4")
	said := mustPlan(t, ws, w.laterConfig(to, nil)).Diags.Errors()
	if len(said) != 1 || len(said.Find("HO003", "name an image of what the card has as `rollback_image_id`")) != 1 {
		t.Fatalf("without a way back:\n%s", said)
	}
	said = mustPlan(t, ws, w.devlinkConfig(to, back, nil)).Diags.Errors()
	if len(said) != 1 || len(said.Find("FW039", "which is all that its driver tells")) != 1 {
		t.Fatalf("without a consent:\n%s", said)
	}
	cfg := w.devlinkConfig(to, back, devlinkConsent("MT1712X00001", to, back))
	plan := cleanPlan(t, ws, cfg)
	if len(plan.Diags.Find("The driver of card cx4/0000:01:00.0 has its firmware write the image", "devlink")) != 1 {
		t.Errorf("the plan does not say the way:\n%s", plan.Diags)
	}
	mustApply(t, ws, cfg)
	flash, running := w.Flash("cx4"), w.Card("cx4").Running()
	if flash.Version != devlinkNew || running.Version != devlinkNew || flash.GUIDs != before.GUIDs {
		t.Errorf("before %+v\nin flash %+v\nrunning %+v", before, flash, running)
	}
	if left := w.packages("cx4"); left != "" {
		t.Errorf("left on the host: %s", left)
	}
	emptyPlan(t, ws, cfg)
	mustApply(t, ws, nil)
	if flash = w.Flash("cx4"); flash.Version != devlinkOld || w.Card("cx4").Running().Version != devlinkOld {
		t.Errorf("restored: %+v", flash)
	}
}

// TestDevlink_without_mstflint is the same with a host that has no tool, no lockdown, and no package that has made the
// directory of firmware, as a minimal Debian.
func TestDevlink_without_mstflint(t *testing.T) {
	t.Parallel()
	to, back := controlledCX4(card.PSIDCX4, devlinkNew), controlledCX4(card.PSIDCX4, devlinkOld)
	w := startLaterChip(t, controlled(cx4(), card.FlagControlled), nil)
	w.Run("cx4", "rm /usr/bin/mstflint /usr/bin/mstreg /usr/bin/mstconfig && rm -rf /lib/firmware")
	ws, cfg := w.Workspace(), w.devlinkConfig(to, back, devlinkConsent("MT1712X00001", to, back))
	mustApply(t, ws, cfg)
	if now := w.Card("cx4").Running().Version; now != devlinkNew {
		t.Errorf("runs %v", now)
	}
	emptyPlan(t, ws, cfg)
}

// TestDevlink_is_refused plans what the driver cannot write, or not with this way back.
func TestDevlink_is_refused(t *testing.T) {
	t.Parallel()
	image := func(change func(*card.TOCSpec)) []byte {
		s := card.CX4Spec(card.PSIDCX4, devlinkNew)
		s.Signed, s.Flags = true, card.FlagControlled
		change(&s)
		return card.BuildTOC(s)
	}
	to, back := controlledCX4(card.PSIDCX4, devlinkNew), controlledCX4(card.PSIDCX4, devlinkOld)
	for name, c := range map[string]struct {
		to, back []byte
		says     []string
	}{
		"another board": {image(func(s *card.TOCSpec) { s.PSID = "MT_9190110032" }), back,
			[]string{"FW085", "In the image: MT_9190110032"}},
		"no signature": {image(func(s *card.TOCSpec) { s.Signed = false }), back, []string{"FW085", "has no signature"}},
		"another way back": {to, controlledCX4(card.PSIDCX4, [3]uint16{12, 20, 1010}),
			[]string{"FW037", "version of the card 12.28.2006, of the image 12.20.1010"}},
		"another chip": {image(func(s *card.TOCSpec) { s.HWIDs = []uint32{0x20b} }), back, []string{"FW020"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startLockedDown(t, nil)
			plan := mustPlan(t, w.Workspace(), w.devlinkConfig(c.to, c.back, devlinkConsent("MT1712X00001", c.to, c.back)))
			if len(plan.Diags.Errors().Find(c.says...)) == 0 {
				t.Errorf("no error says %q:\n%s", c.says, plan.Diags)
			}
		})
	}
}

// TestDevlink_refused_by_the_firmware ends with the old image, and with nothing left on the host.
func TestDevlink_refused_by_the_firmware(t *testing.T) {
	t.Parallel()
	to, back := controlledCX4(card.PSIDCX4, devlinkNew), controlledCX4(card.PSIDCX4, devlinkOld)
	w := startLockedDown(t, nil)
	w.Card("cx4").Update().Refuse = card.RefusalNotApplicable
	ws, cfg := w.Workspace(), w.devlinkConfig(to, back, devlinkConsent("MT1712X00001", to, back))
	diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
	if err != nil || len(diags.Errors().Find("devlink ended with status 1: mlxfw: Firmware flash failed: "+
		"component not applicable.", "keeps the image that runs", "Restart the host")) == 0 {
		t.Errorf("%v\n%s", err, diags)
	}
	if left := w.packages("cx4"); left != "" {
		t.Errorf("left on the host: %s", left)
	}
	w.Reboot("cx4")
	mustApply(t, ws, cfg)
	if now := w.Card("cx4").Running().Version; now != devlinkNew {
		t.Errorf("runs %v", now)
	}
}
