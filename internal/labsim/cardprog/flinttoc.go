package cardprog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// What follows is for FS3 and FS4: ConnectX-4 and later.

// gen5 says whether the open card is of a chip of these formats.
func (f *flint) gen5() bool { return f.card != nil && f.card.Chip.Driver() == "mlx5_core" }

// flashImage reads the flash of the open card. An empty one has the error of the
// chip's own format.
func (f *flint) flashImage() (*card.Image, error) {
	img, err := f.card.Flash.Active()
	if errors.Is(err, card.ErrNoImage) && f.gen5() {
		return nil, fmt.Errorf("\nNo valid %s image found. Check the flash parameters, if specified.", //nolint:staticcheck,revive // the tool's own text
			f.card.Chip.Format)
	}
	return img, err
}

func (f *flint) queryTOC(img *card.Image, full bool) int {
	if u := f.control(); u != nil {
		defer f.disturbUpdate(u)
		return f.queryControlled(img, full)
	}
	f.row("Image type:", img.Format)
	if f.call.has("flashed_version") {
		if v := flashedVersion(img); v != "" || f.card != nil {
			f.row("FW Version:", v)
		}
		return 0
	}
	f.row("FW Version:", card.VersionText(img.Version))
	f.row("FW Release Date:", dateText(img.Date))
	if full {
		f.fullTOCRows(img)
	}
	if img.Product != "" {
		f.row("Product Version:", img.Product)
	}
	f.romRows(img)
	f.rangeRows(img)
	for _, r := range [][2]string{{"Image VSD:", img.TOC.ImageVSD}, {"Device VSD:", img.VSD}} {
		f.row(r[0], orNA(r[1]))
	}
	f.row("PSID:", img.PSID)
	if img.TOC.OrigPSID != img.PSID {
		f.row("Orig PSID:", orNA(img.TOC.OrigPSID))
	}
	attributes, controlled := img.Security()
	f.row("Security Attributes:", attributes)
	if img.Format == card.FS4 && f.call.has("image") {
		f.row("Security Ver:", strconv.FormatUint(uint64(img.TOC.SecurityVersion), 10))
	}
	if full {
		f.row("Default Update Method:", map[bool]string{true: "fw_ctrl", false: "Legacy"}[controlled])
	}
	return 0
}

// flashedVersion is the quick way to a version: of FS4 the tool looks at the ninth
// section alone.
func flashedVersion(img *card.Image) string {
	if img.Format == card.FS4 && !img.InfoIsNinth() {
		return ""
	}
	return card.VersionText(img.Version)
}

func orNA(s string) string {
	if s == "" {
		return "N/A"
	}
	return s
}

func (f *flint) fullTOCRows(img *card.Image) {
	if img.HasMIC {
		f.row("MIC Version:", fmt.Sprintf("%d.%d.%d", img.MIC[0], img.MIC[1], img.MIC[2]))
	}
	for _, r := range [][2]string{
		{"PRS Name:", img.PRS}, {"Orig PRS Name:", img.TOC.OrigPRS}, {"Part Number:", img.TOC.Part}, {"Description:",
			img.TOC.Text},
	} {
		if r[1] != "" {
			f.row(r[0], r[1])
		}
	}
}

// rangeRows prints what the card owns, and what it was made with if that differs.
func (f *flint) rangeRows(img *card.Image) {
	f.row("Description:", "UID                GuidsNumber")
	t := img.TOC
	for _, r := range []struct {
		name      string
		now, orig card.Range
		form      string
	}{{"Base GUID:", t.GUID, t.OrigGUID, "%016x"}, {"Base MAC:", t.MAC, t.OrigMAC, "%012x    "}} {
		f.rangeRow(r.name, r.now, r.form)
		if r.now.Base != r.orig.Base || r.now.Count != r.orig.Count {
			f.rangeRow("Orig "+r.name, r.orig, r.form)
		}
	}
}

func (f *flint) rangeRow(name string, r card.Range, form string) {
	base, count := fmt.Sprintf("%-16s", "N/A"), "       N/A"
	if r.Base != 0 {
		base = fmt.Sprintf(form, r.Base)
	}
	if r.Count != 0 {
		count = fmt.Sprintf("        %d", r.Count)
	}
	f.p.Printf("%-18s     %s%s\n", name, base, count)
}

