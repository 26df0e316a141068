// Package record reads what a host remembers of its flash jobs: those that run, how
// far they are, and how the earlier ones ended; and of its other changes.
//
// It must not open a card, take a lock, or change a host: it may run at any moment of a
// burn, beside the apply that watches it.
package record
