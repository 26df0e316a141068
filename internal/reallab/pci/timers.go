package pci

import "time"

// Timers run functions later, unless the function of the bus has been reset by then.
type Timers struct {
	do    func(func())
	epoch int
}

// NewTimers makes timers that run with do, which lets one thing happen after the other.
func NewTimers(do func(func())) *Timers { return &Timers{do: do} }

// After runs f after a time. After and Forget are called in what do runs.
func (t *Timers) After(d time.Duration, f func()) {
	mine := t.epoch
	time.AfterFunc(d, func() {
		t.do(func() {
			if t.epoch == mine {
				f()
			}
		})
	})
}

// Forget ends all timers.
func (t *Timers) Forget() { t.epoch++ }
