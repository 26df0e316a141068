package opensm

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Seen is what an instance was at one look: what an apply overwrites or starts, and nothing
// that changes by itself.
type Seen struct {
	Settings map[string]string // by the key of the file, and the partitions; nil without a file of ours
	Lines    []string          // what our text of the same settings does not have, without secrets
	Runs     bool              // it is known to run
	Enabled  bool              // it is known to start at boot
	Boot     string            // the boot of the host in which it was seen
}

// settings are what a request or an observation says, in the words of the files; a setting
// that is left to opensm is empty.
func settings(priority int, t Tuning, all []Partition) map[string]string {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	found := map[string]string{
		"sm_priority": strconv.Itoa(priority), "sminfo_polling_timeout": number(t.PollingTimeout),
		"polling_retry_number": number(t.PollingRetries), "log_max_size": number(t.LogMaxSize),
		"log_flags": opensm.LogLevels[t.LogLevel], "routing_engine": t.RoutingEngine,
		"partitions": strings.Join(strings.Fields(opensm.PartitionsText("", all)), " "),
	}
	if t.SubnetPrefix != 0 {
		found["subnet_prefix"] = t.SubnetPrefix.String()
	}
	return found
}

// SeenOf is what the files of a port's instance say now, and whether it runs and starts at
// boot; false if one of the files could not be read.
func SeenOf(s *inventory.Snapshot, port ib.GUID) (seen Seen, known bool) {
	o := Observe(s, port)
	if len(o.Unread) > 0 {
		return Seen{}, false
	}
	seen = Seen{Runs: fact.Yes(o.Active), Enabled: fact.Yes(o.Enabled), Boot: s.BootID}
	if o.HasConf {
		seen.Settings = settings(o.Priority, o.Tuning, o.Partitions)
	}
	seen.Lines = platform.AddedLines(o.Edits)
	return seen, true
}

// Written is what the files say once an apply of d has written them.
func Written(d Request, o Observation) Seen {
	return Seen{Settings: settings(d.Priority, d.Tuning, d.Partitions), Runs: fact.Yes(o.Active),
		Enabled: fact.Yes(o.Enabled)}
}

// CheckSeen refuses to overwrite what somebody has written into the files of an instance
// since they were seen, unless it is what d asks for, and to start an instance that somebody
// has stopped since then.
func CheckSeen(s *inventory.Snapshot, before Seen, d Request) []finding.Finding {
	now, known := SeenOf(s, d.PortGUID)
	if !known {
		return nil // another finding refuses
	}
	want := settings(d.Priority, d.Tuning, d.Partitions)
	var changed []string
	for _, key := range settingKeys {
		if is, there := now.Settings[key]; there && is != before.Settings[key] && is != want[key] {
			changed = append(changed, key+" was "+cmp.Or(before.Settings[key], "not set")+" and is "+cmp.Or(is, "not set"))
		}
	}
	changed = append(changed, platform.NewLines(now.Lines, before.Lines)...)
	return changedSince(s, d.PortGUID, append(changed, stopped(s, before, d.PortGUID)...))
}

// CheckSeenRemoved refuses to remove what somebody has written into the files of an instance
// since they were seen. What is gone is no loss.
func CheckSeenRemoved(s *inventory.Snapshot, before Seen, port ib.GUID) []finding.Finding {
	now, known := SeenOf(s, port)
	if !known || !Observe(s, port).Managed {
		return nil // the removal itself says it, or there is nothing to remove
	}
	var changed []string
	for _, key := range settingKeys {
		if is := now.Settings[key]; before.Settings != nil && is != "" && is != before.Settings[key] {
			changed = append(changed, key+" was "+cmp.Or(before.Settings[key], "not set")+" and is "+is)
		}
	}
	return changedSince(s, port, append(changed, platform.NewLines(now.Lines, before.Lines)...))
}

var settingKeys = []string{"sm_priority", "sminfo_polling_timeout", "polling_retry_number", "log_max_size", "log_flags",
	"routing_engine", "subnet_prefix", "partitions"}

// stopped says that somebody has stopped an instance of ours, or has taken it from the boot.
// Our unit starts an opensm that has ended again, however it ended, and one that failed for
// good stays in systemd's list as failed: neither is somebody's decision. After a restart of
// the host a unit may be skipped, as long as the module ib_umad is not loaded.
func stopped(s *inventory.Snapshot, before Seen, port ib.GUID) []string {
	o := Observe(s, port)
	if !o.Managed {
		return nil
	}
	var all []string
	if u, known := s.Unit(o.Unit).Get(); known && before.Runs && before.Boot != "" && before.Boot == s.BootID &&
		s.Modules["ib_umad"] && u.ActiveState == "inactive" {
		all = append(all, "it ran and was stopped")
	}
	if before.Enabled && fact.No(o.Enabled) {
		all = append(all, "it started at boot and does not any more")
	}
	return all
}

func changedSince(s *inventory.Snapshot, port ib.GUID, changed []string) []finding.Finding {
	if len(changed) == 0 {
		return nil
	}
	return []finding.Finding{finding.ChangedSincePlan.Find("%s on %s has changed: %s.", opensm.Unit(port), s.Host,
		strings.Join(changed, "; "))}
}
