package cardprog

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// crcText ends a parse error as the tool prints it after a name.
func errorText(err error) string {
	var read *card.ReadError
	if errors.As(err, &read) {
		return read.Error() + "\n"
	}
	return err.Error()
}

// subject opens what the command is about. On failure the status is not 0 and
// everything is printed.
func (f *flint) subject(verb string) (*card.Image, int) {
	if f.call.has("image") {
		img, openErr, err := f.openImage()
		name := f.call.options["image"]
		switch {
		case openErr != "":
			return nil, f.fail("Cannot open Image: %s. %s", name, openErr)
		case err != nil:
			return nil, f.fail("Failed to %s image: %s. %s", verb, name, errorText(err))
		}
		return img, 0
	}
	if status := f.openDevice(); status != 0 {
		return nil, status
	}
	img, err := f.flashImage()
	if err != nil {
		return nil, f.fail("Failed to %s Device: %s. %s", verb, f.call.options["device"], errorText(err))
	}
	return img, 0
}

func (f *flint) query() int {
	full := len(f.call.params) == 1 && f.call.params[0] == "full"
	if len(f.call.params) == 1 && !full {
		return f.fail("Unknown option \"%s\" for the \"query\" command. you can use full.", f.call.params[0])
	}
	img, status := f.subject("query")
	if status != 0 {
		return status
	}
	if img.TOC != nil {
		return f.queryTOC(img, full)
	}
	f.row("Image type:", "FS2")
	f.row("FW Version:", card.VersionText(img.Version))
	if f.call.has("flashed_version") {
		return 0
	}
	if f.card != nil {
		if run := f.card.Running(); run.Loaded && run.Version != img.Version {
			f.row("FW Version(Running):", card.VersionText(run.Version))
		}
	}
	f.row("FW Release Date:", dateText(img.Date))
	if full {
		f.fullRows(img)
	}
	if img.Product != "" {
		f.row("Product Version:", img.Product)
	}
	f.romRows(img)
	f.row("Device ID:", strconv.FormatUint(uint64(img.Device), 10))
	f.identityRows(img)
	f.junkRows()
	return 0
}

func (f *flint) romRows(img *card.Image) {
	for i, r := range img.ROMs {
		label := ""
		if i == 0 {
			label = "Rom Info:"
		}
		text := "type=" + r.Type + " version=" + r.Version
		if r.CPU != "" {
			text += " cpu=" + r.CPU
		}
		f.row(label, text)
	}
}

func (f *flint) row(label, value string) { f.p.Printf("%-23s%s\n", label, value) }

func (f *flint) fullRows(img *card.Image) {
	if img.HasMIC {
		f.row("MIC Version:", fmt.Sprintf("%d.%d.%d", img.MIC[0], img.MIC[1], img.MIC[2]))
	}
	if img.Sectors != 0 {
		f.row("Config Sectors:", strconv.FormatUint(uint64(img.Sectors), 10))
	}
	if img.CfgPad != 0 {
		f.row("Config Pad:", strconv.FormatUint(uint64(img.CfgPad), 10))
	}
	if img.PRS != "" {
		f.row("PRS Name:", img.PRS)
	}
}

func dateText(bcd uint32) string {
	return fmt.Sprintf("%x.%x.%x", bcd&0xff, bcd>>8&0xff, bcd>>16)
}

func (f *flint) identityRows(img *card.Image) {
	f.row("Description:", "Node             Port1            Port2            Sys image")
	g := img.GUIDs
	f.p.Printf("%-23s%016x %016x %016x %016x \n", "GUIDs:", g[0], g[1], g[2], g[3])
	f.p.Printf("%-23s%17s    %012x     %012x\n", "MACs:", "", img.MACs[0], img.MACs[1])
	for i, mac := range img.MACs {
		if text := macProblem(mac); text != "" && !img.Blank {
			f.p.Printf("%s-W- Bad mac address ( %012x ): %s\n\n", []string{"\n\n", ""}[i], mac, text)
		}
	}
	f.row("VSD:", img.VSD)
	f.row("PSID:", img.PSID)
	if img.Blank {
		f.p.Printf("-W- GUIDs/MACs values and their CRC are not set.\n")
	}
}

func macProblem(mac uint64) string {
	switch {
	case mac>>40&1 == 1:
		return "Multicast bit (bit 40) is set."
	case mac>>48 != 0:
		return "More than 48 bits are used."
	}
	return ""
}

// junkRows are what 4.29 and later print of uninitialised memory after an FS2
// query.
func (f *flint) junkRows() {
	if !f.version.atLeast(29) {
		return
	}
	f.row("Geographical Address:", " ASIC ca")
	if f.version.atLeast(31) {
		f.row("Socket Direct:", "Yes")
		f.row("Aux Card is Connected:", "Yes")
	}
}

