// Package job changes the flash of a card, as a unit of systemd of its host that goes
// on when the run that started it does not: it stores the change in the journal of the
// host, starts it, watches it, reads the card back and settles it. It closes what
// earlier runs left.
//
// It must not judge whether a change may be made, stop a job, or write to a card but by
// a job.
package job
