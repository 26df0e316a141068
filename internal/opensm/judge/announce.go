package judge

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Before is what a change begins with. It is what the last look has kept, and not one that is made now: what a plan
// announces must not depend on when the plan is made.
type Before struct {
	opensm.Stored
	Was      opensm.Request // what the files said
	Packages []string       // that are not installed
}

// BeforeNew is what a new instance begins with. One of ours that is there already is of another apply, which goes on.
func BeforeNew(l *found.Look) opensm.Stored {
	return opensm.Stored{Runs: fact.Yes(l.Active) && !l.Managed, Shared: l.SharedFiles(true)}
}

// Announce says what an apply of d does to packages, files and services of its host; empty if nothing is known of
// what it has to do.
func Announce(b Before, d opensm.Request) string {
	var parts []string
	if len(b.Packages) > 0 {
		parts = append(parts, "installs "+strings.Join(b.Packages, ", "))
	}
	own, unit := b.ownFiles(d), opensm.UnitName(d.PortGUID)
	// Then the one thing left to write is the list of modules.
	done := b.Runs && b.Sound && b.Enabled && len(own) == 0
	files := append(slices.Clone(b.Shared), own...)
	if done {
		files = strings.Fields(b.Modules)
	}
	if len(files) > 0 {
		parts = append(parts, "writes "+strings.Join(files, ", "))
	}
	if b.Was.Keys.Version != d.Keys.Version && (b.Managed || b.Runs) {
		parts = append(parts, "keeps "+tool.LogPath(d.PortGUID)+" with "+tool.BeforeKeys+" at its end")
	}
	if does := b.serviceChange(d, len(own) > 0); does != "" {
		parts = append(parts, does)
	}
	if !b.Enabled {
		parts = append(parts, "enables "+unit+" at boot")
	}
	return strings.Join(parts, "; ")
}

// serviceChange is what happens to the running service; empty if nothing.
func (b Before) serviceChange(d opensm.Request, writes bool) string {
	unit := opensm.UnitName(d.PortGUID)
	switch {
	case !b.Runs:
		return "starts " + unit
	case b.Sound && !writes:
		return ""
	case b.Sound && b.Enabled && !tool.NeedsRestart(b.Was.Conf(), d.Conf()) &&
		tool.SameGroups(b.Was.Partitions, d.Partitions):
		return "has " + unit + " read its files again"
	}
	return "restarts " + unit
}

// ownFiles are those of the instance that the apply writes.
func (b Before) ownFiles(d opensm.Request) []string {
	dropIn, conf, partitions := tool.DropInPath(d.PortGUID), tool.ConfPath(d.PortGUID), tool.PartitionsPath(d.PortGUID)
	files := slices.Clone(b.Edited)
	if !b.Managed || (b.Was.Keys.Version > 0) != (d.Keys.Version > 0) {
		files = append(files, dropIn)
	}
	if !b.Managed || b.Was.Conf() != d.Conf() {
		files = append(files, conf)
	}
	if len(d.Partitions) > 0 &&
		(!b.Managed || opensm.PartitionText(b.Was.Partitions) != opensm.PartitionText(d.Partitions)) {
		files = append(files, partitions)
	}
	slices.Sort(files)
	return slices.Compact(files)
}
