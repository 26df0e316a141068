package opensm

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// edits are the files of a port's instance that are ours and hold something else than we
// would write of the same settings, without secrets.
func edits(s *inventory.Snapshot, port ib.GUID) []platform.Edit {
	c := opensm.ParseConf(s.Files[opensm.ConfPath(port)].Content)
	if c.PartitionFile != opensm.PartitionsPath(port) {
		c.PartitionFile = ""
	}
	// Of a file that does not parse nothing is known to be ours.
	parts, err := opensm.ParsePartitions(s.Files[opensm.PartitionsPath(port)].Content)
	if err != nil {
		parts = nil
	}
	type file struct{ path, ours string }
	files := []file{{opensm.DropInPath(port), dropInText(port)},
		{opensm.ConfPath(port), strings.Replace(c.Text(header()), "sm_priority -1", "sm_priority", 1)},
		{opensm.PartitionsPath(port), opensm.PartitionsText(header(), parts)}}
	if layoutOf(s).own {
		files = append(files, file{opensm.TemplatePath, opensm.Template(header())})
	}
	var all []platform.Edit
	for _, f := range files {
		e, differs := platform.EditOf(f.path, s.Files[f.path].Content, f.ours)
		if !differs {
			continue // nothing of it is overwritten, or another finding refuses
		}
		for _, lines := range [][]string{e.Added, e.Missing} {
			for k, line := range lines {
				lines[k] = opensm.WithoutSecret(line)
			}
		}
		all = append(all, e)
	}
	return all
}

// checkEdits names what somebody has written into the files that an apply of d writes anew.
func checkEdits(s *inventory.Snapshot, o Observation, d Request) []finding.Finding {
	var found []finding.Finding
	for _, e := range o.Edits {
		if e.Path == opensm.PartitionsPath(d.PortGUID) && len(d.Partitions) == 0 {
			continue // it stays as it is, and nothing reads it
		}
		if e.Path == o.ConfPath && o.setsKeys() {
			continue // a key in it is refused
		}
		found = append(found, finding.OpensmFileEdited.Find("%s", e.Evidence(s.Host)))
	}
	return found
}

// checkGone names the files of ours that are not there any more, which shows in no attribute.
func checkGone(s *inventory.Snapshot, o Observation) []finding.Finding {
	conf, there := s.Files[o.ConfPath]
	var gone string
	switch partitions := opensm.ParseConf(conf.Content).PartitionFile; {
	case !o.Managed || s.Denied[o.ConfPath] || s.Denied[partitions], s.Directories[o.ConfPath], s.Directories[partitions]:
		return nil
	case !there:
		gone = o.ConfPath
	case partitions != "" && o.HasConf:
		if _, there = s.Files[partitions]; there {
			return nil
		}
		gone = partitions
	default:
		return nil
	}
	f := finding.OpensmFileEdited.Find("%s of %s is gone. A running opensm goes on with what it has read. One that "+
		"starts ignores that the file is missing and takes its defaults instead. The next apply writes the file.", gone,
		s.Host)
	f.Summary, f.WayOut = "A file of this subnet manager is gone", ""
	return []finding.Finding{f}
}

// checkEditsRemoved names what somebody has written into the files that a destroy removes.
func checkEditsRemoved(s *inventory.Snapshot, o Observation) []finding.Finding {
	var found []finding.Finding
	for _, e := range o.Edits {
		if len(e.Added) > 0 && (e.Path != o.ConfPath || !o.setsKeys()) {
			found = append(found, finding.OpensmFileEdited.Find("%s", e.Evidence(s.Host)))
		}
	}
	return found
}

// setsKeys reports whether the instance may have keys of a fabric.
func (o Observation) setsKeys() bool {
	return slices.ContainsFunc(o.Keys, func(k opensm.Key) bool { return !fact.No(k.Set) })
}

// commandReplaced finds drop-ins behind ours that set another command. systemd sorts the
// drop-ins of an instance and of its template by file name (systemd.unit(5)).
func commandReplaced(s *inventory.Snapshot, d Request) []finding.Finding {
	own := opensm.DropInPath(d.PortGUID)
	var found []finding.Finding
	for _, dir := range []string{path.Dir(own), "/etc/systemd/system/opensm@.service.d"} {
		for _, at := range s.FilesUnder(dir) {
			if path.Base(at) <= path.Base(own) {
				continue
			}
			for line := range strings.Lines(s.Files[at].Content) {
				if command, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="); ok && command != "" {
					found = append(found, finding.OpensmCommandReplaced.Find("%s of %s has: ExecStart=%s", at, s.Host, command))
				}
			}
		}
	}
	return found
}

// unreadFile is about a file that would be edited or replaced, and is not known.
func unreadFile(s *inventory.Snapshot, path string) finding.Finding {
	return finding.OpensmFileNotUnderstood.Find("%s of %s is there and could not be read.", path, s.Host).WithWayOut(
		"Fix what keeps " + path + " from being read, then plan again.")
}

// takesOver is about an instance that runs without the drop-in of ours. Our file of options
// shows that it was ours before somebody took the drop-in away.
func takesOver(s *inventory.Snapshot, o Observation) finding.Finding {
	if platform.IsOurs(s.Files[o.ConfPath].Content) {
		return finding.OpensmFileEdited.Find("%s: the drop-in of %s that this provider wrote is gone, or something else is "+
			"in its place. The next apply writes it.", s.Host, o.Unit)
	}
	f := finding.OpensmTakenOver.Find("%s of %s is active.", o.Unit, s.Host)
	if len(o.From) > 0 {
		f.Evidence += fmt.Sprintf(" It reads %s. The apply leaves what is there and writes %s, which it reads from then on.",
			strings.Join(o.From, " and "), o.ConfPath)
	}
	return f
}
