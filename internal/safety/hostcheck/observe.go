package hostcheck

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// OnlyRead refuses to change a host in observe mode. differs says what is not as asked.
func OnlyRead(host string, differs ...string) finding.Finding {
	if len(differs) == 0 {
		return finding.HostObserved.Find("Host %s", host)
	}
	return finding.HostObserved.Find("Host %s is not as asked: %s", host, strings.Join(differs, "; "))
}

// Owed is the finding on a host that was drained and not given back; none of any other host.
func Owed(s *inventory.Snapshot) []finding.Finding {
	since, commands, drained := strings.Cut(s.Owed, "\n")
	if !drained {
		return nil
	}
	return []finding.Finding{finding.ResumeOwed.Find("Drained since %s. To run:\n    %s", since,
		strings.ReplaceAll(commands, "\n", "\n    "))}
}
