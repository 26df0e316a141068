package change

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// A host under load may need longer for one answer than the thing that is waited for.
func TestWithin_slowHost(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Millisecond
	for name, c := range map[string]struct {
		answers []bool // of the looks; the last one goes on
		looks   int
		fails   bool
	}{
		"a look that outlasts the time counts":    {[]bool{true}, 1, false},
		"what came while one looked is looked at": {[]bool{false, true}, 2, false},
		"what does not come is not waited for":    {[]bool{false}, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looks := 0
			err := within(t.Context(), limit, time.Millisecond, func(ctx context.Context) (bool, error) {
				answer := c.answers[min(looks, len(c.answers)-1)]
				looks++
				time.Sleep(2 * limit) // the host's answer
				return answer, ctx.Err()
			})
			if looks != c.looks || (err != nil) != c.fails {
				t.Errorf("%d looks and %v", looks, err)
			}
			if c.fails && !strings.Contains(err.Error(), "not within 10ms") {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := within(ctx, time.Hour, time.Hour, func(context.Context) (bool, error) { cancel(); return false, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a run that was stopped goes on waiting: %v", err)
	}
}
