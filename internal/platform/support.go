package platform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

var (
	ruleNoDriver = safety.Rule{
		Code: "PF001", Severity: safety.Refuse, Title: "Kernel of the host has no driver for its InfiniBand card",
		Meaning: "Without a driver there is no port: nothing that needs one can be configured on this host.",
		WayOut:  "Boot a kernel that has the driver, or put the card into another host.",
	}
	ruleNoModule = safety.Rule{
		Code: "PF002", Severity: safety.Refuse, Title: "Kernel of the host lacks a module that this needs",
		WayOut: "Boot a kernel that has the module.",
	}
	ruleInstall = safety.Rule{
		Code: "PF003", Severity: safety.Warn, Title: "Packages will be installed",
		Meaning: "The running kernel lacks a module that is in a package of its distribution; the apply installs it first. Nothing else is installed or upgraded.",
	}
	ruleRestart = safety.Rule{
		Code: "PF004", Severity: safety.Refuse, Title: "Modules of the running kernel are gone",
		Meaning: "The kernel was upgraded while the host ran: the files of the old one were removed, so that no module can be loaded any more.",
		WayOut:  "Restart the host, then plan again.",
	}
)

// Rules are the findings of this package, for the catalogue.
var Rules = safety.Register(ruleNoDriver, ruleNoModule, ruleInstall, ruleRestart)

// gap is a reason why kernels lack modules, as far as it is known from the
// configurations and packages of distributions.
type gap struct {
	modules []string
	in      func(p Platform, s *inventory.Snapshot) bool
	why     string
	wayOut  string
}

var mlx4 = []string{"mlx4_core", "mlx4_ib"}

// gaps, the first that fits is told. Where none does the kernel lacks the module all
// the same; the message then says so without a reason.
var gaps = []gap{
	{mlx4, rhel(10), "kernels of RHEL 10 and its kin are built without mlx4, the driver of ConnectX to ConnectX-3 Pro",
		"Put a ConnectX-4 or later into this host, or run a distribution whose kernel has the driver: Debian 13, Ubuntu 24.04, RHEL 9 (ConnectX-3)."},
	{[]string{"ib_mthca"}, rhel(9), "kernels of RHEL 9 and later are built without ib_mthca, the driver of InfiniHost cards",
		"Use Debian or Ubuntu for this card."},
	{[]string{"ib_qib"}, kernelFrom(7), "ib_qib, the driver of QLogic and PathScale cards, was removed from Linux with 7.0",
		"Boot a kernel up to 6.12: Ubuntu 24.04 with its GA kernel (linux-generic, not the HWE one), Debian 12 or 13 without backports, Arch with a linux-lts of that time."},
	{[]string{"ib_qib"}, rhel(9), "kernels of RHEL 9 and later are built without ib_qib, the driver of QLogic cards",
		"Use Debian or Ubuntu (GA kernel) for this card."},
	{[]string{"ib_ipoib", "ib_qib", "ib_mthca"}, kernelNamed("-cloud-"), "Debian's kernels for virtual machines (linux-image-cloud-…) are built without IPoIB and without the drivers of older cards",
		"Install linux-image-amd64 in place of linux-image-cloud-amd64 and restart."},
	{nil, kind(KindRHEL), "on RHEL modules may be in packages that a small installation lacks (kernel-modules, kernel-modules-extra)",
		"Install kernel-modules and kernel-modules-extra of the running kernel (dnf install kernel-modules-$(uname -r)), or restart into a kernel that has them."},
}

func kind(k Kind) func(Platform, *inventory.Snapshot) bool {
	return func(p Platform, _ *inventory.Snapshot) bool { return p.Kind() == k }
}

func rhel(from int) func(Platform, *inventory.Snapshot) bool {
	return func(p Platform, s *inventory.Snapshot) bool {
		return p.Kind() == KindRHEL && majorVersion(s.OS.VersionID) >= from
	}
}

func kernelFrom(major int) func(Platform, *inventory.Snapshot) bool {
	return func(_ Platform, s *inventory.Snapshot) bool { return kernelMajor(s.OS.Kernel) >= major }
}

func kernelNamed(part string) func(Platform, *inventory.Snapshot) bool {
	return func(_ Platform, s *inventory.Snapshot) bool { return strings.Contains(s.OS.Kernel, part) }
}

