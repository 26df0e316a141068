package judge

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// CheckSincePlan refuses to overwrite what somebody has written into the files of an instance
// since they were seen, unless it is what d asks for, to start an instance that somebody has
// stopped since then, and to restart one that somebody has started.
func CheckSincePlan(l *found.Look, before opensm.Stored, d opensm.Request) []finding.Finding {
	now, known := l.Stored()
	if !known {
		return nil // another finding refuses
	}
	// What somebody has changed to what is asked for is no loss, and a refusal would have to be planned around.
	want := opensm.Settings(d.Priority, d.Tuning, d.Partitions, d.Keys)
	changed := append(managed.Changed(settings(now, before, want)...), platform.NewLines(now.Lines, before.Lines)...)
	return managed.Since(subject(l), append(changed, findSwitched(l, before, d)...)...)
}

// CheckRemovalSincePlan refuses to remove what somebody has written into the files of an instance
// since they were seen. What is gone is no loss.
func CheckRemovalSincePlan(l *found.Look, before opensm.Stored) []finding.Finding {
	now, known := l.Stored()
	if !known || !l.Managed {
		return nil // the removal itself says it, or there is nothing to remove
	}
	var changed []string
	if before.Settings != nil {
		changed = managed.Changed(settings(now, before, nil)...)
	}
	return managed.Since(subject(l), append(changed, platform.NewLines(now.Lines, before.Lines)...)...)
}

// settings are those of the files that are there; what is not wanted is left to opensm.
func settings(now, before opensm.Stored, want map[string]string) (all []managed.Setting) {
	for _, key := range opensm.SettingKeys {
		if is, there := now.Settings[key]; there {
			all = append(all, managed.Setting{Had: key + " was", Has: "is", Was: before.Settings[key], Is: is, Want: want[key]})
		}
	}
	return all
}

func subject(l *found.Look) string { return l.Unit + " on " + l.Host + " has changed" }

// findSwitched says that somebody has stopped an instance of ours, has taken it from the boot, or has
// started one that the change would restart. Our unit starts an opensm that has ended again, however it
// ended, and one that failed for good stays in systemd's list as failed: neither is somebody's decision.
// After a restart of the host a unit may be skipped, as long as the module ib_umad is not loaded.
func findSwitched(l *found.Look, before opensm.Stored, d opensm.Request) []string {
	if !l.Managed {
		return nil
	}
	var all []string
	sameBoot := before.Boot != "" && before.Boot == l.BootID
	switch {
	case sameBoot && before.Runs && l.UMAD && l.Inactive:
		all = append(all, "it ran and was stopped")
	case sameBoot && before.Stopped && Restarts(l, d):
		all = append(all, "it was stopped and was started")
	}
	if before.Enabled && fact.No(l.Enabled) {
		all = append(all, "it started at boot and does not any more")
	}
	return all
}
