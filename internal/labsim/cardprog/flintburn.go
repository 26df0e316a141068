package cardprog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// identity is what a burn or sg puts into the image.
type identity struct {
	guids [4]uint64
	macs  [2]uint64
}

// burn follows the order of checks of mstflint 4.21 for FS2: image, device, image
// CRCs, GUID question, failsafe, version, PSID, chip, MACs, size, write.
func (f *flint) burn() int {
	name := f.call.options["image"]
	img, openErr, parseErr := f.openImage()
	if openErr != "" || img == nil && parseErr == nil {
		return f.fail("Cannot open Image: %s. %s", name, openErr)
	}
	if status := f.openDevice(); status != 0 {
		return status
	}
	if parseErr != nil {
		return f.fail("Failed to query image: %s. %s", name, errorText(parseErr))
	}
	f.image = img
	f.log("Started burn")
	check := f.checkAndBurn
	if f.gen5() {
		check = f.burnTOC
	}
	status := check()
	f.log(map[bool]string{true: "Burn completed successfully", false: "Burn failed"}[status == 0])
	return status
}

func (f *flint) checkAndBurn() int {
	if f.image.TOC != nil {
		return f.p.Unknown("burn of an image of FS3 or FS4 on a card of FS2")
	}
	dev, devErr := f.card.Flash.Active()
	if devErr != nil && !f.call.has("nofs") {
		f.fail("Can not extract GUIDs/MACs info from flash, No valid image found")
		f.p.Printf("    Can not burn in a failsafe mode.\n    If you want to burn in non failsafe mode, use the \"-nofs\" " +
			"switch.\n")
		return 1
	}
	if devErr != nil {
		dev = nil
	}
	if problem := f.takeROM(dev); problem != nil {
		return f.fail("Burning FS2 image failed: %s", problem)
	}
	ids, status := f.burnIdentity(dev)
	if status != 0 {
		return status
	}
	if status := f.checkFailsafe(dev); status != 0 {
		return status
	}
	if status := f.checkVersion(dev); status != 0 {
		return status
	}
	if status := f.checkPSID(dev); status != 0 {
		return status
	}
	if status := f.confirmNofs(); status != 0 {
		return status
	}
	if status := f.checkFit(ids); status != 0 {
		return status
	}
	return f.write(f.image.WithIdentity(ids.guids, ids.macs, f.burnVSD(dev)))
}

// takeROM puts the expansion ROM of the card into an image without one, unless told otherwise.
// Releases up to 4.14 also ask which of two to take; 4.21 does not.
func (f *flint) takeROM(dev *card.Image) error {
	if dev == nil || len(dev.ROMs) == 0 || len(f.image.ROMs) > 0 || f.call.has("use_image_rom") {
		return nil
	}
	img, err := f.image.WithROMOf(dev)
	if err == nil {
		f.image = img
	}
	return err
}

// burnVSD keeps the card's VSD unless told otherwise.
func (f *flint) burnVSD(dev *card.Image) string {
	switch {
	case f.call.has("vsd"):
		return f.call.options["vsd"]
	case f.call.has("use_image_ps") || dev == nil:
		return f.image.VSD
	}
	return dev.VSD
}

// burnIdentity decides GUIDs and MACs and asks when they are to change.
func (f *flint) burnIdentity(dev *card.Image) (identity, int) {
	if f.call.has("blank_guids") {
		return identity{}, f.p.Unknown("option blank_guids")
	}
	base := f.image
	if dev != nil && !f.call.has("use_image_guids") {
		base = dev
	}
	ids := f.overlay(identity{base.GUIDs, base.MACs}, false)
	given := f.call.has("guid") || f.call.has("guids") || f.call.has("mac") || f.call.has("macs")
	if !given && !f.call.has("use_image_guids") || dev == nil {
		return ids, 0
	}
	f.guidTable(ids, identity{dev.GUIDs, dev.MACs})
	return ids, f.ask(1)
}

