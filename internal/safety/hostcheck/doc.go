// Package hostcheck gives the findings on a host that a change of one of its cards meets: what
// runs on it, what uses the card, what a restart would end, and what reaches the host through
// the card. They follow from the snapshot of the host alone.
//
// It must not know what is to be written to the card, or give a verdict.
package hostcheck
