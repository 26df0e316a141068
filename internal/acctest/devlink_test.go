package acctest

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// devlinkOld and devlinkNew are versions of a card that only its driver reaches.
var devlinkOld, devlinkNew = [3]uint16{12, 28, 2006}, [3]uint16{12, 28, 4706}

// lockDown has the kernel of a host keep every tool from its cards.
func (w *Lab) lockDown(host string) {
	w.Machine(host).FS.Put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n", 0o444)
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