// overlay applies the GUID and MAC options to what is there. MACs that are all
// ones and not given are derived from the old GUIDs, but sg leaves those of a
// blank card alone.
func (f *flint) overlay(ids identity, blank bool) identity {
	old := ids
	switch {
	case f.call.has("guids"):
		for i, v := range f.call.values["guids"] {
			ids.guids[i] = hexID(v)
		}
	case f.call.has("guid"):
		ids.guids = card.GUIDsFromBase(hexID(f.call.options["guid"]))
	}
	switch {
	case f.call.has("macs"):
		for i, v := range f.call.values["macs"] {
			ids.macs[i] = hexID(v)
		}
	case f.call.has("mac"):
		m := hexID(f.call.options["mac"])
		ids.macs = [2]uint64{m, m + 1}
	case !blank && old.macs[0] == ^uint64(0) && old.macs[1] == ^uint64(0):
		for i := range ids.macs {
			g := old.guids[i+1]
			ids.macs[i] = g>>40<<24 | g&0xffffff
		}
	}
	return ids
}

func (f *flint) guidTable(next, now identity) {
	f.p.Printf("    You are about to change the Guids/Macs/Uids on the device:\n\n")
	f.p.Printf("                        New Values              Current Values\n")
	for i, label := range []string{"Node  GUID:     ", "Port1 GUID:     ", "Port2 GUID:     ", "Sys.Image GUID: "} {
		f.p.Printf("        %s%016x        %016x\n", label, next.guids[i], now.guids[i])
	}
	for i, label := range []string{"Port1 MAC:      ", "Port2 MAC:      "} {
		f.p.Printf("        %s    %012x            %012x\n", label, next.macs[i], now.macs[i])
	}
}

func (f *flint) checkFailsafe(dev *card.Image) int {
	if dev == nil || f.call.has("nofs") || f.image.Failsafe() == dev.Failsafe() {
		return 0
	}
	which := "flash"
	what := "a failsafe image over a non failsafe image"
	if dev.Failsafe() {
		which, what = "given file", "a non failsafe image over a failsafe image"
	}
	f.fail("Failsafe burn failed: FW image in the %s is non failsafe.", which)
	f.p.Printf("    you cannot burn %s in a failsafe mode.\n    If you want to burn in non failsafe mode, use the "+
		"\"-nofs\" switch.\n", what)
	return 1
}

func (f *flint) checkVersion(dev *card.Image) int {
	if dev == nil {
		return 0
	}
	f.p.Printf("\n    Current FW version on flash:  %s\n    New FW version:               %s\n",
		card.VersionText(dev.Version), card.VersionText(f.image.Version))
	if order := compare(f.image.Version, dev.Version); order <= 0 {
		text := "older than"
		if order == 0 {
			text = "the same as"
		}
		f.p.Printf("\n    Note: The new FW version is %s the current FW version on flash.\n", text)
		if status := f.ask(7); status != 0 {
			return status
		}
	}
	f.p.Printf("\n")
	return 0
}

