package judge

import (
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// IsSettled reports whether it is known that nothing has to be done.
func IsSettled(l *found.Look, d opensm.Request) bool {
	return l.Silence() == "" && len(Differences(l, d)) == 0
}

// Differences says in what the host is known to differ from d, one line each.
func Differences(l *found.Look, d opensm.Request) []string {
	var diff []string
	add := func(format string, args ...any) { diff = append(diff, fmt.Sprintf(format, args...)) }
	if l.Installed == "" {
		add("opensm is not installed")
	}
	// opensm ends with 0 also when it fails. systemd then has the unit as inactive, like one that was stopped.
	if l.Stopped() {
		add("%s does not run", l.Unit)
	}
	if fact.No(l.Enabled) {
		add("it does not start at boot")
	}
	if !l.Managed {
		add("it has no file of options of its own")
	}
	switch {
	// The file has none that opensm would take.
	case l.Priority < 0:
		add("its priority is not set")
	case l.Priority != d.Priority:
		add("its priority is %d, not %d", l.Priority, d.Priority)
	}
	if l.Older != "" {
		add("%s", l.Older)
	}
	if has, wants := l.FabricKeys.WithoutValues(), d.Keys.WithoutValues(); has.Version != wants.Version {
		add("its keys have version %d, not %d", has.Version, wants.Version)
	} else if has != wants {
		add("its m_key_protection_level is %d and its m_key_lease_period %d, not %d and %d", has.Protection, has.Lease,
			wants.Protection, wants.Lease)
	}
	if l.Tuning != d.Tuning {
		add("its options are %s, not %s", opensm.DescribeTuning(l.Tuning),
			opensm.DescribeTuning(d.Tuning))
	}
	return append(diff, findIneffective(l, d)...)
}

// findIneffective says what differs in files that have no attribute for it, and
// whether the instance works.
func findIneffective(l *found.Look, d opensm.Request) []string {
	var diff []string
	add := func(format string, args ...any) { diff = append(diff, fmt.Sprintf(format, args...)) }
	if opensm.PartitionText(l.Partitions) != opensm.PartitionText(d.Partitions) || l.PartitionError != "" {
		add("its partitions differ from the configured ones")
	}
	// Options without an argument show in no attribute, so that the file as a whole is compared.
	for _, path := range l.Edited {
		add("%s was changed by hand", path)
	}
	if l.NotAtBoot != "" {
		diff = append(diff, l.NotAtBoot)
	}
	switch {
	// Without a port there is nothing to be bound to, and another finding says so.
	case !l.PortPresent || l.Stopped() || fact.Yes(l.IsSM):
	case fact.No(l.IsSM) && !l.Active.Known():
		add("no SM is bound to the port")
	case fact.No(l.IsSM):
		add("%s runs, but no SM is bound to the port", l.Unit)
	default:
		add("%s runs, and whether an SM is bound to the port is not known: %s", l.Unit, l.IsSM.Why())
	}
	return diff
}

// IsInPlace reports whether some port of a host has a subnet manager as d wants it.
func IsInPlace(looks []*found.Look, d opensm.Request) bool {
	return slices.ContainsFunc(looks, func(l *found.Look) bool { return l.Managed && len(Differences(l, d)) == 0 })
}

// LacksOnlyBoot reports whether the instance runs as it should, and nothing starts it at boot.
func LacksOnlyBoot(l *found.Look, d opensm.Request) bool {
	// A copy: a look is shared by all who ask.
	enabled := *l
	enabled.Enabled = fact.Known(true)
	return IsSettled(&enabled, d)
}

// Rereads reports whether the running instance takes the change on SIGHUP.
func Rereads(l *found.Look, d opensm.Request) bool {
	// opensm that may run with other files than these would take half of the change.
	if !l.Sound() || !fact.Yes(l.Enabled) {
		return false
	}
	was := opensm.Request{PortGUID: d.PortGUID, Priority: l.Priority, Tuning: l.Tuning, Partitions: l.Partitions,
		Keys: l.FabricKeys}
	return !tool.NeedsRestart(was.Conf(), d.Conf()) && tool.SameGroups(l.Partitions, d.Partitions)
}

// Restarts reports whether the running instance is restarted for the change.
func Restarts(l *found.Look, d opensm.Request) bool {
	return fact.Yes(l.Active) && !LacksOnlyBoot(l, d) && !Rereads(l, d)
}
