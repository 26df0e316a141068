package opensm

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Seen is what the files of an instance said at one look: what an apply overwrites, and
// nothing that changes by itself.
type Seen struct {
	Settings map[string]string // by the key of the file, and the partitions
	Lines    []string          // what our text of the same settings does not have, without secrets
}

// settings are what a request or an observation says, in the words of the files; a setting
// that is left to opensm is empty.
func settings(priority int, t Tuning, all []Partition) map[string]string {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	found := map[string]string{
		"sm_priority": strconv.Itoa(priority), "sminfo_polling_timeout": number(t.PollingTimeout),
		"polling_retry_number": number(t.PollingRetries), "log_max_size": number(t.LogMaxSize),
		"log_flags": opensm.LogLevels[t.LogLevel], "routing_engine": t.RoutingEngine,
		"partitions": strings.Join(strings.Fields(opensm.PartitionsText("", all)), " "),
	}
	if t.SubnetPrefix != 0 {
		found["subnet_prefix"] = t.SubnetPrefix.String()
	}
	return found
}

// SeenOf is what the files of a port's instance say now; false if one of them could not be
// read.
func SeenOf(s *inventory.Snapshot, port ib.GUID) (seen Seen, known bool) {
	o := Observe(s, port)
	if len(o.Unread) > 0 {
		return Seen{}, false
	}
	seen = Seen{Settings: settings(o.Priority, o.Tuning, o.Partitions)}
	conf := s.Files[opensm.ConfPath(port)].Content
	c := opensm.ParseConf(conf)
	if c.PartitionFile != opensm.PartitionsPath(port) {
		c.PartitionFile = ""
	}
	for _, f := range []struct{ path, ours string }{
		{opensm.DropInPath(port), dropInText(port)}, {opensm.ConfPath(port), c.Text(header())},
		{opensm.PartitionsPath(port), opensm.PartitionsText(header(), o.Partitions)},
	} {
		text := s.Files[f.path].Content
		if !platform.IsOurs(text) {
			continue // nothing of it is overwritten, or another finding refuses
		}
		ours := strings.Split(f.ours, "\n")
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimRight(line, " \t\r"); line != "" && !slices.Contains(ours, line) {
				seen.Lines = append(seen.Lines, f.path+": "+opensm.WithoutSecret(line))
			}
		}
	}
	return seen, true
}

// Written is what the files say once an apply of d has written them.
func Written(d Request) Seen { return Seen{Settings: settings(d.Priority, d.Tuning, d.Partitions)} }

// CheckSeen refuses to overwrite what somebody has written into the files of an instance
// since they were seen, unless it is what d asks for.
func CheckSeen(s *inventory.Snapshot, before Seen, d Request) []finding.Finding {
	o := Observe(s, d.PortGUID)
	if !o.Managed || o.Priority < 0 {
		return nil // no file of options of ours is there
	}
	now, known := SeenOf(s, d.PortGUID)
	if !known {
		return nil // another finding refuses
	}
	want := Written(d).Settings
	var changed []string
	for _, key := range []string{"sm_priority", "sminfo_polling_timeout", "polling_retry_number", "log_max_size",
		"log_flags", "routing_engine", "subnet_prefix", "partitions"} {
		if is := now.Settings[key]; is != before.Settings[key] && is != want[key] {
			changed = append(changed, key+" was "+cmp.Or(before.Settings[key], "not set")+" and is "+cmp.Or(is, "not set"))
		}
	}
	for _, line := range now.Lines {
		if !slices.Contains(before.Lines, line) {
			changed = append(changed, "new line in "+line)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return []finding.Finding{finding.ChangedSincePlan.Find("The files of %s on %s have changed: %s.", o.Unit, s.Host,
		strings.Join(changed, "; "))}
}
