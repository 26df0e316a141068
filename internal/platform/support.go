package platform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// upstream are the gaps of Linux itself. A kernel may lack a module without a known
// gap; the message then gives no reason.
var upstream = []Gap{{
	Modules: []string{"ib_qib"}, Kernel: "6.17",
	Why: "ib_qib, the driver of QLogic and PathScale cards, was removed from Linux with 6.17",
	WayOut: "Boot a kernel up to 6.16: Ubuntu 24.04 with its GA kernel (linux-generic, not the HWE one), Debian 12 or " +
		"13 without backports, Arch with a linux-lts of that time.",
	Cards: "QLogic (kernels from 6.17)",
}}

// DriverlessAnywhere names the cards that Linux itself has no driver for.
func DriverlessAnywhere() []string { return cardsOf(upstream) }

// Driverless names the cards that kernels of the family do not drive.
func (d *Description) Driverless() []string { return cardsOf(d.Gaps) }

func cardsOf(gaps []Gap) []string {
	var cards []string
	for i := range gaps {
		if gaps[i].Cards != "" {
			cards = append(cards, gaps[i].Cards)
		}
	}
	return cards
}

// gap finds why the kernel of a host lacks a module, or excludes old cards: the first
// entry that fits.
func (d *Description) gap(os inventory.OS, module string, old bool) *Gap {
	for _, gaps := range [][]Gap{upstream, d.Gaps} {
		for i := range gaps {
			if gaps[i].Old == old && gaps[i].fits(os, module) {
				return &gaps[i]
			}
		}
	}
	return nil
}

// explain adds to a finding why, and what to do.
func (g *Gap) explain(f finding.Finding) finding.Finding {
	f.Evidence += "; " + g.Why
	f.WayOut = g.WayOut
	return f
}

// lacks reports whether the running kernel certainly has no such module.
func lacks(s *inventory.Snapshot, module string) bool {
	known, asked := s.KernelModules[module]
	return asked && !known && !s.Modules[module]
}

// CheckPort gives the findings that keep a host from using the InfiniBand port with a
// GUID with the given kernel modules. port is zero if it is not known yet: it may be on
// any card that has a driver.
func CheckPort(s *inventory.Snapshot, p Platform, port ib.GUID, modules ...string) []finding.Finding {
	found := checkModules(s, p, modules)
	driven := func(c inventory.Card) bool { return c.Driver != "" }
	if hasPort(s, port) || port.IsZero() && slices.ContainsFunc(s.Cards, driven) {
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
func CheckDriver(s *inventory.Snapshot, p Platform, c *inventory.Card) (finding.Finding, bool) {
	a, known := ib.AdapterByPCI(c.VendorID, c.DeviceID)
	if !known || c.Driver != "" || c.Virtual {
		return finding.Finding{}, false
	}
	f := finding.KernelWithoutDriver.Find("%s runs %s with kernel %s: %s, %s, has no driver", s.Host, p.Name(),
		s.OS.Kernel, c.PCI, a.Name)
	old := !lacks(s, a.Driver)
	switch gap := p.About().gap(s.OS, a.Driver, old); {
	case old && (gap == nil || a.Firmware == ""):
		return finding.Finding{}, false // the kernel has it: somebody unbound it, or it failed
	case !old && len(missingModulePackages(s, p)) > 0:
		f.Evidence += ", because " + a.Driver + " is in a package that is not installed"
		f.WayOut = "Install " + strings.Join(missingModulePackages(s, p), ", ") + " and restart, or load " + a.Driver + "."
	case gap != nil:
		f = gap.explain(f)
	default:
		f.Evidence += "; its modules hold no " + a.Driver
	}
	f.Evidence += "."
	return f, true
}

func missingModulePackages(s *inventory.Snapshot, p Platform) []string {
	return MissingPackages(p, s, FeatureModules)
}

func checkModules(s *inventory.Snapshot, p Platform, modules []string) []finding.Finding {
	var found []finding.Finding
	var install []string
	for _, m := range modules {
		switch {
		case s.Modules[m]:
		case s.NoModules && p.About().DropsModules:
			return append(found, finding.KernelModulesGone.Find("%s runs kernel %s, of which /lib/modules has nothing; %s is "+
				"not loaded.", s.Host, s.OS.Kernel, m))
		case !lacks(s, m):
		case len(missingModulePackages(s, p)) > 0:
			install = append(install, m)
		default:
			found = append(found, noModule(s, p, m))
		}
	}
	if len(install) > 0 {
		names := strings.Join(missingModulePackages(s, p), ", ")
		impossible := CheckInstall(s, fmt.Sprintf("Kernel %s has no %s", s.OS.Kernel, strings.Join(install, ", ")))
		if len(impossible) > 0 {
			return append(found, impossible...)
		}
		f := finding.PackagesInstalled.Find("%s: %s, because kernel %s has no %s.", s.Host, names, s.OS.Kernel,
			strings.Join(install, ", "))
		f.Summary = fmt.Sprintf("Host %s: %s will be installed", s.Host, names)
		found = append(found, f)
	}
	return found
}

func noModule(s *inventory.Snapshot, p Platform, module string) finding.Finding {
	f := finding.KernelWithoutModule.Find("%s runs %s with kernel %s, whose modules hold no %s", s.Host, p.Name(),
		s.OS.Kernel, module)
	if gap := p.About().gap(s.OS, module, false); gap != nil {
		f = gap.explain(f)
	}
	f.Evidence += "."
	return f
}

// SupportOf is what the description of a host's family says of one of its cards. A
// system that has none gets general words.
func SupportOf(s *inventory.Snapshot, pci ib.PCIAddress) safety.Support {
	d := describe(s.OS)
	if d == nil {
		d = &Description{}
	}
	c, ok := s.Card(pci)
	if !ok {
		c = &inventory.Card{}
	}
	support := safety.Support{Mstflint: d.mstflint(s.OS, c.Chip.Format)}
	// A module may be there all the same, built or bought elsewhere.
	if gap := d.gap(s.OS, c.Chip.Driver, false); gap != nil && len(gap.Modules) > 0 && !s.KernelModules[c.Chip.Driver] {
		support.NoDriver = gap.Why
	}
	return support
}

// mstflint says which package to install for chips of a format.
func (d *Description) mstflint(os inventory.OS, format string) string {
	advice := "Install the package mstflint."
	if d.Installer != nil {
		advice = "Install the package: " + d.Installer.byHand + " mstflint."
	}
	for _, a := range d.Tools {
		if (a.Release == "" || os.VersionID == a.Release || strings.HasPrefix(os.VersionID, a.Release+".")) &&
			(a.Format == "" || a.Format == format) {
			advice = a.Advice
		}
	}
	return advice
}

func (g *Gap) fits(os inventory.OS, module string) bool {
	return (len(g.Modules) == 0 || slices.Contains(g.Modules, module)) && majorVersion(os.VersionID) >= g.Release &&
		kernelFrom(os.Kernel, g.Kernel) && strings.Contains(os.Kernel, g.Named)
}

// kernelFrom reports whether a release, "6.17.7-300.fc43.x86_64", is of version from or later.
func kernelFrom(release, from string) bool {
	var have, want [2]int
	_, _ = fmt.Sscanf(release, "%d.%d", &have[0], &have[1])
	_, _ = fmt.Sscanf(from, "%d.%d", &want[0], &want[1])
	return slices.Compare(have[:], want[:]) >= 0
}
