package found

import (
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// A change counts as later than a start by both clocks only.
func TestIsLater(t *testing.T) {
	day := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		changed time.Time
		start   inventory.Start
		now     time.Time
		up      time.Duration
		want    bool
	}{
		{"edited while it runs", day.Add(time.Minute), inventory.Start{At: day, After: time.Hour}, day.Add(time.Hour),
			2 * time.Hour, true},
		{"written, then started", day, inventory.Start{At: day, After: time.Hour}, day.Add(time.Hour), 2 * time.Hour, false},
		{"booted with a clock of the past", day.AddDate(0, 0, -1),
			inventory.Start{At: day.AddDate(-10, 0, 0), After: time.Minute}, day, time.Hour, false},
		{"clock set back by an hour since both", day.Add(-time.Second), inventory.Start{At: day, After: time.Hour},
			day.Add(-30 * time.Minute), 90 * time.Minute, false},
		{"no uptime", day.Add(time.Minute), inventory.Start{At: day, After: time.Hour}, day.Add(time.Hour), 0, false},
		{"no clock", day.Add(time.Minute), inventory.Start{At: day, After: time.Hour}, time.Time{}, 2 * time.Hour, false},
	} {
		s := &inventory.Snapshot{Now: tt.now, Uptime: tt.up}
		if got := isLater(s, tt.changed, tt.start); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}