// compare orders versions by how they are written first: those whose minor part
// has three or more digits come before those that have two (facts: fw_version.cpp
// of 4.21, get_master_format).
func compare(a, b [3]uint16) int {
	if wide := a[1] >= 100; wide != (b[1] >= 100) {
		if wide {
			return -1
		}
		return 1
	}
	for i := range a {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return 0
}

func (f *flint) checkPSID(dev *card.Image) int {
	if dev == nil || dev.PSID == "" || f.image.PSID == "" || dev.PSID == f.image.PSID {
		return 0
	}
	if !f.call.has("allow_psid_change") {
		f.p.Printf("\n")
		if f.version.atLeast(36) {
			return f.fail("PSID mismatch. Device PSID (%s) differs from image PSID (%s).", dev.PSID, f.image.PSID)
		}
		return f.fail("PSID mismatch. The PSID on flash (%s) differs from the PSID in the given image (%s).", dev.PSID,
			f.image.PSID)
	}
	f.p.Printf("\n    You are about to replace current PSID on flash - \"%s\" with a different PSID - \"%s\".\n"+
		"    Note: It is highly recommended not to change the PSID.\n", dev.PSID, f.image.PSID)
	return f.ask(1)
}

// confirmNofs warns when the burn is not failsafe.
func (f *flint) confirmNofs() int {
	if !f.call.has("nofs") && f.image.Failsafe() {
		return 0
	}
	f.p.Printf("Burn process will not be failsafe. No checks will be performed.\n" +
		"ALL flash, including the Invariant Sector will be overwritten.\n" +
		"If this process fails, computer may remain in an inoperable state.\n")
	return f.ask(1)
}

func chipName(id uint32) string {
	switch id {
	case 0x1f5:
		return "ConnectX-3 A0"
	case 0x101f5:
		return "ConnectX-3 A1"
	case 0x1f7:
		return "ConnectX-3Pro"
	case 0x209:
		return "ConnectX-4"
	case 0x20b:
		return "ConnectX-4LX"
	case 0x20d:
		return "ConnectX-5"
	}
	return fmt.Sprintf("MT%d-%02X", id&0xffff, id>>16)
}

func (f *flint) checkFit(ids identity) int {
	if !f.card.FitsChip(f.image) {
		names := make([]string, 0, len(f.image.HWIDs))
		for _, id := range f.image.HWIDs {
			names = append(names, chipName(id))
		}
		return f.fail("Burning FS2 image failed: Device/Image mismatch: FW image file cannot be programmed to device %s, it "+
			"is intended for: %s only\n",
			chipName(uint32(f.card.Rev)<<16|uint32(f.card.Chip.HWID)), strings.Join(names, ", "))
	}
	for _, mac := range ids.macs {
		if problem := macProblem(mac); problem != "" {
			where := "found on flash"
			if f.call.has("mac") || f.call.has("macs") {
				where = "given"
			}
			return f.fail("Burning FS2 image failed: Bad mac (%012x) %s: %s Please re-burn with a valid -mac flag value.", mac,
				where, problem)
		}
	}
	if f.image.Failsafe() && f.image.End > f.image.MaxFailsafe() {
		return f.fail("Burning FS2 image failed: Size of failsafe image (0x%x) is greater than max failsafe image size "+
			"(0x%x - half of total flash size)",
			f.image.End, f.image.MaxFailsafe())
	}
	return 0
}

const (
	burnLabel      = "Burning FS2 FW image without signatures - "
	signatureLabel = "Restoring signature                     - "
)

// write burns and prints the progress: a carriage return, no newline.
func (f *flint) write(image []byte) int {
	last := 0
	err := f.card.Write(image, func(percent int) error {
		if percent != last && !f.call.has("silent") {
			f.p.Printf("\r%s%3d%%", burnLabel, percent)
		}
		last = percent
		return f.pace()
	})
	switch {
	case err == nil:
	case f.ctx.Err() != nil:
		return f.interrupt()
	default:
		return f.fail("Burning FS2 image failed: Flash write failed: %s", flashText(err))
	}
	if !f.call.has("silent") {
		f.p.Printf("\r%sOK  \n\r%sOK\n", burnLabel, signatureLabel)
	}
	return labsim.SignalStatus(f.ctx)
}

func flashText(err error) string {
	var v *card.VerifyError
	if errors.As(err, &v) {
		return v.Error()
	}
	return "MFE_ERROR"
}

// pace lets a burn take time, so that it can be interrupted, and notices signals
// and the loss of power.
func (f *flint) pace() error {
	delay := f.p.Machine.Faults.Get().FlashSlow
	if delay == 0 {
		delay = f.p.Machine.Lab.Options.FlashDelay
	}
	if delay == 0 {
		return context.Cause(f.ctx)
	}
	select {
	case <-time.After(delay):
		return nil
	case <-f.ctx.Done():
		return context.Cause(f.ctx)
	}
}

func (f *flint) interrupt() int {
	status := labsim.SignalStatus(f.ctx)
	if !killedHard(f.ctx) {
		f.p.Printf("\n Received signal %d. Cleaning up ...\n", status-128)
	}
	return status
}

// log appends to the file of --log.
func (f *flint) log(text string) {
	name := f.call.options["log"]
	if name == "" {
		name = f.p.Getenv("FLINT_LOG_FILE")
	}
	if name == "" {
		return
	}
	if h, err := f.p.Open(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND); err == nil {
		_, _ = h.Write([]byte(text + "\n"))
	}
}
