package fwimage

import "fmt"

// Problem is why a file is refused.
type Problem string

// The problems of a file.
const (
	NotAnImage  Problem = "not a firmware image"
	Truncated   Problem = "truncated"
	WrongCRC    Problem = "wrong CRC"
	Malformed   Problem = "malformed"
	NoHardware  Problem = "no hardware ids"
	RawDump     Problem = "raw dump"
	Encrypted   Problem = "encrypted"
	Unsupported Problem = "unsupported format"
)

// Kind names what a file is that is not a firmware image.
type Kind string

// Error says why Parse refuses a file. Offsets in its text are logical, in bytes.
type Error struct {
	Problem Problem
	Of      string // of WrongCRC the section, "DDR", "BOOT2", "Full Image"; of Unsupported the format
	Kind    Kind   // of NotAnImage
	Advice  string // of NotAnImage: what to do, without final period
	text    string
}

func (e *Error) Error() string { return e.text }

func notAnImage(kind Kind, advice string) error {
	return &Error{Problem: NotAnImage, Kind: kind, Advice: advice,
		text: fmt.Sprintf("not a firmware image but %s: %s", kind, advice)}
}

// truncated is about a file that ends before the image in it does; the image needs bytes up to need.
func truncated(what string, offset, need, have int64) error {
	return &Error{Problem: Truncated, text: fmt.Sprintf("truncated image: %s at 0x%x ends at 0x%x, but only 0x%x bytes "+
		"are there", what, offset, need, have)}
}

// wrongCRC is about a checksum that does not match what it covers: want is computed, got is stored.
func wrongCRC(section string, offset int64, want, got uint32) error {
	return &Error{Problem: WrongCRC, Of: section, text: fmt.Sprintf("damaged image: wrong CRC in %s at 0x%x: the bytes "+
		"give 0x%04x, the image says 0x%04x", section, offset, want, got)}
}

// badFormat is about an image that contradicts its format although it is recognisable.
func badFormat(offset int64, format string, args ...any) error {
	text := fmt.Sprintf("malformed image: at 0x%x: %s", offset, fmt.Sprintf(format, args...))
	return &Error{Problem: Malformed, text: text}
}

func noHardware(offset int64) error {
	return &Error{Problem: NoHardware,
		text: fmt.Sprintf("at 0x%x: the image does not state which chips it is for", offset)}
}

// rawDump is about the content of a whole flash, read for example with `mstflint rb`. It must not
// be burnt: mstflint 4.21 reads the stale slot of such a file without a warning.
func rawDump(reason string) error {
	return &Error{Problem: RawDump, text: "raw flash dump, not an image: " + reason +
		"; read the card with `mstflint -d DEVICE ri FILE` to get an image"}
}

// encrypted is about an image, or a part of it, that only the chip can read. Nobody else can tell
// whether it is whole. mstflint 4.21 queries such an image and cannot verify it either.
func encrypted(what string, offset int64) error {
	return &Error{Problem: Encrypted, text: fmt.Sprintf("encrypted or damaged image: %s at 0x%x cannot be read, so "+
		"nothing can be verified", what, offset)}
}

// unsupported is about an image of a chip generation that this package cannot verify.
func unsupported(format Format, offset int64) error {
	return &Error{Problem: Unsupported, Of: string(format), text: fmt.Sprintf("%s firmware image (signature at 0x%x): "+
		"only FS2, FS3 and FS4 images, for ConnectX-3 to ConnectX-7, can be verified", format, offset)}
}
