// Package bootrom says which boot ROM a card has after a burn: its own, or that of the image.
// What mstflint does is read in its sources of 4.21 (dealWithExpRom, Fs2Burn, FsCtrlOperations), and
// seen of 4.21 on emulated ConnectX-3 Pro.
//
// It must not give a verdict.
package bootrom

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// Choice is what a configuration asks for; empty leaves it to the tool.
type Choice string

// The choices.
const (
	Keep  Choice = "keep"  // the ROM of the card stays
	Image Choice = "image" // the card gets that of the image, or none if the image has none
)

// Has is what a flash or an image says of itself. Each ROM is as mstflint prints it:
// "type=PXE version=3.4.752 cpu=AMD64".
type Has struct {
	ROM     []string
	Product string // the product version, of firmware and ROM together; empty: none
}

// Input is everything that decides. Later says that the chip is newer than ConnectX-3.
type Input struct {
	Later        bool
	Flash, Image Has
	Want         Choice
}

// Outcome is what a burn makes of the ROM.
type Outcome struct {
	Kept bool // the ROM of the card goes into the new image
	// Named says that the tool has to be told to take the ROM of the image, or none. It would put the
	// ROM of the card into an image without one, and up to 4.14 it asks whether to, where neither
	// side has a product version; later releases do not ask.
	Named bool
}

// Of gives the outcome. Only the format of ConnectX-3 has a choice: of later chips firmware and ROM
// are written as one, and -use_dev_rom, which mixes them, would go past firmware that writes its
// own flash and past the vendor's rule that the two have one version.
func Of(in Input) Outcome {
	flash, image := len(in.Flash.ROM) > 0, len(in.Image.ROM) > 0
	switch {
	case in.Later || !flash:
		return Outcome{}
	case !image:
		return Outcome{Kept: in.Want != Image, Named: in.Want == Image}
	}
	return Outcome{Named: in.Flash.Product == "" && in.Image.Product == ""}
}

// Check gives the findings on what becomes of the ROM.
func Check(in Input) []finding.Finding {
	flash, image := Text(in.Flash.ROM), Text(in.Image.ROM)
	switch {
	case Of(in).Kept || flash == image:
		return nil
	case in.Want == Keep:
		return []finding.Finding{finding.BootROMNotKept.Find("In flash: %s. In the image: %s. %s", flash, image, why(in))}
	case image == none && in.Want != Image:
		return []finding.Finding{finding.BootROMRemoved.Find("In flash: %s. In the image: %s.", flash, image)}
	}
	return nil
}

// why says why a ROM cannot be kept.
func why(in Input) string {
	switch {
	case in.Later:
		return "On ConnectX-4 and later the ROM always comes from the image."
	case len(in.Flash.ROM) == 0:
		return "A card without a ROM always gets that of the image."
	}
	return "mstflint keeps a ROM only if the image has none."
}

const none = "none"

// Text lists ROMs as people write them, "PXE 3.4.752, UEFI 14.11.48 (AMD64)", in a stable order.
func Text(roms []string) string {
	if len(roms) == 0 {
		return none
	}
	list := make([]string, 0, len(roms))
	for _, rom := range roms {
		var words []string
		for _, field := range strings.Fields(rom) {
			key, value, named := strings.Cut(field, "=")
			switch {
			case named && key == "cpu":
				value = "(" + value + ")"
			case !named:
				value = key
			}
			words = append(words, value)
		}
		list = append(list, strings.Join(words, " "))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
