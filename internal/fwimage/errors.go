package fwimage

import "fmt"

// Kind names what a file is that is not a firmware image.
type Kind string

// NotAnImageError says that a file holds no firmware image at all.
type NotAnImageError struct {
	Kind   Kind
	Advice string // what to do, without final period
}

func (e *NotAnImageError) Error() string {
	return fmt.Sprintf("not a firmware image but %s: %s", e.Kind, e.Advice)
}

// TruncatedError says that a file ends before the image in it does.
type TruncatedError struct {
	What   string // what could not be read
	Offset int64  // logical offset in bytes of What
	Need   int64  // bytes that the image needs at least
	Have   int64  // bytes there are
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("truncated image: %s at 0x%x ends at 0x%x, but only 0x%x bytes are there", e.What, e.Offset, e.Need,
		e.Have)
}

// CRCError says that a checksum does not match what it covers.
type CRCError struct {
	Section string // "DDR", "BOOT2", "Full Image"
	Offset  int64  // logical offset in bytes of the section
	Want    uint32 // computed from the bytes
	Got     uint32 // stored in the image
}

func (e *CRCError) Error() string {
	return fmt.Sprintf("damaged image: wrong CRC in %s at 0x%x: the bytes give 0x%04x, the image says 0x%04x", e.Section,
		e.Offset, e.Want, e.Got)
}

// MalformedError says that an image contradicts its format although it is
// recognisable.
type MalformedError struct {
	Offset int64 // logical offset in bytes
	What   string
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("malformed image: at 0x%x: %s", e.Offset, e.What)
}

// NoHardwareError says that an image does not state which chips it is for.
type NoHardwareError struct {
	Offset int64 // logical offset in bytes of where it should
}

func (e *NoHardwareError) Error() string {
	return fmt.Sprintf("at 0x%x: the image does not state which chips it is for", e.Offset)
}

// RawDumpError says that a file is the content of a whole flash, read for
// example with `mstflint rb`, and not an image. It must not be burnt:
// mstflint 4.21 reads the stale slot of such a file without a warning.
type RawDumpError struct{ Reason string }

func (e *RawDumpError) Error() string {
	return "raw flash dump, not an image: " + e.Reason + "; read the card with `mstflint -d DEVICE ri FILE` to get an image"
}

// EncryptedError says that only the chip can read an image, or a part of it. Nobody
// else can tell whether it is whole. mstflint 4.21 queries such an image and cannot
// verify it either.
type EncryptedError struct {
	What   string // what cannot be read
	Offset int64  // logical offset in bytes where it should be
}

func (e *EncryptedError) Error() string {
	return fmt.Sprintf("encrypted or damaged image: %s at 0x%x cannot be read, so nothing can be verified", e.What,
		e.Offset)
}

// UnsupportedFormatError says that a file is an image of a chip generation
// that this package cannot verify.
type UnsupportedFormatError struct {
	Format Format
	Offset int64 // where its signature was found
}

func (e *UnsupportedFormatError) Error() string {
	return fmt.Sprintf("%s firmware image (signature at 0x%x): only FS2, FS3 and FS4 images, for ConnectX-3 to "+
		"ConnectX-7, can be verified", e.Format, e.Offset)
}

func badFormat(offset int64, format string, args ...any) error {
	return &MalformedError{Offset: offset, What: fmt.Sprintf(format, args...)}
}
