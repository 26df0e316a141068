// Package linktype sets the types of a card's ports, now and for the next boot, and says
// of each place that keeps them what it has.
//
// What is asked and what is said of it is in linktype.go. A Look finds everything once of one
// answer of a host (look.go, shown.go). input.go and seen.go derive from request and look what a
// verdict depends on, and read nothing. apply.go makes the change.
//
// It must not write firmware or GUIDs, or decide whether a type may be set.
package linktype
