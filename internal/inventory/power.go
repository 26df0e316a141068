package inventory

import (
	"slices"
	"strings"
)

// UPS is an uninterruptible power supply.
type UPS struct {
	Name   string // "ups@localhost:3493"
	Status string // words of NUT: "OL", "OB", "LB", …
}

// Says reports whether a word stands in the status.
func (u UPS) Says(word string) bool { return slices.Contains(strings.Fields(u.Status), word) }