// whyMissing gives reason and way out for a module that the kernel lacks.
func whyMissing(p Platform, s *inventory.Snapshot, module string) (why, wayOut string) {
	for _, g := range gaps {
		if (g.modules == nil || slices.Contains(g.modules, module)) && g.in(p, s) {
			return g.why, g.wayOut
		}
	}
	return "", ""
}

// lacks reports whether the running kernel certainly has no such module.
func lacks(s *inventory.Snapshot, module string) bool {
	known, asked := s.KernelModules[module]
	return asked && !known && !s.Modules[module]
}

// CheckPort finds what keeps a host from using the InfiniBand port with a GUID with
// the given kernel modules. port is zero if the port is not known yet.
func CheckPort(s *inventory.Snapshot, p Platform, port ib.GUID, modules ...string) []safety.Finding {
	found := checkModules(s, p, modules)
	if hasPort(s, port) {
		return found
	}
	for i := range s.Cards {
		if f, bad := CheckDriver(s, p, &s.Cards[i]); bad {
			found = append(found, f)
		}
	}
	return found
}

func hasPort(s *inventory.Snapshot, port ib.GUID) bool {
	for i := range s.Cards {
		for _, q := range s.Cards[i].Ports {
			if !port.IsZero() && q.PortGUID == port {
				return true
			}
		}
	}
	return false
}

// CheckDriver says so if the kernel of a host has no driver for a card.
func CheckDriver(s *inventory.Snapshot, p Platform, c *inventory.Card) (safety.Finding, bool) {
	a, known := ib.AdapterByPCI(c.VendorID, c.DeviceID)
	if !known || c.Driver != "" || c.Virtual {
		return safety.Finding{}, false
	}
	f := ruleNoDriver.Find("%s runs %s with kernel %s: %s, %s, has no driver", s.Host, p.Name(), s.OS.Kernel, c.PCI, a.Name)
	switch why, wayOut := whyMissing(p, s, a.Driver); {
	case !lacks(s, a.Driver):
		if p.Kind() != KindRHEL || a.Firmware == "" || a.Driver != "mlx4_core" {
			return safety.Finding{}, false // the kernel has it: somebody unbound it, or it failed
		}
		// Kernel's rh_messages.h of RHEL 9: the ids of ConnectX and ConnectX-2 are on
		// the list of hardware that the driver must not touch.
		f.Evidence += "; kernels of RHEL 9 and later keep mlx4_core from ConnectX and ConnectX-2 cards"
		f.WayOut = "Use Debian or Ubuntu for this card, or a ConnectX-3 or later."
	case len(missingModulePackages(s, p)) > 0:
		f.Evidence += ", because " + a.Driver + " is in a package that is not installed"
		f.WayOut = "Install " + strings.Join(missingModulePackages(s, p), ", ") + " and restart, or load " + a.Driver + "."
	case why != "":
		f.Evidence += "; " + why
		f.WayOut = wayOut
	default:
		f.Evidence += "; its modules hold no " + a.Driver
	}
	f.Evidence += "."
	return f, true
}

func missingModulePackages(s *inventory.Snapshot, p Platform) []string {
	return MissingPackages(p, s, FeatureModules)
}

func checkModules(s *inventory.Snapshot, p Platform, modules []string) []safety.Finding {
	var found []safety.Finding
	var install []string
	for _, m := range modules {
		switch {
		case s.Modules[m]:
		case s.NoModules && p.Kind() == KindArch:
			return append(found, ruleRestart.Find("%s runs kernel %s, of which /lib/modules has nothing; %s is not loaded.", s.Host, s.OS.Kernel, m))
		case !lacks(s, m):
		case len(missingModulePackages(s, p)) > 0:
			install = append(install, m)
		default:
			found = append(found, noModule(s, p, m))
		}
	}
	if len(install) > 0 {
		names := strings.Join(missingModulePackages(s, p), ", ")
		f := ruleInstall.Find("%s: %s, because kernel %s has no %s.", s.Host, names, s.OS.Kernel, strings.Join(install, ", "))
		f.Summary = fmt.Sprintf("Host %s: %s will be installed", s.Host, names)
		found = append(found, f)
	}
	return found
}

func noModule(s *inventory.Snapshot, p Platform, module string) safety.Finding {
	f := ruleNoModule.Find("%s runs %s with kernel %s, whose modules hold no %s", s.Host, p.Name(), s.OS.Kernel, module)
	if why, wayOut := whyMissing(p, s, module); why != "" {
		f.Evidence += "; " + why
		f.WayOut = wayOut
	}
	f.Evidence += "."
	return f
}
