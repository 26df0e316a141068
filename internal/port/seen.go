package port

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// edits are our unit of a port and our program, if they hold something else than we would
// write of the same setting.
func edits(s *inventory.Snapshot, pci ib.PCIAddress, number int, setting Request) []platform.Edit {
	setting.Card, setting.Number = pci, number
	text := s.Files[UnitPath(pci, number)].Content
	extended := strings.Contains(text, " "+strings.Join(arguments(setting, true), " ")+"\n")
	ours := unit(setting, extended) // extended: a port that knows speeds beyond QDR
	var all []platform.Edit
	if e, differs := platform.EditOf(UnitPath(pci, number), text, ours); differs {
		all = append(all, e)
	}
	program := s.Files[scriptPath].Content
	if e, differs := platform.EditOf(scriptPath, program, script); differs && program != formerScript &&
		program != formerComparing {
		all = append(all, e)
	}
	return all
}

// checkEdits names what somebody has written into the files that an apply writes anew.
func checkEdits(s *inventory.Snapshot, o Observation) []finding.Finding {
	var found []finding.Finding
	for _, e := range o.Edits {
		found = append(found, finding.PortFileEdited.Find("%s", e.Evidence(s.Host)))
	}
	return found
}

// CheckRemove names what somebody has written into the files that a destroy removes.
func CheckRemove(s *inventory.Snapshot, pci ib.PCIAddress, number int) []finding.Finding {
	o := Observe(s, pci, number)
	o.Edits = slices.DeleteFunc(o.Edits, func(e platform.Edit) bool { return len(e.Added) == 0 })
	return checkEdits(s, o)
}

// Seen is what a port was at one look: what an apply sets or overwrites, and nothing that
// changes by itself.
type Seen struct {
	Boot           string // the boot of the host in which it was seen
	On             bool   // it is known to try to bring up its link
	Speeds, Widths int    // 0: not read
	Stored         string // the setting that our unit makes at boot, in words; empty without a unit
	AtBoot         bool   // that unit is enabled
	Lines          []string
}

// SeenOf is what a look has found.
func SeenOf(boot string, o Observation) Seen {
	seen := Seen{Boot: boot, On: o.Present && fact.Yes(o.Enabled()), AtBoot: o.AtBoot,
		Lines: platform.AddedLines(o.Edits)}
	if o.Link != nil {
		seen.Speeds, seen.Widths = int(o.Link.SpeedsEnabled), int(o.Link.WidthsEnabled)
	}
	if o.Stored {
		seen.Stored = o.Setting.words()
	}
	return seen
}

// CheckSeen refuses to undo what somebody has done to a port, or has written into our files,
// since it was seen, unless it is what d asks for. A restart of the host sets a port anew, and
// so does its driver, which allows all that the port supports.
func CheckSeen(s *inventory.Snapshot, o Observation, before Seen, d Request) []finding.Finding {
	var changed []string
	now := SeenOf(s.BootID, o)
	if before.Boot != "" && before.Boot == now.Boot {
		changed = changedLive(o, before, d)
	}
	if before.AtBoot && o.Stored && !o.AtBoot {
		changed = append(changed, cmp.Or(o.Broken, UnitName(d.Card, d.Number)+" was enabled and is not"))
	}
	if before.Stored != "" && now.Stored != "" && now.Stored != before.Stored && now.Stored != d.words() {
		changed = append(changed, "its unit made it "+before.Stored+" and makes it "+now.Stored)
	}
	return changedSince(s, d.Card, d.Number, append(changed, platform.NewLines(now.Lines, before.Lines)...))
}

func changedLive(o Observation, before Seen, d Request) []string {
	var changed []string
	if before.On && o.Present && fact.No(o.Enabled()) && d.Enabled {
		changed = append(changed, "it was enabled and is disabled")
	}
	if o.Link == nil {
		return changed
	}
	for _, v := range []struct {
		is, was, want, all int
		name               func(int) string
	}{
		{int(o.Link.SpeedsEnabled), before.Speeds, int(d.Speeds), int(o.Link.SpeedsSupported),
			func(n int) string { return Speeds(n).String() }},
		{int(o.Link.WidthsEnabled), before.Widths, int(d.Widths), int(o.Link.WidthsSupported),
			func(n int) string { return Widths(n).String() }},
	} {
		if v.want != 0 && v.was != 0 && !slices.Contains([]int{v.was, v.want, v.all}, v.is) {
			changed = append(changed, "it could negotiate "+v.name(v.was)+" and can negotiate "+v.name(v.is))
		}
	}
	return changed
}

// CheckSeenRemoved refuses to remove what somebody has written into our unit since it was seen.
func CheckSeenRemoved(s *inventory.Snapshot, before Seen, pci ib.PCIAddress, number int) []finding.Finding {
	now := SeenOf(s.BootID, Observe(s, pci, number))
	changed := platform.NewLines(now.Lines, before.Lines)
	if before.Stored != "" && now.Stored != "" && now.Stored != before.Stored {
		changed = append(changed, "its unit made it "+before.Stored+" and makes it "+now.Stored)
	}
	return changedSince(s, pci, number, changed)
}

func changedSince(s *inventory.Snapshot, pci ib.PCIAddress, number int, changed []string) []finding.Finding {
	if len(changed) == 0 {
		return nil
	}
	return []finding.Finding{finding.ChangedSincePlan.Find("Port %d of card %s of %s has changed: %s.", number, pci,
		s.Host, strings.Join(changed, "; "))}
}