func (f *flint) verify() int {
	if len(f.call.params) > 0 {
		return f.p.Unknown("verify " + f.call.params[0])
	}
	var img *card.Image
	var err error
	if f.call.has("image") {
		name := f.call.options["image"]
		var openErr string
		img, openErr, err = f.openImage()
		if openErr != "" {
			f.fail("Cannot open Image: %s. %s", name, openErr)
			return f.unopenable()
		}
	} else {
		if status := f.openDevice(); status != 0 {
			if status != 1 {
				return status
			}
			return f.unopenable()
		}
		img, err = f.flashImage()
	}
	return f.printVerify(img, err)
}

// unopenable ends a verification of what could not be opened: the tool names FS4
// whatever the format, and no newline.
func (f *flint) unopenable() int {
	f.p.Printf("-E- FW image verification failed: No valid FS4 image found.Check the flash parameters, if specified..AN " +
		"HCA DEVICE CAN NOT BOOT FROM THIS IMAGE")
	return 1
}

func (f *flint) printVerify(img *card.Image, err error) int {
	if img == nil {
		return f.fail("FW image verification failed: %s. AN HCA DEVICE CAN NOT BOOT FROM THIS IMAGE.", errorText(err))
	}
	if img.TOC != nil {
		return f.verifyTOC(img, err)
	}
	f.p.Printf("\n")
	if img.Failsafe() {
		f.p.Printf("     FS2 failsafe image. Start address: 0x%x. Chunk size 0x%x:\n\n", img.Start, img.Chunk())
		f.p.Printf("     NOTE: The addresses below are contiguous logical addresses. Physical addresses on\n" +
			"           flash may be different, based on the image start address and chunk size\n\n")
	} else {
		f.p.Printf("     FS2 non failsafe image:\n\n")
	}
	for _, c := range img.Checks {
		if c.ReadError != "" {
			break
		}
		if c.Name == "Full Image" && c.Bad {
			f.p.Printf("     (Full Image) /0x00000000/ - wrong CRC (exp:0x%x, act:0x%x)\n", c.Want, c.Got)
			continue
		}
		f.p.Printf("%s\n", c.Line())
		if c.Name == "Full Image" && c.BlankCRC {
			f.p.Printf("\n\n")
		}
		if c.Bad {
			err = &card.CRCError{}
			break
		}
	}
	if err == nil {
		err = img.Verify()
	}
	if err != nil {
		return f.fail("FW image verification failed: %s. AN HCA DEVICE CAN NOT BOOT FROM THIS IMAGE.", errorText(err))
	}
	f.p.Printf("\n-I- FW image verification succeeded. Image is bootable.\n\n")
	return 0
}

func (f *flint) checksum() int {
	var img *card.Image
	var err error
	if f.call.has("image") {
		var openErr string
		img, openErr, err = f.openImage()
		if openErr != "" {
			return f.fail("Cannot open Image: %s. %s", f.call.options["image"], openErr)
		}
	} else {
		if status := f.openDevice(); status != 0 {
			return status
		}
		img, err = f.flashImage()
	}
	f.p.Printf("-I- Calculating Checksum ...\n")
	if f.secured() {
		return f.fail("Failed to calculate checksum on device: Unsupported operation under Secure FW")
	}
	if err != nil {
		on := "image"
		if f.gen5() {
			on = "device"
		}
		return f.fail("Failed to calculate checksum on %s: %s", on, errorText(err))
	}
	f.p.Printf("Checksum: %s\n", img.Checksum())
	return 0
}

// readImage is ri: the target is truncated before anything is read.
func (f *flint) readImage() int {
	if status := f.openDevice(); status != 0 {
		return status
	}
	name := f.call.params[0]
	h, err := f.p.Open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return f.fail("Can not open %s: %s", name, capital(err))
	}
	if f.secured() {
		return f.fail("Failed to read image. Read image is not supported")
	}
	img, err := f.flashImage()
	if err == nil && img.TOC != nil {
		err = img.Verify()
	}
	if err != nil {
		return f.fail("Failed to read image. %s", errorText(err))
	}
	if _, err := h.Write(img.File()); err != nil {
		return f.fail("Failed to write to %s: %s", name, capital(err))
	}
	return labsim.SignalStatus(f.ctx)
}

func capital(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func (f *flint) hardware() int {
	if len(f.call.params) != 1 || f.call.params[0] != "query" {
		return f.p.Unknown("hw " + strings.Join(f.call.params, " "))
	}
	if status := f.openDevice(); status != 0 {
		return status
	}
	f.p.Printf("HW Info:\n  HwDevId                 %d\n  HwRevId                 0x%x\nFlash Info:\n", f.card.Chip.HWID,
		f.card.Rev)
	f.p.Printf("  Type                    N25Q0XX\n  TotalSize               0x%x\n  Banks                   0x1\n",
		card.FlashSize)
	f.p.Printf("  SectorSize              0x%x\n  WriteBlockSize          0x10\n  CmdSet                  0x80\n",
		card.SectorSize)
	f.p.Printf("  QuadEn                  0\n  DummyCycles             2\n  Flash0.WriteProtected   Disabled\n  " +
		"JEDEC_ID                0x16ba20\n")
	return 0
}
