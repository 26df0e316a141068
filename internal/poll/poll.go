// Package poll looks at something until it is as awaited, with pauses that end when the
// context does.
//
// It also writes how long such a wait may take. It must not know what is looked at.
package poll

import (
	"context"
	"strings"
	"time"
)

// Pause waits for d. If ctx ends before, it returns the cause.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Until calls look until it is done, fails, or ctx ends. The pauses grow from first to
// most, so that what takes minutes is not hammered.
func Until(ctx context.Context, first, most time.Duration, look func(context.Context) (done bool, err error)) error {
	for pause := first; ; pause = min(pause*3/2, most) {
		if done, err := look(ctx); done || err != nil {
			return err
		}
		if err := Pause(ctx, pause); err != nil {
			return err
		}
	}
}

// Text writes a duration as a person would: 5m, not 5m0s.
func Text(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
