// Package nvconfig sets what a card keeps in its own configuration beside the types of its ports, for
// its next start, and gives back what was there before.
//
// value.go has what is asked for, found.go what one look has found, judge.go the findings from these two.
// change.go makes the change, saved.go keeps the values of before on the host.
//
// It must not write firmware, GUIDs or link types, or decide whether a host may be restarted.
package nvconfig
