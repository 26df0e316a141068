package fwimage

import "strings"

// Security is what an FS3 or FS4 image says of how it is protected. The flags
// are set only if the image is signed and has the keys to check others with, as
// in mstflint.
type Security struct {
	Secure    bool // the card takes firmware only that is signed by the vendor
	Signed    bool
	Debug     bool
	Dev       bool // signed with a key for development
	FWControl bool // updates go through the firmware itself and not past it
	// Version is the security version, below which a card may refuse to go.
	// FS4 only.
	Version uint32
}

// Attributes gives the line "Security Attributes" of `mstflint q`: "N/A",
// "secure-fw", "signed-fw, debug, dev".
func (s Security) Attributes() string {
	var all []string
	switch {
	case s.Secure:
		all = append(all, "secure-fw")
	case s.Signed:
		all = append(all, "signed-fw")
	default:
		return "N/A"
	}
	if s.Debug {
		all = append(all, "debug")
	}
	if s.Dev {
		all = append(all, "dev")
	}
	return strings.Join(all, ", ")
}

// UpdateMethod gives the line "Default Update Method" of `mstflint q full`:
// "Legacy" or "fw_ctrl".
func (s Security) UpdateMethod() string {
	if s.FWControl {
		return "fw_ctrl"
	}
	return "Legacy"
}
