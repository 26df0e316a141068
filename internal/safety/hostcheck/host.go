package hostcheck

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Battery is about a host on battery, which may go off during a write of flash or a
// restart.
func Battery(s *inventory.Snapshot) []finding.Finding {
	supplies, known := s.Battery.Get()
	if !known {
		return []finding.Finding{finding.HostRunsOnBattery.Unread("Whether "+s.Host+" runs on battery",
			s.Battery.Why())}
	}
	var found []finding.Finding
	for _, b := range supplies {
		found = append(found, finding.HostRunsOnBattery.Find("%s says %s", b.Name, b.Status))
	}
	return found
}

// Lockdown is about a kernel that forbids direct access to PCI devices. mstflint's own
// module gets around it; if the flash could be read, that works.
func Lockdown(s *inventory.Snapshot, flashRead bool) []finding.Finding {
	mode, known := s.Lockdown.Get()
	if known && (mode == "" || mode == "none") {
		return nil
	}
	f := finding.KernelLockedDown.Find("/sys/kernel/security/lockdown of %s: %s", s.Host, mode)
	if !known {
		f = finding.KernelLockedDown.Unread("Whether the kernel of "+s.Host+" is locked down", s.Lockdown.Why())
	}
	// The module alone is no proof that a tool gets through.
	if s.Modules["mstflint_access"] && flashRead {
		f = f.AsGranted("Kernel is locked down; the module mstflint_access gives access to the card")
	}
	return []finding.Finding{f}
}

// jobPrograms are what a flash job runs besides the tool.
// They keep the job apart from the session, the host from shutting down, other jobs away, and the image
// what it was.
var jobPrograms = []string{"systemd-run", "systemd-inhibit", "flock", "sha256sum"}

// Programs gives the finding on a host without what a flash job runs.
func Programs(s *inventory.Snapshot) []finding.Finding {
	missing := s.Lacks(jobPrograms...)
	names, known := missing.Get()
	switch {
	case !known:
		return []finding.Finding{finding.HostLacksPrograms.Unread("Which of the needed programs "+s.Host+" has",
			missing.Why())}
	case len(names) > 0:
		return []finding.Finding{finding.HostLacksPrograms.Find("Not found on %s: %s", s.Host, strings.Join(names, ", "))}
	}
	return nil
}

// Managers gives the finding on the subnet managers that lose their port with the card, but for ports of
// which another finding says it.
func Managers(s *inventory.Snapshot, pci ib.PCIAddress, but ...int) []finding.Finding {
	managed := s.Managers(pci)
	ports, known := managed.Get()
	if !known {
		return []finding.Finding{finding.SubnetManagerOnCard.Unread("Whether a subnet manager runs on a port of the card",
			managed.Why())}
	}
	ports = slices.DeleteFunc(ports, func(n int) bool { return slices.Contains(but, n) })
	if len(ports) == 0 {
		return nil
	}
	return []finding.Finding{finding.SubnetManagerOnCard.Find("Ports with a subnet manager: %s", joinInts(ports))}
}

func joinInts(ns []int) string {
	ns = slices.Clone(ns)
	slices.Sort(ns)
	out := make([]string, 0, len(ns))
	for _, n := range ns {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ", ")
}
