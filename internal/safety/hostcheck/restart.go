package hostcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Restart gives the findings on what else of the host a restart concerns. Clients of the services in
// interrupts may wait for it.
func Restart(s *inventory.Snapshot, interrupts []string) []finding.Finding {
	return slices.Concat(serverFindings(s, interrupts), poolScans(s), kubernetes(s))
}

// NoRestart is the finding on a write to a card whose resource asks for no restart, with the activation that it has.
// Another resource may restart the host in the same plan, which no provider can see from here.
func NoRestart(activation, chip string) finding.Finding {
	if activation != "host" {
		return finding.RestartNeeded.Find("activation = %q; the card is a %s", activation, chip)
	}
	return finding.RestartNeeded.Find("activation = %q leaves the restart to an infiniband_activation of the host; the "+
		"card is a %s", activation, chip).WithWayOut("If the configuration has none, write one that depends on this " +
		"resource, or restart the host.")
}

// serverFindings refuses a restart while clients are connected, unless the configuration names their services.
func serverFindings(s *inventory.Snapshot, interrupts []string) []finding.Finding {
	servers, known := s.Servers.Get()
	switch {
	case !known:
		return []finding.Finding{finding.HostServesShares.Unread("Which files and disks "+s.Host+" serves",
			s.Servers.Why())}
	case len(servers) == 0:
		return nil
	}
	list, used := make([]string, 0, len(servers)), []string{}
	for _, server := range servers {
		list = append(list, fmt.Sprintf("%s (clients connected: %d)", server.Name, server.Clients))
		// Connections at this moment: a client that mounts on demand is not seen.
		if server.Clients > 0 {
			used = append(used, server.Name)
		}
	}
	f := finding.HostServesShares.Find("%s serves %s", s.Host, strings.Join(list, ", "))
	switch {
	case len(used) == 0:
		f.Severity = finding.Warn
	case !slices.ContainsFunc(used, func(name string) bool { return !slices.Contains(interrupts, name) }):
		f = f.AsGranted("Clients of the host's shares wait for the restart, as allowed")
	default:
		f = f.WithWayOut(fmt.Sprintf("Choose a time at which no client is connected, or write activation = \"none\" and "+
			"restart the host yourself. If the clients can wait, write interrupts = %s into the reboot of the host's entry in "+
			"the provider's hosts.", finding.Names(used...)))
	}
	return []finding.Finding{f}
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
