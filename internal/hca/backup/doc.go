// Package backup takes backups: it reads the firmware of a card twice, keeps it on the
// operator's disk with what was known of the card, and proves what is there before it
// is relied on.
//
// It must not write to a card, overwrite or remove a backup, or decide whether one may
// be burned.
package backup
