package hosts

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

// written are the mounts that hold what this provider writes. What is collected besides may hold their upper
// directories.
var written = []string{"/", "/etc", "/usr", "/var", "/var/lib"}

// inMemory are file systems of which a restart leaves nothing; rootfs is the initial RAM disk as the root.
var inMemory = []string{"tmpfs", "ramfs", "rootfs"}

// readRoots reads lines of /proc/mounts. A host without grep does not tell them, and nothing follows from that;
// nor from a line that another library wrote between them.
func readRoots(s *inventory.Snapshot, a *collect.Answer) error {
	all := map[string]inventory.Mount{}
	options := map[string]string{}
	for _, line := range tool.Lines(a.Runs["roots"].Output) {
		fields := strings.Fields(line)
		if len(fields) != 6 || !strings.HasPrefix(fields[1], "/") || fields[4] != "0" {
			continue
		}
		at := unescape(fields[1]) // of two mounts on one place the later one counts
		all[at] = inventory.Mount{Path: at, Kind: fields[2], ReadOnly: slices.Contains(strings.Split(fields[3], ","), "ro")}
		options[at] = fields[3]
	}
	for _, at := range written {
		if m, there := all[at]; there {
			m.Fleeting, m.Sure = fleeting(m, unescape(option(options[at], "upperdir")), all)
			s.Mounts = append(s.Mounts, m)
		}
	}
	return nil
}

// fleeting says why a restart makes a mount anew, and whether that is certain; empty if it does not.
func fleeting(m inventory.Mount, upper string, all map[string]inventory.Mount) (why string, sure bool) {
	switch {
	case slices.Contains(inMemory, m.Kind):
		return "a " + m.Kind, true
	case m.Kind == "aufs", m.Kind == "fuse.unionfs":
		return "a union of file systems (" + m.Kind + "), which does not show where changes go", false
	case m.Kind != "overlay", upper == "": // an overlay without an upper directory takes no changes, as that of composefs
		return "", false
	}
	var below inventory.Mount
	for at, one := range all {
		// The root does not count: of an overlay that is the root itself, the upper directory lies on what was there before.
		if at != "/" && (upper == at || strings.HasPrefix(upper, at+"/")) && len(at) > len(below.Path) {
			below = one
		}
	}
	switch {
	case slices.Contains(inMemory, below.Kind):
		return "an overlay that keeps changes in " + upper + ", on a " + below.Kind, true
	case below.Path == "":
		return "an overlay that keeps changes in " + upper + ", on a file system that does not show", false
	}
	return "", false
}
