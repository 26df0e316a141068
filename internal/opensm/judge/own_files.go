package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// checkOwnFiles looks at unmanaged files in our places, and at what somebody has written into
// those of ours.
func checkOwnFiles(l *found.Look, d opensm.Request, diff []string) []finding.Finding {
	var all []finding.Finding
	for _, path := range l.Unmanaged {
		all = append(all, finding.FileUnmanaged.Find("%s of %s.", path, l.Host))
	}
	for _, path := range l.Unread {
		all = append(all, findUnread(l, path))
	}
	all = append(all, checkEdits(l, len(d.Partitions) > 0)...)
	all = append(all, checkGone(l)...)
	all = append(all, checkOlder(l, diff)...)
	for _, c := range l.Replaced {
		all = append(all, finding.OpensmCommandReplaced.Find("%s of %s has: ExecStart=%s", c.Path, l.Host, c.Line))
	}
	if !l.Managed {
		return all
	}
	return append(all, checkKeysAdded(l, "This resource would write the file without it.",
		func(key opensm.Key) bool { return isKept(l, key, d) })...)
}

// checkKeysAdded finds keys in a file of ours, which is written anew or removed.
func checkKeysAdded(l *found.Look, what string, isKept func(opensm.Key) bool) []finding.Finding {
	var all []finding.Finding
	var own []string
	for _, key := range l.Keys {
		switch {
		case fact.No(key.Set) || isKept(key):
		case l.FabricKeys.Version > 0 && l.FabricKeys.IsOne(key):
			own = append(own, key.Name)
		default:
			f := finding.FabricKeysDropped.Find("%s of %s sets %s, which somebody has added to it%s. %s", l.ConfPath, l.Host,
				key.Name, describeUnclear(key), what)
			f.WayOut = "If the fabric needs " + key.Name + ", write its value into keys of this resource. If it does not, " +
				"write keys_version = 0."
			all = append(all, f)
		}
	}
	if len(own) > 0 {
		all = append(all, finding.FabricKeysDropped.Find("%s of %s sets %s: keys of version %d, which this resource wrote.",
			l.ConfPath, l.Host, strings.Join(own, ", "), l.FabricKeys.Version))
	}
	return all
}

// describeUnclear says why it is not known whether a key is set.
func describeUnclear(key opensm.Key) string {
	if key.Set.Known() {
		return ""
	}
	return ", and " + key.Set.Why()
}

// checkEdits names what somebody has written into the files that an apply of d writes anew.
func checkEdits(l *found.Look, partitions bool) []finding.Finding {
	var all []finding.Finding
	for _, e := range l.Edits {
		if e.Path == tool.PartitionsPath(l.Port) && !partitions {
			continue // it stays as it is, and nothing reads it
		}
		if e.Path == l.ConfPath && l.SetsKeys() {
			continue // a key in it is refused
		}
		all = append(all, finding.FileEdited.Find("%s", e.Evidence(l.Host)))
	}
	return all
}

// checkGone names the files of ours that are not there any more, which shows in no attribute.
func checkGone(l *found.Look) []finding.Finding {
	if l.Gone == "" {
		return nil
	}
	f := finding.FileEdited.Find("%s of %s is gone. A running opensm goes on with what it has read. One that "+
		"starts ignores that the file is missing and takes its defaults instead. The next apply writes the file.", l.Gone,
		l.Host)
	f.Summary, f.WayOut = "A file of this subnet manager is gone", ""
	return []finding.Finding{f}
}

// checkOlder is about an instance that may not run with what its files say, though they say what d asks for.
func checkOlder(l *found.Look, diff []string) []finding.Finding {
	if l.Older == "" || !slices.Equal(diff, []string{l.Older}) {
		return nil
	}
	return []finding.Finding{finding.OpensmOlderThanFiles.Find("%s: %s.", l.Host, l.Older)}
}

// findUnread is about a file that would be edited or replaced, and is not known.
func findUnread(l *found.Look, path string) finding.Finding {
	return finding.OpensmFileNotUnderstood.Find("%s of %s is there and could not be read.", path, l.Host).WithWayOut(
		"Fix what keeps " + path + " from being read, then plan again.")
}

// findTakeover is about an instance that runs without the drop-in of ours. Our file of options
// shows that it was ours before somebody took the drop-in away.
func findTakeover(l *found.Look) finding.Finding {
	if l.LostDropIn {
		return finding.FileEdited.Find("%s: the drop-in of %s that this provider wrote is gone, or something else is "+
			"in its place. The next apply writes it.", l.Host, l.Unit)
	}
	f := finding.OpensmTakenOver.Find("%s of %s is active.", l.Unit, l.Host)
	if len(l.From) > 0 {
		f.Evidence += fmt.Sprintf(" It reads %s. The apply leaves what is there and writes %s, which it reads from then on.",
			strings.Join(l.From, " and "), l.ConfPath)
	}
	return f
}
