// Package job changes the flash of a card by a systemd unit of its host, which goes on
// when the run that started it ends. It stores the change in the journal of the host,
// starts the unit, watches it, reads the card back and settles the job. It also closes
// what earlier runs left.
//
// It must not judge whether a change may be made, stop a job, or write to a card except
// by a job.
package job
