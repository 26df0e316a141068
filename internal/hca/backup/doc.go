// Package backup keeps firmware that was read from cards on the operator's disk,
// with what was known of the card, and proves what is there before it is relied on.
//
// It must not reach a host or a card, overwrite or remove a backup, or decide
// whether one may be burned.
package backup
