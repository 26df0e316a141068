package judge

import (
	"cmp"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// CheckSincePlan refuses to overwrite what somebody has written into the files of an instance
// since they were seen, unless it is what d asks for, and to start an instance that somebody
// has stopped since then.
func CheckSincePlan(l *found.Look, before opensm.Stored, d opensm.Request) []finding.Finding {
	now, known := l.Stored()
	if !known {
		return nil // another finding refuses
	}
	want := opensm.Settings(d.Priority, d.Tuning, d.Partitions)
	var changed []string
	for _, key := range opensm.SettingKeys {
		if is, there := now.Settings[key]; there && is != before.Settings[key] && is != want[key] {
			changed = append(changed, key+" was "+cmp.Or(before.Settings[key], "not set")+" and is "+cmp.Or(is, "not set"))
		}
	}
	changed = append(changed, platform.NewLines(now.Lines, before.Lines)...)
	return findChanged(l, append(changed, findStopped(l, before)...))
}

// CheckRemovalSincePlan refuses to remove what somebody has written into the files of an instance
// since they were seen. What is gone is no loss.
func CheckRemovalSincePlan(l *found.Look, before opensm.Stored) []finding.Finding {
	now, known := l.Stored()
	if !known || !l.Managed {
		return nil // the removal itself says it, or there is nothing to remove
	}
	var changed []string
	for _, key := range opensm.SettingKeys {
		if is := now.Settings[key]; before.Settings != nil && is != "" && is != before.Settings[key] {
			changed = append(changed, key+" was "+cmp.Or(before.Settings[key], "not set")+" and is "+is)
		}
	}
	return findChanged(l, append(changed, platform.NewLines(now.Lines, before.Lines)...))
}

// findStopped says that somebody has stopped an instance of ours, or has taken it from the boot.
// Our unit starts an opensm that has ended again, however it ended, and one that failed for
// good stays in systemd's list as failed: neither is somebody's decision. After a restart of
// the host a unit may be skipped, as long as the module ib_umad is not loaded.
func findStopped(l *found.Look, before opensm.Stored) []string {
	if !l.Managed {
		return nil
	}
	var all []string
	if before.Runs && before.Boot != "" && before.Boot == l.BootID && l.UMAD && l.Inactive {
		all = append(all, "it ran and was stopped")
	}
	if before.Enabled && fact.No(l.Enabled) {
		all = append(all, "it started at boot and does not any more")
	}
	return all
}

func findChanged(l *found.Look, changed []string) []finding.Finding {
	if len(changed) == 0 {
		return nil
	}
	return []finding.Finding{finding.ChangedSincePlan.Find("%s on %s has changed: %s.", l.Unit, l.Host,
		strings.Join(changed, "; "))}
}
