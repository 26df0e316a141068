package hosts

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

// readPools reads what the kernel and "zpool status" say of each pool. A pool that is
// suspended is known from the kernel alone.
func readPools(s *inventory.Snapshot, a *collect.Answer) error {
	states := map[string]string{}
	for p, v := range a.Values {
		if strings.HasPrefix(p, "/proc/spl/kstat/zfs/") && path.Base(p) == "state" {
			states[path.Base(path.Dir(p))] = v.Text
		}
	}
	doing, odd := readStatus(a.Runs["zpool"].Output, states)
	var scans []inventory.Pool
	for _, name := range slices.Sorted(maps.Keys(states)) {
		if name == "" {
			continue
		}
		p := inventory.Pool{Name: name, State: states[name], Doing: strings.Join(doing[name], " and ")}
		s.Pools = append(s.Pools, p)
		if p.Doing != "" {
			scans = append(scans, p)
		}
	}
	s.Scans = fact.Known(scans)
	why := scansUnread(s, a)
	if len(scans) == 0 { // one that runs decides, whatever else is there
		why = cmp.Or(why, odd)
	}
	if why != "" {
		s.Scans = fact.Unknown[[]inventory.Pool](why)
	}
	return nil
}

// readStatus reads the lines "pool:", "state:" and "scan:" of each pool. A pool has several
// of the last: of its last scrub, and of each vdev that was rebuilt in sequence. odd says
// which was not understood; empty if all were.
func readStatus(output string, states map[string]string) (doing map[string][]string, odd string) {
	doing = map[string][]string{}
	pool := ""
	for _, line := range tool.Lines(output) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "pool":
			pool = value
		case "state":
			states[pool] = value
		case "scan":
			what, understood := readScan(value)
			if !understood {
				odd = fmt.Sprintf("what zpool status says of pool %s is not understood: %q", pool, value)
			}
			if what != "" && !slices.Contains(doing[pool], what) {
				doing[pool] = append(doing[pool], what)
			}
		}
	}
	return doing, odd
}

// scansUnread says why the state of the pools is not known; empty if it is. A host that
// has not loaded ZFS has no pools.
func scansUnread(s *inventory.Snapshot, a *collect.Answer) string {
	run, asked := a.Runs["zpool"]
	switch {
	case !a.Modules["zfs"]:
		return ""
	case asked && run.Status != 0:
		return fmt.Sprintf("zpool status ended with status %d: %s", run.Status, firstLine(run.Output))
	// A pool that the kernel knows and the answer lacks may be scrubbed at this moment.
	case asked:
		return unnamedPool(s, run.Output)
	}
	for _, p := range s.Pools {
		if p.State == "SUSPENDED" {
			return "pool " + p.Name + " is suspended, and zpool would wait for it without end"
		}
	}
	return "ZFS is loaded, and the host has no zpool on its PATH"
}

// unnamedPool says which pool of the kernel zpool did not name; empty if it named all.
func unnamedPool(s *inventory.Snapshot, output string) string {
	named := map[string]bool{}
	for _, line := range tool.Lines(output) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "pool: "); ok {
			named[name] = true
		}
	}
	for _, p := range s.Pools {
		if !named[p.Name] {
			return "zpool status said nothing of pool " + p.Name
		}
	}
	return ""
}

// ended are the words by which a scan is none: it has ended, was cancelled or is paused.
var ended = []string{"none requested", "repaired", "resilvered", "scrubbed", "canceled", "paused"}

// readScan reads "scrub in progress since …" and "resilver (draid1) in progress
// since …".
func readScan(text string) (what string, understood bool) {
	what, _, running := strings.Cut(text, " in progress")
	// Words that are new are not "no scan": a restart would end one that nobody knew of.
	if !running {
		return "", slices.ContainsFunc(ended, func(word string) bool { return strings.Contains(text, word) })
	}
	what, _, _ = strings.Cut(what, " (")
	return what, true
}
