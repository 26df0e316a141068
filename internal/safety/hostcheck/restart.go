package hostcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Restart gives the findings on what else of the host a restart concerns.
func Restart(s *inventory.Snapshot) []finding.Finding {
	return slices.Concat(serverFindings(s), poolScans(s), kubernetes(s))
}

func serverFindings(s *inventory.Snapshot) []finding.Finding {
	servers, known := s.Servers.Get()
	switch {
	case !known:
		return []finding.Finding{finding.HostServesShares.Unread("Which files and disks "+s.Host+" serves",
			s.Servers.Why())}
	case len(servers) == 0:
		return nil
	}
	list := make([]string, 0, len(servers))
	for _, server := range servers {
		list = append(list, fmt.Sprintf("%s (clients connected: %d)", server.Name, server.Clients))
	}
	return []finding.Finding{finding.HostServesShares.Find("%s serves %s", s.Host, strings.Join(list, ", "))}
}

func poolScans(s *inventory.Snapshot) []finding.Finding {
	scans, known := s.Scans.Get()
	if !known {
		return []finding.Finding{finding.HostScansPool.Unread(
			"Whether a ZFS pool of "+s.Host+" is scrubbed or resilvered", s.Scans.Why())}
	}
	var found []finding.Finding
	for _, p := range scans {
		found = append(found, finding.HostScansPool.Find("Pool %s of %s: %s in progress", p.Name, s.Host, p.Doing))
	}
	return found
}

// kubernetesUnits are the services of a node: those of Kubernetes and of the
// distributions that contain the kubelet.
var kubernetesUnits = []string{"kubelet.service", "k3s.service", "k3s-agent.service", "rke2-server.service",
	"rke2-agent.service"}

func kubernetes(s *inventory.Snapshot) []finding.Finding {
	active := s.Active(kubernetesUnits...)
	units, known := active.Get()
	switch {
	case !known:
		return []finding.Finding{finding.HostInKubernetes.Unread("Whether "+s.Host+" is a node of Kubernetes",
			active.Why())}
	case len(units) == 0:
		return nil
	}
	return []finding.Finding{finding.HostInKubernetes.Find("Running on %s: %s", s.Host, strings.Join(units, ", "))}
}
