package opensm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
)

// Planned is what other resources of the same configuration say.
type Planned struct {
	// Port is true if the port GUID is not there yet but a resource of this plan
	// will write it.
	Port bool
	// LinkType is true if a resource of this plan will make the port InfiniBand.
	LinkType bool
	// Rivals are other SMs of the configuration that have the same priority and
	// may be on the same fabric; of many the first few, with the number of the rest.
	Rivals     []Desired
	MoreRivals int
}

// Check finds what speaks against d on this host. It neither asks nor changes
// the host.
func Check(s *inventory.Snapshot, d Desired, p Planned) []safety.Finding {
	found := CheckConfig(d, p)
	plat, err := platform.Of(s)
	if err != nil {
		f := rulePlatform.Find("%v.", err)
		f.Summary, f.WayOut = "Refusing to run a subnet manager on an unsupported system", "Run it on an Ubuntu host of the fabric."
		return append(found, f)
	}
	if plat.Kind() == platform.KindTrueNAS {
		return append(found, rulePlatform.Find("%s runs %s.", s.Host, plat.Name()))
	}
	if len(plat.PackagesFor(platform.FeatureOpenSM, s.OS.Kernel)) == 0 && !s.Commands["opensm"] {
		return append(found, noPackage(s, plat))
	}
	o := Observe(s, d.PortGUID)
	found = append(found, platform.CheckPort(s, plat, d.PortGUID, "ib_umad")...)
	found = append(found, checkPort(s, d, o, p)...)
	return append(found, checkService(s, o)...)
}

// noPackage is for distributions that do not pack opensm: what an operator built
// is used, nothing is built here.
func noPackage(s *inventory.Snapshot, plat platform.Platform) safety.Finding {
	f := rulePlatform.Find("%s runs %s, whose repositories have no package opensm.", s.Host, plat.Name())
	f.WayOut = "Run the subnet manager on another host of the fabric, or install opensm on this one by hand (on Arch from the user repository) and plan again."
	return f
}

// CheckConfig finds what speaks against a configuration whatever host it is for.
func CheckConfig(d Desired, p Planned) []safety.Finding {
	var found []safety.Finding
	if d.Priority < 0 || d.Priority > MaxPriority {
		found = append(found, rulePriority.Find("priority = %d.", d.Priority))
	}
	return append(found, checkRivals(d, p)...)
}

// checkRivals gives one finding however many rivals there are: a plan shows
// each finding at length, and pairs grow with the square of the hosts.
func checkRivals(d Desired, p Planned) []safety.Finding {
	if len(p.Rivals) == 0 {
		return nil
	}
	names, others := []string{fmt.Sprintf("%s on %s", d.PortGUID, d.Host)}, p.Rivals[0].Host
	for _, r := range p.Rivals {
		names = append(names, fmt.Sprintf("%s on %s", r.PortGUID, r.Host))
	}
	if p.MoreRivals > 0 {
		names = append(names, fmt.Sprintf("%d more", p.MoreRivals))
	}
	if n := len(p.Rivals) + p.MoreRivals; n > 1 {
		others = fmt.Sprintf("%d others", n)
	}
	last := len(names) - 1
	f := ruleEqual.Find("%s and %s have priority %d.", strings.Join(names[:last], ", "), names[last], d.Priority)
	f.Summary += fmt.Sprintf(" (%s and %s)", d.Host, others)
	return []safety.Finding{f}
}

func checkPort(s *inventory.Snapshot, d Desired, o Observed, p Planned) []safety.Finding {
	ethernet, unknown := o.LinkLayer == "Ethernet", !o.PortPresent && !o.Sleeping
	switch {
	case unknown && (p.Port || p.LinkType):
		return []safety.Finding{rulePostponed.Find("No port of %s has the GUID %s yet.", s.Host, d.PortGUID)}
	case unknown:
		return []safety.Finding{rulePort.Find("No port of %s has the GUID %s now.%s", s.Host, d.PortGUID, portsOf(s))}
	case ethernet && p.LinkType:
		return []safety.Finding{rulePostponed.Find("Port %s of %s is in Ethernet mode now.", d.PortGUID, s.Host)}
	case ethernet:
		return []safety.Finding{ruleEthernet.Find("Port %s of %s has link layer Ethernet.", d.PortGUID, s.Host)}
	case o.Sleeping:
		return []safety.Finding{rulePostponed.Find("The module of the card that has port %s is not loaded on %s; it will be.", d.PortGUID, s.Host)}
	}
	if o.SMLID != 0 && !o.IsSM {
		return []safety.Finding{ruleOther.Find("Port %s of %s has SM LID %d.", d.PortGUID, s.Host, o.SMLID)}
	}
	return nil
}

func portsOf(s *inventory.Snapshot) string {
	var ports []string
	for _, c := range s.Cards {
		for _, p := range c.Ports {
			if !p.PortGUID.IsZero() {
				ports = append(ports, fmt.Sprintf("%s port %d: %s (%s)", c.PCI, p.Number, p.PortGUID, p.LinkLayer))
			}
		}
	}
	if len(ports) == 0 {
		return " It shows no port with a GUID."
	}
	return " It has " + strings.Join(ports, ", ") + "."
}

func checkService(s *inventory.Snapshot, o Observed) []safety.Finding {
	var found []safety.Finding
	if o.Installed == "" {
		found = append(found, rulePackage.Find("opensm is not installed on %s.", s.Host))
	}
	ports, err := opensm.ParseDefault(s.Files[opensm.DefaultPath].Content)
	switch _, there := s.Files[opensm.DefaultPath]; {
	case err != nil:
		found = append(found, ruleFile.Find("%s: %v.", s.Host, err))
	case there && ports.All && o.Installed != "":
		found = append(found, ruleAll.Find("%s of %s says PORTS=ALL.", opensm.DefaultPath, s.Host))
	}
	if o.Active && !o.Managed {
		found = append(found, ruleAdopt.Find("%s of %s is active.", o.Unit, s.Host))
	}
	if kernelFrom(s.OS.Kernel, 6, 11) && (o.Installed == "" || strings.HasPrefix(o.Installed, "3.3.23")) && !o.IsSM {
		found = append(found, ruleKernel.Find("%s runs Linux %s; opensm %s.", s.Host, s.OS.Kernel, firstNonEmpty(o.Installed, "of the distribution")))
	}
	return found
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// kernelFrom reports whether a release such as "6.8.0-90-generic" is at least
// major.minor.
func kernelFrom(release string, major, minor int) bool {
	f := strings.SplitN(release, ".", 3)
	if len(f) < 2 {
		return false
	}
	a, errA := strconv.Atoi(f[0])
	b, errB := strconv.Atoi(f[1])
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}
