package found

import (
	"fmt"
	"slices"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// RereadPath is touched after an instance was told to read its files again. It is gone after a boot, as the
// instance is.
func RereadPath(port ib.GUID) string { return "/run/terraform-infiniband-" + port.String() + ".read" }

// readOlder says that a running instance was started before one of its files was changed last. An apply writes
// the files first. So somebody has written them since, and they say what we write all the same: the instance
// may run with something else. It is empty where that is not so, or not known.
func readOlder(s *inventory.Snapshot, l *Look) string {
	u, known := s.Unit(l.Unit).Get()
	if !known || !fact.Yes(l.Active) || u.Started.At.IsZero() {
		return ""
	}
	dropIn, conf, partitions := pathsOf(l.Port)
	paths := []string{conf, dropIn}
	if len(l.Partitions) > 0 || l.PartitionError != "" {
		paths = append(paths, partitions)
	}
	path := slices.MaxFunc(paths, func(a, b string) int { return s.Changed[a].Compare(s.Changed[b]) })
	changed := s.Changed[path]
	if !changed.After(s.Changed[RereadPath(l.Port)]) || !isLater(s, changed, u.Started) {
		return ""
	}
	return fmt.Sprintf("%s runs since %s, and %s was changed at %s", l.Unit, clock(u.Started.At), path, clock(changed))
}

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
