// Package linktype sets the types of a card's ports, now and for the next boot, and says
// of each place that keeps them what it has.
//
// It must not write firmware or GUIDs, or decide whether a type may be set.
package linktype