// verifyTOC prints the checks up to the one that the tool stops at.
func (f *flint) verifyTOC(img *card.Image, err error) int {
	if f.secured() {
		return f.fail("FW image verification failed: Failed to read boot image. AN HCA DEVICE CAN NOT BOOT FROM THIS IMAGE.")
	}
	f.p.Printf("\n%s failsafe image\n\n", img.Format)
	var crc *card.CRCError
	bad := false
	for _, c := range img.Checks {
		if bad && c.Name == "DTOC_HEADER" {
			break // device data of FS4 are looked at only if the firmware is whole
		}
		bad = bad || c.Bad
		f.p.Printf("%s\n", c.Line())
		if c.Bad && (c.Name == "BOOT2" || img.Format == card.FS4 && (c.Name == "HW_POINTERS" || c.Name == "TOOLS_AREA")) {
			err = &card.CRCError{}
			break
		}
		if img.Format == card.FS4 && c.Name == "DTOC_HEADER" && c.Bad {
			err = &card.CRCError{}
			break
		}
	}
	if err == nil || errors.As(err, &crc) {
		err = img.Verify()
	}
	if err != nil {
		return f.fail("FW image verification failed: %s. AN HCA DEVICE CAN NOT BOOT FROM THIS IMAGE.", errorText(err))
	}
	f.p.Printf("\n-I- FW image verification succeeded. Image is bootable.\n\n")
	return 0
}

const (
	burnTOCLabel = "Burning FW image without signatures - "
	eraseLine    = "\x1b[2K\r"
)

// burnTOC follows the order of checks of mstflint 4.21 for FS3 and FS4.
func (f *flint) burnTOC() int {
	for _, name := range []string{"mac", "macs", "guid", "guids"} {
		if f.call.has(name) {
			return f.fail("Invalid switch \"-%s\" is specified for 5th gen device.", name)
		}
	}
	dev, devErr := f.flashImage()
	if u := f.control(); u != nil && f.image.TOC != nil {
		if status, done := f.burnControlled(u); done {
			return status
		}
	}
	if !f.call.has("silent") && dev != nil && dev.TOC != nil {
		f.sectionProgress(dev)
	}
	if f.call.has("use_image_guids") {
		return f.fail("The \"--use_image_guids\" flag is supported only for GEN4 devices.")
	}
	if f.image.TOC == nil {
		return f.fail("The given device requires an FS3 image type, but the given image file does not contain an FS3 FW " +
			"image")
	}
	if f.call.has("nofs") || f.call.has("use_image_ps") || f.call.has("vsd") || f.call.has("ignore_dev_data") ||
		f.call.has("use_dev_rom") {
		return f.p.Unknown("option of a burn of " + f.image.Format)
	}
	if devErr != nil {
		return f.fail("Burning %s image failed: %s", f.image.Format, errorText(devErr))
	}
	if f.secured() {
		return f.p.Unknown("burn past the secure firmware of a card")
	}
	for _, check := range []func(*card.Image) int{f.checkVersion, f.checkPSID, f.checkTOCFit} {
		if status := check(dev); status != 0 {
			return status
		}
	}
	return f.writeTOC()
}

// sectionProgress is what the tool prints while it reads the flash, in pieces of
// sixteen bytes: each section that a query needs, and of FS4 each entry of the
// tables.
func (f *flint) sectionProgress(dev *card.Image) {
	for _, size := range dev.QueryReads() {
		f.p.Printf("%s%s", eraseLine, eraseLine)
		last := -1
		for left := size; left > 0; {
			left -= min(16, left)
			if percent := int(100 - 100*(float64(left)/float64(size))); percent != last {
				last = percent
				f.p.Printf("\rReading flash section: %d%%", percent)
			}
		}
		f.p.Printf("%sDone.", eraseLine)
	}
}

func (f *flint) checkTOCFit(dev *card.Image) int {
	img := f.image
	if problem := f.askROM(); problem != 0 {
		return problem
	}
	if img.Verify() != nil {
		return f.fail("Burning %s image failed: (null)", img.Format) // the tool's own text
	}
	if img.Format != dev.Format {
		return f.fail("Burning %s image failed: FW image type is not compatible with device (%s)", img.Format, dev.Format)
	}
	if !f.card.FitsChip(img) {
		names := make([]string, 0, len(img.HWIDs))
		for _, id := range img.HWIDs {
			names = append(names, chipName(id))
		}
		return f.fail("Burning %s image failed: Device/Image mismatch: FW image file cannot be programmed to device %s, it "+
			"is intended for: %s only\n",
			img.Format, chipName(uint32(f.card.Rev)<<16|uint32(f.card.Chip.HWID)), strings.Join(names, ", "))
	}
	return 0
}

