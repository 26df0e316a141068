package platform

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// rdmaModules has the module that makes RDMA devices, by the driver of the PCI function.
var rdmaModules = map[string]string{"mlx4_core": "mlx4_ib", "mlx5_core": "mlx5_ib"}

// RDMAModules names the modules that make RDMA devices of the cards of a host:
// the driver of the PCI function alone shows neither ports nor GUIDs.
func RDMAModules(s *inventory.Snapshot) []string {
	var modules []string
	seen := map[string]bool{}
	for _, c := range s.Cards {
		m := rdmaModules[c.Driver]
		if m != "" && !seen[m] {
			seen[m] = true
			modules = append(modules, m)
		}
	}
	return modules
}

// SleepingPort is a port of which the kernel does not show the GUID that the flash
// of its card holds: the module that makes RDMA devices is not loaded, or the port
// is an Ethernet one.
type SleepingPort struct {
	Card      *inventory.Card
	Number    int
	LinkLayer string // "InfiniBand" or "Ethernet", as the driver will have it; empty if unknown
}

// FindSleepingPort finds a port by the GUID in flash.
func FindSleepingPort(s *inventory.Snapshot, guid ib.GUID) (SleepingPort, bool) {
	if guid.IsNone() {
		return SleepingPort{}, false
	}
	for i := range s.Cards {
		c := &s.Cards[i]
		if c.Flash == nil || c.Driver == "" {
			continue
		}
		for n, g := range []ib.GUID{c.Flash.GUIDs.Port1, c.Flash.GUIDs.Port2} {
			layer := linkLayer(c, n+1)
			if g == guid && (c.RDMADevice == "" || layer == "Ethernet") {
				return SleepingPort{Card: c, Number: n + 1, LinkLayer: layer}, true
			}
		}
	}
	return SleepingPort{}, false
}

func linkLayer(c *inventory.Card, number int) string {
	p, ok := c.Port(number)
	switch {
	case ok && p.TypeNow == "":
		return p.LinkLayer // of mlx5 the RDMA device shows it
	case ok && strings.Contains(p.TypeNow, string(ib.LinkTypeETH)):
		return "Ethernet"
	case ok && strings.Contains(p.TypeNow, string(ib.LinkTypeIB)):
		return "InfiniBand"
	}
	return ""
}

// NotAtBoot says which modules of a port that was set up nothing of ours loads at boot any more:
// upper, and the one that makes RDMA devices of its card. It is empty if they are loaded, or if
// that is not known. An apply has EnsureModules store them, with those of the other cards.
//
// What others have loaded does not count: whatever was set up here was stored by EnsureModules,
// and the list is shown and written anew like every file of ours.
func NotAtBoot(s *inventory.Snapshot, card *inventory.Card, upper string) string {
	p, err := Of(s)
	if err != nil || !p.StoredModules(s).Known() {
		return ""
	}
	want := []string{upper}
	if card != nil && rdmaModules[card.Driver] != "" {
		want = append(want, rdmaModules[card.Driver])
	}
	_, missing := p.MissingModules(s, want...)
	switch len(missing) {
	case 0:
		return ""
	case 1:
		return missing[0] + " is not in " + p.ModulesStoredIn() + ", which loads it at boot"
	}
	return strings.Join(missing, " and ") + " are not in " + p.ModulesStoredIn() + ", which loads them at boot"
}

// UnstoredIn is where EnsureModules will store a module for the boot: upper, or one that makes RDMA devices of the
// cards; empty if it has all of them.
func UnstoredIn(s *inventory.Snapshot, upper string) string {
	p, err := Of(s)
	if err != nil {
		return ""
	}
	if _, boot := p.MissingModules(s, append(RDMAModules(s), upper)...); len(boot) == 0 {
		return ""
	}
	return p.ModulesStoredIn()
}

// CheckBoot finds modules that are not loaded at boot, by the words of NotAtBoot.
func CheckBoot(s *inventory.Snapshot, notAtBoot string) []finding.Finding {
	if notAtBoot == "" {
		return nil
	}
	return []finding.Finding{finding.ModulesNotAtBoot.Find("%s: %s.", s.Host, notAtBoot)}
}

// missingModules names what of want is not loaded now, and what is not listed
// to be loaded at boot.
func missingModules(s *inventory.Snapshot, listed, want []string) (now, boot []string) {
	for _, m := range want {
		if !s.Modules[m] {
			now = append(now, m)
		}
		if !slices.ContainsFunc(listed, func(l string) bool { return sameModule(l, m) }) {
			boot = append(boot, m)
		}
	}
	return now, boot
}

// sameModule: kmod takes a dash in the name of a module for an underscore.
func sameModule(a, b string) bool {
	return strings.ReplaceAll(a, "-", "_") == strings.ReplaceAll(b, "-", "_")
}
