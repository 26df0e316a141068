package opensm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/savedfile"
)

// Edit is a file of ours in which somebody has written. Its lines have no secrets.
type Edit struct {
	Path string
	// Added are the lines that our text of the same settings does not have.
	Added []string
	// Missing are those that only our text has.
	Missing []string
	// Kept is where the file stays when it is replaced or removed.
	Kept string
}

// edits are the files of a port's instance that are ours and hold something else than we
// would write of the same settings.
func edits(s *inventory.Snapshot, port ib.GUID) []Edit {
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
	var all []Edit
	for _, f := range files {
		text := s.Files[f.path].Content
		if !platform.IsOurs(text) || text == f.ours {
			continue // nothing of it is overwritten, or another finding refuses
		}
		is, ours := linesOf(text), linesOf(f.ours)
		all = append(all, Edit{Path: f.path, Added: without(is, ours), Missing: without(ours, is),
			Kept: savedfile.NameOf(f.path, text)})
	}
	return all
}

func linesOf(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// without are the lines that others do not have, without secrets.
func without(lines, others []string) []string {
	var rest []string
	for _, line := range lines {
		if !slices.Contains(others, line) {
			rest = append(rest, opensm.WithoutSecret(line))
		}
	}
	return rest
}

// namedLines is how many lines of a file a sentence names.
const namedLines = 20

// String says what differs, for a sentence.
func (e Edit) String() string {
	said := func(lines []string) string {
		text := strings.Join(lines[:min(len(lines), namedLines)], "; ")
		if more := len(lines) - namedLines; more > 0 {
			text += fmt.Sprintf("; and %d more", more)
		}
		return text
	}
	switch {
	case len(e.Added) > 0:
		return e.Path + " also has: " + said(e.Added)
	case len(e.Missing) > 0:
		return e.Path + " lacks: " + said(e.Missing)
	}
	return e.Path + " has its lines in another order"
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
		found = append(found, edited(s, e))
	}
	return found
}

func edited(s *inventory.Snapshot, e Edit) finding.Finding {
	f := finding.OpensmFileEdited.Find("%s: %s.", s.Host, e)
	if len(e.Added) > 0 {
		f.Evidence += " The file will be kept as " + e.Kept + "."
	}
	return f
}

// checkEditsRemoved names what somebody has written into the files that a destroy removes.
func checkEditsRemoved(s *inventory.Snapshot, o Observation) []finding.Finding {
	var found []finding.Finding
	for _, e := range o.Edits {
		if len(e.Added) > 0 && (e.Path != o.ConfPath || !o.setsKeys()) {
			found = append(found, edited(s, e))
		}
	}
	return found
}

// setsKeys reports whether the instance may have keys of a fabric.
func (o Observation) setsKeys() bool {
	return slices.ContainsFunc(o.Keys, func(k opensm.Key) bool { return !fact.No(k.Set) })
}

// keep gives a file of ours that somebody has written into another name, and says so; empty
// if there is nothing to keep. What has the name already is the same text.
func keep(ctx context.Context, h *hosts.Host, all []Edit, path string) (said string, err error) {
	i := slices.IndexFunc(all, func(e Edit) bool { return e.Path == path && len(e.Added) > 0 })
	if i < 0 {
		return "", nil
	}
	_, err = h.Run(ctx, savedfile.Keep(path, all[i].Kept))
	var exit *host.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.Status != savedfile.There) {
		return "", fmt.Errorf("keeping %s as %s: %w", path, all[i].Kept, err)
	}
	return fmt.Sprintf("%s had lines that somebody has written. The file is kept as %s.", path, all[i].Kept), nil
}
