package job

import (
	"slices"
	"strings"
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

// A job notes that its tool has ended a moment before it ends itself: that is one event.
func TestPace_tells_of_each_event_once(t *testing.T) {
	t.Parallel()
	const burns = "boot b\nlock free\nstate 4 burning T\n"
	for name, c := range map[string]struct {
		looks []string
		want  []string
	}{
		"burned": {[]string{"unit active\n" + burns, "unit active\n" + burns + "state 5 burned T\n",
			"unit active\nexit 0\n" + burns + "state 5 burned T\n", "unit inactive\nexit 0\n" + burns + "state 5 burned T\n"},
			[]string{"burning", "burned 100%"}},
		"failed": {[]string{"unit active\n" + burns, "unit active\n" + burns + "state 5 failed T\n",
			"unit active\nexit 1\n" + burns + "state 5 failed T\n"},
			[]string{"burning", "failed mstflint ended with status 1: "}},
		"cut off after the tool had ended": {[]string{"unit active\n" + burns, "unit active\n" + burns + "state 5 burned T\n",
			"unit inactive\n" + burns + "state 5 burned T\n"}, []string{"burning", "burned 100%", "interrupted"}},
	} {
		var p pace
		var got []string
		for _, text := range c.looks {
			out, err := parseLook("j1", whole(text))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if s, worth := p.step(out, time.Unix(1000, 0)); worth {
				_, line, _ := strings.Cut(s.String(), s.PCI.String())
				line, _, _ = strings.Cut(line, "next:")
				got = append(got, strings.Join(strings.Fields(line), " "))
			}
		}
		if len(got) != len(c.want) || !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
