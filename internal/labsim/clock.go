package labsim

import (
	"context"
	"sync"
	"time"
)

// Clock is the time of a lab. It runs Speed simulated seconds per real second
// and can be moved forward by hand; timers that become due then fire.
type Clock struct {
	mu     sync.Mutex
	base   time.Time
	start  time.Time
	speed  float64
	timers map[*Timer]struct{}
}

// Timer is a pending AfterFunc.
type Timer struct {
	clock *Clock
	due   time.Time
	run   func()
	real  *time.Timer
}

// newClock starts a clock at the real time. A speed of 0 means 1.
func newClock(speed float64) *Clock {
	if speed <= 0 {
		speed = 1
	}
	now := time.Now()
	return &Clock{base: now, start: now, speed: speed, timers: map[*Timer]struct{}{}}
}

// Now returns the simulated time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time {
	return c.base.Add(time.Duration(float64(time.Since(c.start)) * c.speed))
}

// Sleep waits for a simulated duration or until ctx ends.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	done := make(chan struct{})
	t := c.AfterFunc(d, func() { close(done) })
	defer t.Stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// AfterFunc runs f in its own goroutine after a simulated duration.
func (c *Clock) AfterFunc(d time.Duration, f func()) *Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &Timer{clock: c, due: c.now().Add(d)}
	t.run = func() {
		if t.Stop() {
			f()
		}
	}
	c.timers[t] = struct{}{}
	t.real = time.AfterFunc(c.realWait(d), t.run)
	return t
}

func (c *Clock) realWait(d time.Duration) time.Duration {
	return max(time.Duration(float64(d)/c.speed), 0)
}

// Stop cancels the timer and says whether it was still pending.
func (t *Timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if _, pending := t.clock.timers[t]; !pending {
		return false
	}
	delete(t.clock.timers, t)
	t.real.Stop()
	return true
}

// Due returns when the timer fires.
func (t *Timer) Due() time.Time { return t.due }

// Skip moves the time forward.
func (c *Clock) Skip(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base = c.base.Add(d)
	now := c.now()
	for t := range c.timers {
		t.real.Reset(c.realWait(t.due.Sub(now)))
	}
}
