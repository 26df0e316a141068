package job

import (
	"testing"
	"time"
)

// A burn that is first seen at its middle is not twice as fast for that.
func TestPace_of_a_burn_that_was_met_halfway(t *testing.T) {
	at := time.Unix(1000, 0)
	for name, start := range map[string]int{"from its begin": -1, "from the middle": 50} {
		var p pace
		if d := p.lasted(at, start); d != 0 {
			t.Errorf("%s: %s before anything was seen", name, d)
		}
		seen := 80 - max(start, 0)
		if d := p.lasted(at.Add(time.Duration(seen)*time.Second), 80); d != 80*time.Second {
			t.Errorf("%s: %s, want 80s", name, d)
		}
	}
}
