package hostcheck

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// OnlyRead refuses to change a host in observe mode. differs says what is not as asked.
func OnlyRead(host string, differs ...string) finding.Finding {
	if len(differs) == 0 {
		return finding.HostObserved.Find("Host %s", host)
	}
	return finding.HostObserved.Find("Host %s is not as asked: %s", host, strings.Join(differs, "; "))
}
