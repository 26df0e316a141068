package cardprog

import (
	"errors"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// What follows is for cards whose firmware writes its own flash: ConnectX-4 and later with
// the update method fw_ctrl.

// control is the firmware's way to update the open card; nil if the tool goes past it.
func (f *flint) control() *card.Update {
	if f.card == nil || f.call.has("ocr") || f.call.has("override_cache_replacement") || f.call.has("no_fw_ctrl") {
		return nil
	}
	return f.card.Update()
}

// secured says whether the open card lets nobody read its flash.
func (f *flint) secured() bool {
	if f.control() == nil {
		return false
	}
	attributes, _ := f.card.Booted().Security()
	return attributes == "secure-fw"
}

// disturbUpdate is what tools before 4.28 do when they end: at the start they took the handle
// of whoever updates, and with that they cancel it.
func (f *flint) disturbUpdate(u *card.Update) {
	if v := u.View(); v.State != card.UpdateIdle && !f.version.atLeast(28) {
		_, _ = u.Do(card.InstructionCancel, card.OwnerTool, v.Handle, 0)
		_, _ = u.Do(card.InstructionRelease, card.OwnerTool, v.Handle, 0)
	}
}

// next gives the version and the date of what boots next.
func (f *flint) next() *card.Image {
	if staged := f.card.Staged(); staged != nil {
		return staged
	}
	return f.card.Booted()
}

// queryControlled prints what the firmware says of itself: the version of what boots next,
// and all else of what runs.
func (f *flint) queryControlled(flash *card.Image, full bool) int {
	running, next := f.card.Booted(), f.next()
	if f.call.has("flashed_version") {
		f.row("Image type:", "FSCTRL")
		f.row("FW Version:", card.VersionText(next.Version))
		return 0
	}
	f.row("Image type:", running.Format)
	f.row("FW Version:", card.VersionText(next.Version))
	if next.Version != running.Version {
		f.row("FW Version(Running):", card.VersionText(running.Version))
	}
	f.row("FW Release Date:", dateText(next.Date))
	if full {
		for _, r := range [][2]string{{"Part Number:", running.TOC.Part}, {"Description:", running.TOC.Text}} {
			if r[1] != "" {
				f.row(r[0], r[1])
			}
		}
	}
	if running.Product != "" {
		f.row("Product Version:", running.Product)
	}
	f.romRows(running)
	f.row("Description:", "UID                GuidsNumber")
	f.rangeRow("Base GUID:", flash.TOC.GUID, "%016x")
	f.rangeRow("Base MAC:", flash.TOC.MAC, "%012x    ")
	if made := running.TOC.OrigMAC; made.Base != flash.TOC.MAC.Base {
		made.Count = flash.TOC.MAC.Count // the firmware tells the address only
		f.rangeRow("Orig Base MAC:", made, "%012x    ")
	}
	f.row("Image VSD:", orNA(running.TOC.ImageVSD))
	f.row("Device VSD:", orNA(running.VSD))
	f.row("PSID:", running.PSID)
	attributes, _ := running.Security()
	f.row("Security Attributes:", attributes)
	if full {
		f.row("Default Update Method:", "fw_ctrl")
		f.lifeCycle()
	}
	return 0
}

// lifeCycle prints what chips from ConnectX-6 on tell of their keys. Each generation tells more.
func (f *flint) lifeCycle() {
	for _, r := range []struct {
		since      card.Chip
		key, value string
	}{
		{card.ConnectX6, "Life cycle:", "PRODUCTION"}, {card.ConnectX6Dx, "Secure Boot Capable:", "Disabled"},
		{card.ConnectX7, "Encryption:", "Disabled"},
	} {
		if f.card.Chip.HWID >= r.since.HWID {
			f.row(r.key, r.value)
		}
	}
}

// burnControlled has the firmware take the image, if the tool does: it goes past the firmware
// for an image without a signature, and for another PSID on a card that is not secure.
func (f *flint) burnControlled(u *card.Update) (status int, done bool) {
	_, signed := f.image.Security()
	if !signed || f.call.has("allow_psid_change") && !f.secured() {
		return 0, false
	}
	if status := f.checkVersion(f.next()); status != 0 {
		return status, true
	}
	if status := f.checkPSID(f.card.Booted()); status != 0 {
		return status, true
	}
	if f.card.Booted().PSID != f.image.PSID {
		return f.fail("Burning %s image failed: Changing PSID is unsupported under %s FW. You can try to run again with the "+
			"flag \"--no_fw_ctrl\".", f.image.Format, "controlled"), true
	}
	return f.sendImage(u), true
}

// refusals are the tool's words for the reasons of the firmware (mstflint 4.21).
var refusals = map[card.Refusal]string{
	card.RefusalDigest: "The Digest in the signature is wrong", card.RefusalNotApplicable: "Component is not applicable",
	card.RefusalNotSigned: "The component is not signed",
	card.RefusalPending:   "The firmware image was already updated on flash, pending reset.",
	card.RefusalErase:     "Error while erasing the flash",
}

// sendImage updates by the firmware, and prints how far it is.
func (f *flint) sendImage(u *card.Update) int {
	v := u.View()
	status, err := u.Do(card.InstructionLock, card.OwnerTool, v.Handle, 0)
	if status != card.AccessDone {
		// It throws out whoever updates, and gets nothing by that.
		_, _ = u.Do(card.InstructionForce, card.OwnerTool, 0, 0)
		return f.refuse(u, status, err)
	}
	defer func() {
		if !killedHard(f.ctx) {
			_, _ = u.Do(card.InstructionCancel, card.OwnerTool, v.Handle, 0)
			_, _ = u.Do(card.InstructionRelease, card.OwnerTool, v.Handle, 0)
		}
	}()
	component := f.image.Component()
	if status, err = u.Do(card.InstructionUpdate, card.OwnerTool, v.Handle, uint32(len(component))); status != card.AccessDone {
		return f.refuse(u, status, err)
	}
	f.show("\rFSMST_INITIALIZE - [.    ]")
	for u.View().State == card.UpdateInitialize {
	}
	f.show("\rFSMST_INITIALIZE -   OK\n")
	if status := f.sendData(u, v.Handle, component); status != 0 {
		return status
	}
	for _, step := range []card.Instruction{card.InstructionVerify, card.InstructionActivate} {
		if status, err = u.Do(step, card.OwnerTool, v.Handle, 0); status != card.AccessDone {
			return f.refuse(u, status, err)
		}
	}
	f.p.Printf("-I- To load new FW run mstfwreset or reboot machine.\n")
	return labsim.SignalStatus(f.ctx)
}

func (f *flint) sendData(u *card.Update, handle uint32, component []byte) int {
	const atOnce = 128
	shown := -1
	for at := 0; at < len(component); at += atOnce {
		if percent := 100 * at / len(component); percent != shown {
			shown = percent
			f.show("\rWriting Boot image component - %3d%%", percent)
			if f.pace() != nil {
				return f.interrupt()
			}
		}
		if status := u.Send(handle, uint32(at), component[at:min(at+atOnce, len(component))]); status != card.AccessDone {
			return f.refuse(u, status, nil)
		}
	}
	f.show("\rWriting Boot image component -   OK\n")
	return 0
}

func (f *flint) show(format string, args ...any) {
	if !f.call.has("silent") {
		f.p.Printf(format, args...)
	}
}

// refuse prints why the firmware did not do what it was asked.
func (f *flint) refuse(u *card.Update, status uint32, err error) int {
	if errors.Is(err, card.ErrPowerLost) || f.ctx.Err() != nil {
		return f.interrupt()
	}
	text := refusals[u.View().Refusal]
	if text == "" {
		text = map[uint32]string{card.AccessBadValue: "Bad parameter", card.AccessUnavailable: "Resource unavailable",
			card.AccessGone: "ME_ICMD_STATUS_CR_FAIL"}[status]
	}
	return f.fail("Burning %s image failed: %s", f.image.Format, text)
}
