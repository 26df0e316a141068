package opensm

import (
	"fmt"
	"slices"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// rereadPath is touched after an instance was told to read its files again. It is gone after a boot, as the
// instance is.
func rereadPath(port ib.GUID) string { return "/run/terraform-infiniband-" + port.String() + ".read" }

// older says that a running instance was started before one of its files was changed last. An apply writes the
// files first. So somebody has written them since, and they say what we write all the same: the instance may
// run with something else. It is empty where that is not so, or not known.
func (o *Observation) older(s *inventory.Snapshot, port ib.GUID) string {
	u, known := s.Unit(o.Unit).Get()
	if !known || !o.Managed || !fact.Yes(o.Active) || u.Started.At.IsZero() {
		return ""
	}
	paths := []string{opensm.ConfPath(port), opensm.DropInPath(port)}
	if len(o.Partitions) > 0 || o.PartitionError != "" {
		paths = append(paths, opensm.PartitionsPath(port))
	}
	path := slices.MaxFunc(paths, func(a, b string) int { return s.Changed[a].Compare(s.Changed[b]) })
	changed := s.Changed[path]
	if !changed.After(s.Changed[rereadPath(port)]) || !isLater(s, changed, u.Started) {
		return ""
	}
	return fmt.Sprintf("%s runs since %s, and %s was changed at %s", o.Unit, clock(u.Started.At), path, clock(changed))
}

// isLater reports whether a file was changed after a start by both clocks of the host. The one that tells the
// time may have been wrong at the boot, or may have been set back since.
func isLater(s *inventory.Snapshot, changed time.Time, start inventory.Start) bool {
	if s.Now.IsZero() || s.Uptime == 0 || start.After == 0 {
		return false
	}
	return changed.After(start.At) && s.Now.Sub(changed) < s.Uptime-start.After
}

func clock(t time.Time) string { return t.Format("2006-01-02 15:04:05 UTC") }

// checkOlder is about an instance that may not run with what its files say, though they say what d asks for.
func checkOlder(s *inventory.Snapshot, o Observation, d Request) []finding.Finding {
	if o.Older == "" || !slices.Equal(o.Differences(d), []string{o.Older}) {
		return nil
	}
	return []finding.Finding{finding.OpensmOlderThanFiles.Find("%s: %s.", s.Host, o.Older)}
}
