// Package nodenames keeps the names of the nodes of a fabric on a host, in the files where infiniband-diags and opensm
// look for them: the same names in iblinkinfo as in the configuration.
//
// It must not name nodes by itself, or import Terraform.
package nodenames

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// The standard places of a node name map: of infiniband-diags in rdma-core (IBDIAG_NODENAME_MAP_PATH), which is also
// that of the opensm of Red Hat, and of any other opensm (HAVE_DEFAULT_NODENAME_MAP).
const (
	diagsPath  = "/etc/rdma/ib-node-name-map"
	opensmPath = "/etc/opensm/ib-node-name-map"
)

// Names are names of nodes by their node GUIDs.
type Names map[ib.GUID]string

// Request is what the configuration asks for.
type Request struct {
	Host  string
	Names Names
}

// text is the file (complib, cl_nodenamemap.c). A # begins a comment also within quotes, so that no name has one.
func (n Names) text() string {
	var b strings.Builder
	b.WriteString(platform.OwnedHeader("infiniband_node_names"))
	for _, guid := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(&b, "%s \"%s\"\n", guid, n[guid])
	}
	return b.String()
}

// parse reads a file. What is no line of a name is left out: the whole text is compared, too.
func parse(text string) Names {
	names := Names{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.SplitN(line, `"`, 3); len(fields) == 3 {
			if guid, err := ib.ParseGUID(strings.TrimSpace(fields[0])); err == nil {
				names[guid] = fields[1]
			}
		}
	}
	return names
}

// words are names in one line, for the history of a host.
func (n Names) words() string {
	all := make([]string, 0, len(n))
	for _, guid := range slices.Sorted(maps.Keys(n)) {
		all = append(all, guid.String()+" "+n[guid])
	}
	return strings.Join(all, ", ")
}

// Look is what one look at a host has found.
type Look struct {
	Paths []string // where programs of the host look for names
	Names Names    // of the first file of ours; nil without one
	snap  *inventory.Snapshot
	edits []platform.Edit
}

// Find looks at a host. opensm has a file of its own where it is installed.
func Find(s *inventory.Snapshot) Look {
	l := Look{Paths: []string{diagsPath}, snap: s}
	_, redHat := s.Files["/etc/rdma/opensm.conf"]
	if s.Commands["opensm"] && !redHat || platform.IsOurs(s.Files[opensmPath].Content) {
		l.Paths = append(l.Paths, opensmPath)
	}
	for _, path := range l.Paths {
		if text := s.Files[path].Content; platform.IsOurs(text) {
			names := parse(text)
			if l.Names == nil {
				l.Names = names
			}
			l.edits = append(l.edits, platform.EditsOf(path, text, names.text())...)
		}
	}
	return l
}

// Differences says which files are not as asked for.
func (l Look) Differences(q Request) (lines []string) {
	for _, path := range l.Paths {
		switch f, there := l.snap.Files[path]; {
		case !there:
			lines = append(lines, path+" is not there")
		case f.Content != q.Names.text():
			lines = append(lines, path+" has other names or lines")
		}
	}
	return lines
}

// Err is why a host cannot have such files.
func (l Look) Err() error {
	plat, err := platform.Of(l.snap)
	if err == nil && plat.About().Kind == platform.KindTrueNAS {
		return &explain.Failure{What: "TrueNAS has no programs that read names of nodes, and keeps no files in /etc.",
			Check: "Write the names on another host of the fabric."}
	}
	return err
}

// Check gives the findings on files that are not ours, or that somebody has written into.
func Check(l Look) []finding.Finding {
	return append(platform.CheckFiles(l.snap, l.Paths...), platform.CheckEdits(l.snap.Host, l.edits)...)
}

// Seen is what is kept of a look beside a state.
type Seen struct {
	Paths []string
	Names Names
	Lines []string `json:",omitempty"` // that somebody has added
}

// Seen is what is kept of this one.
func (l Look) Seen() Seen { return Seen{l.Paths, l.Names, platform.AddedLines(l.edits)} }

// CheckSeen refuses to replace what somebody has written since it was seen.
func CheckSeen(l Look, q Request, before Seen) []finding.Finding {
	var all []managed.Setting
	for _, guid := range slices.Sorted(maps.Keys(l.Names)) {
		name := "the name of " + guid.String()
		all = append(all, managed.Setting{Had: name + " was", Has: "is", Was: before.Names[guid], Is: l.Names[guid],
			Want: q.Names[guid]})
	}
	changed := append(managed.Changed(all...), platform.NewLines(platform.AddedLines(l.edits), before.Lines)...)
	return managed.Since("Node names of "+l.snap.Host+" have changed", changed...)
}
