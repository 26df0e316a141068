package found

import (
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// RereadPath is touched after an instance was told to read its files again. It is gone after a boot, as the
// instance is.
func RereadPath(port ib.GUID) string { return "/run/terraform-infiniband-" + port.String() + ".read" }

// isLater reports whether a file was changed after a start by both clocks of the host. The one that tells the
// time may have been wrong at the boot, or may have been set back since.
func isLater(s *inventory.Snapshot, changed time.Time, start inventory.Start) bool {
	if s.Now.IsZero() || s.Uptime == 0 || start.After == 0 {
		return false
	}
	return changed.After(start.At) && s.Now.Sub(changed) < s.Uptime-start.After
}

// clock is a time as a plan shows it, in UTC: host and operator may be in two zones.
func clock(t time.Time) string { return t.Format("2006-01-02 15:04:05 UTC") }
