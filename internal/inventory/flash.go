package inventory

import "github.com/ibfabric/terraform-provider-infiniband/internal/ib"

// InFlash is what the tool reads from the card's flash; zero if that is not known, which
// Flash says.
func (c *Card) InFlash() Flash {
	if c.Flash == nil {
		return Flash{}
	}
	return *c.Flash
}

// FlashKnown reports whether it is known which firmware the flash has.
func (c *Card) FlashKnown() bool { return c.Flash != nil }

// ByDriver reports whether the driver alone tells which firmware the flash has.
func (c *Card) ByDriver() bool { return c.Flash != nil && c.Flash.ByDriver }

// ReadFlash is what a tool has read from the flash; nil if none has.
// Comparisons of GUIDs and checksums need this one: what a driver tells has neither.
func (c *Card) ReadFlash() *Flash {
	if c.ByDriver() {
		return nil
	}
	return c.Flash
}

// Flash is what the tool reads from the card's flash.
type Flash struct {
	ImageType      string       // "FS2"
	ib.Firmware                 // its PSID is empty if the tool printed none
	RunningFW      ib.FWVersion // only if it differs from FW and is known
	ReleaseDate    string       // "2017-09-05"; empty: none
	ProductVersion string       // empty: none
	GUIDs          ib.GUIDSet
	BlankGUIDs     bool
	VSD            string
	ROM            []string
	SecurityAttrs  string // empty or N/A: none
	// ByDriver says that no tool has read the flash, and that the driver has told PSID and version by the firmware
	// of the card. All else is not known then.
	ByDriver bool
}

// HasROM reports whether the flash has a boot ROM.
func (f Flash) HasROM() bool { return len(f.ROM) > 0 }
