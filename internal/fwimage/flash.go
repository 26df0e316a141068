package fwimage

import "io"

// SlotState is what a slot of a flash holds.
type SlotState string

// States of a slot.
const (
	// SlotActive is the image that boots: the valid one at the lower address.
	SlotActive SlotState = "active"
	// SlotValid is a second image with a signature: a burn was interrupted
	// between its last two steps.
	SlotValid SlotState = "valid"
	// SlotInvalidated is the predecessor of the active image, its signature
	// erased by the burn.
	SlotInvalidated SlotState = "invalidated"
	// SlotEmpty is a slot whose first chunk is erased.
	SlotEmpty SlotState = "empty"
	// SlotUnfinished is a slot with content but without any signature: a burn
	// was interrupted while it wrote.
	SlotUnfinished SlotState = "unfinished"
)

// Slot is one of the two places for an image in a flash.
type Slot struct {
	Number int   // 0 or 1
	Start  int64 // physical offset in bytes
	State  SlotState
	Image  *Image // nil if the slot is empty or Err is set
	Err    error  // why the image in the slot cannot be read
}

// Flash is the content of a whole flash.
type Flash struct {
	Size       int64
	Chunk      int64 // bytes of a chunk of the two-slot layout; 0 if there is only one place
	Active     *Image
	ActiveSlot int    // -1 if no slot has a signature
	Slots      []Slot // one or two, in order of their addresses
	Warnings   []string
}

// ParseFlash reads the content of a whole flash, as `mstflint rb` or a
// programmer reads it, and verifies the image that boots. If that image is
// damaged the error says so, and the returned flash, which is then not nil,
// tells what the slots hold.
func ParseFlash(r io.ReaderAt, size int64) (*Flash, error) {
	return parseAs(r, size, parseFS2Flash, parseTOCFlash)
}
