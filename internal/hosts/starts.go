package hosts

import (
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// readStarts reads when subnet managers of this provider were started and when their files changed. What is
// missing or is no time stays zero: it is not known then, and nothing is compared with it.
func readStarts(s *inventory.Snapshot, a *collect.Answer) error {
	if run, ok := a.Runs["sm-started"]; ok && run.Status == 0 {
		units, err := systemctl.ParseShow(run.Output)
		if err != nil {
			return in("systemctl show", err)
		}
		for name, u := range units {
			if known, there := s.Units[name]; there {
				known.Started = u.Started
				s.Units[name] = known
			}
		}
	}
	s.Changed = map[string]time.Time{}
	for _, line := range tool.Lines(a.Runs["sm-files"].Output) {
		seconds, path, _ := strings.Cut(line, " ")
		if at, ok := epoch(seconds); ok && strings.HasPrefix(path, "/") {
			s.Changed[path] = at
		}
	}
	// The host's clock beside its uptime: a clock that was set since the start would make a file look newer.
	s.Now, _ = epoch(strings.TrimSpace(a.Runs["sm-now"].Output))
	up, _, _ := strings.Cut(a.Values["/proc/uptime"].Text, " ")
	if seconds, err := strconv.ParseFloat(up, 64); err == nil {
		s.Uptime = time.Duration(seconds * float64(time.Second))
	}
	return nil
}

func epoch(text string) (time.Time, bool) {
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0).UTC(), true
}