// askROM asks about an image whose expansion ROM is for another device than itself.
func (f *flint) askROM() int {
	rom, want := f.image.ROMDevice(), f.image.Device
	if f.image.Format == card.FS3 && len(f.image.HWIDs) > 0 {
		want = map[uint16]uint16{0x209: 0x1013, 0x20b: 0x1015}[uint16(f.image.HWIDs[0])]
	}
	if rom == 0 || rom == want {
		return 0
	}
	f.p.Printf("Image file ROM: FW is for device %d, but Exp-ROM is for device %d\n", want, rom)
	return f.ask(1)
}

func (f *flint) writeTOC() int {
	err := f.card.WriteTOC(f.image, func(percent int) error {
		switch {
		case f.call.has("silent"):
		case percent < 100:
			f.p.Printf("\r%s%3d%%", burnTOCLabel, percent)
		default:
			f.p.Printf("\r%sOK  \n", burnTOCLabel)
		}
		return f.pace()
	})
	var write *card.WriteError
	switch {
	case err == nil:
	case f.ctx.Err() != nil:
		return f.interrupt()
	case errors.As(err, &write):
		return f.fail("Burning %s image failed: Flash write failed: %s", f.image.Format, flashText(write.Err))
	default:
		return f.fail("Burning %s image failed: %s", f.image.Format, err)
	}
	// The running firmware is not asked: the lab's has no command for it.
	f.p.Printf("\n-W- Failed to update FW boot address. Power cycle the device in order to load the new FW.\n \n")
	if !f.call.has("silent") {
		f.p.Printf("\r%sOK\n", signatureLabel)
	}
	f.p.Printf("-I- To load new FW run reboot machine.\n")
	return labsim.SignalStatus(f.ctx)
}

// setUID is sg of a card: it asks nothing.
func (f *flint) setUID() int {
	if f.card == nil {
		return f.p.Unknown("sg of an image file of FS3 or FS4")
	}
	if len(f.call.params) > 0 {
		return f.p.Unknown("sg " + f.call.params[0])
	}
	for _, name := range []string{"guids", "macs"} {
		if f.call.has(name) {
			f.fail("Can not set GUIDs/MACs: -%s flag is not supported for this device.", name)
			f.p.Printf("Please run with -uid/-guid/-mac flag.\n")
			return 1
		}
	}
	img, err := f.flashImage()
	if err != nil {
		return f.fail("Cannot set GUIDs: %s", errorText(err))
	}
	if f.call.has("mac") {
		if problem := macProblem(hexID(f.call.options["mac"])); problem != "" {
			return f.fail("Failed to set UID: Bad MAC (%012x) given: %s Please specify a valid MAC value",
				hexID(f.call.options["mac"]), problem)
		}
	}
	direct := f.call.has("ocr") || f.call.has("override_cache_replacement")
	switch {
	case f.control() != nil: // the firmware writes it; no tool asks what the board allows
	case !img.TOC.Override:
		return f.fail("Failed to set UID: %s", card.ErrGUIDsLocked)
	case img.Format == card.FS3 && !direct:
		return f.fail("Failed to set UID: -ocr flag must be specified for set GUIDs/MACs operation.")
	}
	steps := map[string]string{"GUID": "Updating GUID section - OK\n", "ITOC": "Updating ITOC section - OK\n",
		"signature": "Restoring signature   - OK\n"}
	if f.control() != nil {
		steps = nil
	}
	err = f.card.SetUID(f.wantedGUID, f.wantedMAC, func(step string) { f.p.Printf("%s", steps[step]) })
	if err != nil {
		return f.fail("Failed to set UID: %s", err)
	}
	f.p.Printf("-I- To load new configuration run mlxfwreset or reboot machine\n")
	return labsim.SignalStatus(f.ctx)
}

func (f *flint) wantedGUID(now uint64) uint64 {
	for _, name := range []string{"uid", "guid"} {
		if f.call.has(name) {
			return hexID(f.call.options[name])
		}
	}
	return now
}

func (f *flint) wantedMAC(now uint64) uint64 {
	switch {
	case f.call.has("uid"):
		u := hexID(f.call.options["uid"])
		return u>>40<<24 | u&0xffffff
	case f.call.has("mac"):
		return hexID(f.call.options["mac"])
	}
	return now
}

// cacheWarning is printed before anything else by a run that goes past the running
// firmware.
func (f *flint) cacheWarning() {
	if f.gen5() && (f.call.has("ocr") || f.call.has("override_cache_replacement")) {
		f.p.Printf("\n-W- Firmware flash cache access is enabled. Running in this mode may cause the firmware to hang.\n")
	}
}
