package safety

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// firmwareFirst reports whether the plan changes the firmware first: what the card
// shows now decides nothing then.
func firmwareFirst(in LinkTypeInput) bool {
	return in.PlannedPSID != "" && in.PlannedPSID != in.Card.runningPSID()
}

func configUnread(in LinkTypeInput, why string) finding.Finding {
	return finding.CardConfigUnreadable.Find("mstconfig of %s: %s", in.Host.Host, why)
}

// driverOf names a card and the driver that it takes; both empty if it is not known.
func driverOf(card CardFacts) (name, driver string) {
	if card.Chip.Name != "" {
		return card.Chip.Name, card.Chip.Driver
	}
	a, _ := ib.AdapterByPCI(card.VendorID, card.DeviceID)
	return a.Name, a.Driver
}

func isInfiniBand(shown string) bool { return shown == "ib" || shown == "auto (ib)" }

// notShown is about a port whose type the kernel does not show, with its driver.
func notShown(in LinkTypeInput, what string) finding.Finding {
	f := finding.PortTypesNotShown.Find("%s; driver: %s", what, cmp.Or(in.Card.Driver, "none"))
	if why := in.Host.Support.NoDriver; why != "" && in.Card.Driver == "" {
		f.Evidence += "; " + why
	}
	return f
}

func wantsIB(in LinkTypeInput) bool {
	for _, t := range in.Request.Ports {
		if t != ib.LinkTypeETH {
			return true
		}
	}
	return false
}

// ethernetOnly says why the firmware supports Ethernet only; empty if it may support
// more. A port that is InfiniBand proves that, whatever a tool leaves out. Then the card's
// configuration decides if it could be read, and a port that senses its type. The number in
// the PSID comes last.
func ethernetOnly(in LinkTypeInput, psid ib.PSID) string {
	for _, t := range in.Current {
		if isInfiniBand(t) {
			return ""
		}
	}
	if has, known := in.HasTypes.Get(); known {
		if has {
			return ""
		}
		return fmt.Sprintf("mstconfig shows no LINK_TYPE for %s (PSID %s)", in.Card.PCI, cmp.Or(psid, "unknown"))
	}
	for _, t := range in.Current {
		if strings.Contains(t, "auto") {
			return ""
		}
	}
	if psidSaysEN(psid, in.Card.Chip) {
		return fmt.Sprintf("PSID %s is one of the Ethernet-only boards by its number (it ends in 23), and every port is "+
			"Ethernet", psid)
	}
	return ""
}

// psidSaysEN reads the parameter-set number at the end of a ConnectX-3 PSID:
// all EN boards seen in public (10 and 40 GbE, Mellanox and OEM) end in 23,
// VPI boards in 17, 18 or 19.
func psidSaysEN(psid ib.PSID, chip ib.Chip) bool {
	return chip.IsFS2() && len(psid) >= 10 && strings.HasSuffix(string(psid), "23")
}

// perCard is the setting of the RHEL family with a line for each card: mlx4-setup.sh
// writes the types of each into sysfs after the driver has loaded.
const perCard = "mlx4.conf"

// linkIs compares what the kernel shows with a wanted type.
func linkIs(now string, want ib.LinkType) bool {
	if want == ib.LinkTypeAuto {
		return strings.HasPrefix(now, "auto")
	}
	return now == string(want)
}

// linkChanges reports whether a port has another type than asked, or may have: of one that nothing
// shows nobody knows.
func linkChanges(in LinkTypeInput) bool {
	for n, want := range in.Request.Ports {
		if now, ok := in.Current[n]; !ok || !linkIs(now, want) {
			return true
		}
	}
	return false
}

// becomeEthernet are the ports that are InfiniBand now and are to be Ethernet.
func becomeEthernet(in LinkTypeInput) []int {
	var ports []int
	for _, n := range slices.Sorted(maps.Keys(in.Request.Ports)) {
		if in.Request.Ports[n] == ib.LinkTypeETH && isInfiniBand(in.Current[n]) {
			ports = append(ports, n)
		}
	}
	return ports
}

// lostPorts are those of them that have something that needs InfiniBand.
func lostPorts(in LinkTypeInput) []int {
	return slices.DeleteFunc(becomeEthernet(in), func(n int) bool { return len(in.Uses[n]) == 0 })
}

// losesInfiniBand names what does not come back while a port is Ethernet. It is a warning:
// the same plan may remove the resources, which this one does not see.
func losesInfiniBand(in LinkTypeInput) []finding.Finding {
	var lost []string
	for _, n := range lostPorts(in) {
		lost = append(lost, fmt.Sprintf("port %d has %s", n, strings.Join(in.Uses[n], " and ")))
	}
	if len(lost) == 0 {
		return nil
	}
	return []finding.Finding{finding.InfiniBandInUse.Find("Card %s: %s", in.Card.PCI, strings.Join(lost, "; "))}
}

// linkDone reports whether the ports are as asked now and stay so.
func linkDone(in LinkTypeInput) bool {
	if linkChanges(in) || firmwareFirst(in) || !in.Overrides.Known() || in.Edited != "" {
		return false
	}
	for n, want := range in.Request.Ports {
		if in.Persisted[n] != want {
			return false
		}
	}
	return true
}

// linkDiffers says in which ports the types are not as asked.
func linkDiffers(in LinkTypeInput) []string {
	var all []string
	if in.Edited != "" {
		all = append(all, "the file of the link types was changed by hand")
	}
	for _, n := range slices.Sorted(maps.Keys(in.Request.Ports)) {
		want, now := in.Request.Ports[n], in.Current[n]
		boot, stored := in.Persisted[n]
		switch {
		case now != "" && !linkIs(now, want):
			all = append(all, fmt.Sprintf("port %d of card %s is %s, not %s", n, in.Card.PCI, now, want))
		case stored && boot != want:
			all = append(all, fmt.Sprintf("port %d of card %s is %s at boot, not %s", n, in.Card.PCI, boot, want))
		case !stored:
			all = append(all, fmt.Sprintf("nothing makes port %d of card %s %s at boot", n, in.Card.PCI, want))
		}
	}
	return all
}

// inCardConfig is the card itself as the place of its types.
const inCardConfig = "mstconfig"
