//go:build linux

package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// deadEnds are what a console says of a system that will not come by itself.
var deadEnds = []string{"Kernel panic - not syncing", "(initramfs)", "emergency mode"}

// answerLimit bounds one attempt, on a machine that is busy with its boot.
const answerLimit = 20 * time.Second

// Await waits until the machine answers. It gives up when ctx ends, and before that when
// the machine is off or its console says that the system is at a dead end. The error has
// the end of the console.
func (m *Machine) Await(ctx context.Context, answers func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, answerLimit)
		err := answers(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if dead := m.deadEnd(ctx); dead != nil {
			return fmt.Errorf("reallab: %s does not come back: %w\nThe last attempt: %w\n%s", m.Name, dead, err, m.Console(30))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

var errOff = errors.New("it is off")

// deadEnd is why it is of no use to wait longer.
func (m *Machine) deadEnd(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-m.Ended():
		return errors.Join(errOff, m.Err())
	default:
	}
	since, err := m.sinceStart()
	if err != nil {
		return err
	}
	for _, end := range deadEnds {
		if strings.Contains(since, end) {
			return fmt.Errorf("its console says %q", end)
		}
	}
	return nil
}

// sinceStart is what the machine has printed since it was last started.
func (m *Machine) sinceStart() (string, error) {
	m.mu.Lock()
	begin := m.printed
	m.mu.Unlock()
	b, err := os.ReadFile(m.ConsoleFile())
	if err != nil {
		return "", err
	}
	return string(b[min(begin, len(b)):]), nil
}
