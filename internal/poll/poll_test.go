package poll

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestUntil(t *testing.T) {
	broken, over := errors.New("broken"), errors.New("over")
	for name, c := range map[string]struct {
		most time.Duration
		last error // of the fifth look
		over time.Duration
		want error
		at   []time.Duration
	}{
		"done, with pauses that grow": {4 * time.Second, nil, time.Hour, nil, []time.Duration{0, 2, 5, 9, 13}},
		"done, with equal pauses":     {2 * time.Second, nil, time.Hour, nil, []time.Duration{0, 2, 4, 6, 8}},
		"failed":                      {2 * time.Second, broken, time.Hour, broken, []time.Duration{0, 2, 4, 6, 8}},
		"over in a pause":             {2 * time.Second, nil, 5 * time.Second, over, []time.Duration{0, 2, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				ctx, cancel := context.WithTimeoutCause(t.Context(), c.over, over)
				defer cancel()
				var at []time.Duration
				err := Until(ctx, 2*time.Second, c.most, func(context.Context) (bool, error) {
					at = append(at, time.Since(begin)/time.Second)
					if len(at) < 5 {
						return false, nil
					}
					return true, c.last
				})
				if !errors.Is(err, c.want) || !slices.Equal(at, c.at) {
					t.Errorf("%v, looked at %d; want %v at %d", err, at, c.want, c.at)
				}
				if errors.Is(c.want, over) && time.Since(begin) != c.over {
					t.Errorf("returned after %s", time.Since(begin))
				}
			})
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{5 * time.Minute: "5m", time.Hour: "1h", 10 * time.Second: "10s",
		90 * time.Second: "1m30s"} {
		if got := Text(d); got != want {
			t.Errorf("%s is written as %s", want, got)
		}
	}
}
