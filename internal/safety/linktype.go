package safety

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// LinkTypes gives the verdict on the types of a card's ports.
func LinkTypes(in LinkTypeInput) Verdict {
	v := Verdict{Action: ActionLinkTypes}
	if w, running := waitVerdict(in.Card, in.Host, nil); running {
		return w
	}
	if v.Findings = noLinkTypes(in); v.Blocked() {
		return seal(v, in.Card, false)
	}
	if _, driver := driverOf(in.Card); driver == "mlx5_core" {
		return inCard(in, v)
	}
	v.Findings = linkPorts(in)
	if !in.Served.Known() && !firmwareFirst(in) {
		return refuseUnanswered(in, v)
	}
	if firmwareFirst(in) {
		v.Findings = append(v.Findings, plannedFirmware(in)...)
	} else {
		v.Findings = append(v.Findings, linkNow(in)...)
	}
	if !v.Blocked() && linkDone(in) {
		v.Action = ActionNone
		return seal(v, in.Card, false)
	}
	v.Findings = append(v.Findings, inUse(in.Card, in.Host)...)
	if in.Host.Observe {
		v.Findings = append(v.Findings, OnlyRead(in.Host.Host, linkDiffers(in)...))
	}
	v.Findings = append(v.Findings, checkStore(in)...)
	v.Findings = append(v.Findings, checkLostAtBoot(in)...)
	if linkChanges(in) {
		v.Findings = append(v.Findings, path(in.Card, in.Host, in.Request.ManagementPath)...)
		v.Findings = append(v.Findings, losesInfiniBand(in)...)
		v.Findings = append(v.Findings, managers(in.Card, in.Host, lostPorts(in)...)...)
		v.Findings = append(v.Findings, finding.InterfacesGoDown.Find("Card %s", in.Card.PCI))
	}
	return seal(v, in.Card, false)
}

// noLinkTypes refuses a card that has none, or that answers nothing while it has no firmware.
func noLinkTypes(in LinkTypeInput) []finding.Finding {
	if in.Card.Livefish {
		return []finding.Finding{inRecovery(in.Card, in.Host)}
	}
	if name, driver := driverOf(in.Card); driver != "" && driver != "mlx4_core" && driver != "mlx5_core" {
		return []finding.Finding{finding.CardInfiniBandOnly.Find("%s uses %s", name, driver)}
	}
	return nil
}

// firmwareFirst reports whether the plan changes the firmware first: what the card
// shows now decides nothing then.
func firmwareFirst(in LinkTypeInput) bool {
	return in.PlannedPSID != "" && in.PlannedPSID != in.Card.runningPSID()
}

// refuseUnanswered refuses if the card's own configuration may have link types and
// mstconfig, which serves the card, did not answer: a type stored elsewhere might then
// not decide. If other programs use the card, they are the reason.
func refuseUnanswered(in LinkTypeInput, v Verdict) Verdict {
	if len(in.Current) == 0 {
		v.Findings = append(v.Findings, linkNow(in)...) // a card without its driver is no card to ask
	}
	if users := inUse(in.Card, in.Host); len(users) > 0 {
		v.Findings = append(v.Findings, users...)
	} else {
		v.Findings = append(v.Findings, configUnread(in, in.Served.Why()))
	}
	return seal(v, in.Card, false)
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

// linkPorts looks at the request, and at what the ports have that it does not name.
func linkPorts(in LinkTypeInput) []finding.Finding {
	var found []finding.Finding
	if pair, wrong := hasPair(in, ib.LinkTypeETH, ib.LinkTypeIB); wrong {
		found = append(found, finding.EthernetBeforeInfiniBand.Find("%s", pair))
	} else if pair, mixed := hasPair(in, ib.LinkTypeIB, ib.LinkTypeETH); mixed && !mixedNow(in) {
		found = append(found, finding.MixedTypes.Find("%s", pair))
	}
	for _, n := range slices.Sorted(maps.Keys(in.Request.Ports)) {
		if n < 1 || n > 2 {
			found = append(found, finding.CardWithoutPort.Find("Port %d; a card of this generation has ports 1 and 2", n))
		}
	}
	return found
}

// mixedNow reports whether the card runs InfiniBand on port 1 with Ethernet on port 2: it
// has shown that it can.
func mixedNow(in LinkTypeInput) bool {
	return isInfiniBand(in.Current[1]) && (in.Current[2] == "eth" || in.Current[2] == "auto (eth)")
}

func isInfiniBand(shown string) bool { return shown == "ib" || shown == "auto (ib)" }

// linkNow looks at the card as it runs.
func linkNow(in LinkTypeInput) []finding.Finding {
	if len(in.Current) == 0 {
		return []finding.Finding{notShown(in, fmt.Sprintf("No mlx4_port1 under %s", in.Card.PCI))}
	}
	var found []finding.Finding
	for _, n := range slices.Sorted(maps.Keys(in.Request.Ports)) {
		if _, ok := in.Current[n]; !ok && (n == 1 || n == 2) {
			found = append(found, finding.CardWithoutPort.Find("Port %d; the kernel shows %d", n, len(in.Current)))
		}
	}
	found = append(found, unnamedUnshown(in)...)
	psid := in.Card.runningPSID()
	if !in.Card.Running.Known() {
		// Without an RDMA device, which Ethernet-only firmware may not have at all, the
		// flash decides.
		psid = in.Card.InFlash().PSID
	}
	if why := ethernetOnly(in, psid); why != "" && wantsIB(in) {
		found = append(found, onlyEthernet(in, why))
	}
	return found
}

// notShown is about a port whose type the kernel does not show, with its driver.
func notShown(in LinkTypeInput, what string) finding.Finding {
	f := finding.PortTypesNotShown.Find("%s; driver: %s", what, cmp.Or(in.Card.Driver, "none"))
	if why := in.Host.Support.NoDriver; why != "" && in.Card.Driver == "" {
		f.Evidence += "; " + why
	}
	return f
}

func plannedFirmware(in LinkTypeInput) []finding.Finding {
	if psidSaysEN(in.PlannedPSID, in.Card.Chip) && wantsIB(in) {
		return []finding.Finding{finding.FirmwareEthernetOnly.Find("Planned PSID %s is one of the Ethernet-only boards by "+
			"its number (it ends in 23)", in.PlannedPSID)}
	}
	return []finding.Finding{finding.LinkTypePostponed.Find("Running PSID %s, planned %s",
		cmp.Or(in.Card.runningPSID(), "unknown"), in.PlannedPSID)}
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

// checkStore checks the place that keeps the types over a restart.
func checkStore(in LinkTypeInput) []finding.Finding {
	var found []finding.Finding
	if over := in.Overrides.Or(nil); len(over) > 0 {
		found = append(found, finding.LinkTypeOverridden.Find("%s", strings.Join(over, "; ")))
	}
	found = append(found, checkFile(in)...)
	switch {
	case fact.Yes(in.StaleInitramfs):
		found = append(found, finding.InitramfsOutdated.Find("Host %s, %s", in.Host.Host, cmp.Or(in.StoredIn, "its setting")))
	case !in.StaleInitramfs.Known():
		found = append(found, unread(finding.InitramfsOutdated,
			"Whether the initial RAM disk has the setting of the link types", in.StaleInitramfs.Why()))
	}
	if !in.Overrides.Known() {
		found = append(found, unread(finding.LinkTypeOverridden, "Which other settings of the driver "+in.Host.Host+" has",
			in.Overrides.Why()))
	}
	if !in.Served.Known() {
		return found // only a postponed request gets here, and the apply asks again
	}
	if in.StoredIn == inCardConfig {
		return append(found, checkParameter(in)...)
	}
	for _, t := range in.Request.Ports {
		if t == ib.LinkTypeAuto {
			found = append(found, finding.AutoNotLasting.Find("%s",
				cmp.Or(in.WhyNotStored, "This host stores link types in "+cmp.Or(in.StoredIn,
					"none")+", which knows only ib and eth")))
			break
		}
	}
	if in.StoredIn == "" {
		return append(found, finding.LinkTypeNotLasting.Find("%s",
			cmp.Or(in.WhyNotStored, "This system has no place to store it")))
	}
	if in.StoredIn == perCard {
		return found
	}
	return append(found, sharedParameter(in)...)
}

// perCard is the setting of the RHEL family with a line for each card: mlx4-setup.sh
// writes the types of each into sysfs after the driver has loaded.
const perCard = "mlx4.conf"

// checkLostAtBoot finds ports that are as asked now and will not be after a restart.
func checkLostAtBoot(in LinkTypeInput) []finding.Finding {
	var ports []string
	for _, n := range slices.Sorted(maps.Keys(in.Request.Ports)) {
		want := in.Request.Ports[n]
		if next, said := in.Persisted[n]; said && next != want && linkIs(in.Current[n], want) {
			ports = append(ports, fmt.Sprintf("port %d is %s now and %s after a restart, by %s", n, in.Current[n], next,
				cmp.Or(in.Decides[n], "another setting")))
		}
	}
	if len(ports) == 0 {
		return nil
	}
	return []finding.Finding{finding.LinkTypeWouldBeLost.Find("Card %s: %s", in.Card.PCI, strings.Join(ports, ", "))}
}

// neighbours are the other cards of the host that the driver's parameter is for.
func neighbours(in LinkTypeInput) []*inventory.Card {
	var all []*inventory.Card
	for i := range in.Host.Cards {
		c := &in.Host.Cards[i]
		if c.PCI.Slot() != in.Card.PCI.Slot() && c.Chip.Driver == "mlx4_core" && !c.Virtual {
			all = append(all, c)
		}
	}
	return all
}

// sharedParameter judges what a setting for all cards of the driver does to the others.
func sharedParameter(in LinkTypeInput) []finding.Finding {
	others := neighbours(in)
	found := make([]finding.Finding, len(others))
	var change []string
	for i, other := range others {
		if found[i] = sharedWith(in, other); found[i].Severity == finding.NeedsConsent {
			change = append(change, other.PCI.String())
		}
	}
	for i, f := range found {
		switch {
		case f.Severity != finding.NeedsConsent:
		case slices.Contains(in.Request.OtherCards, others[i].PCI.String()):
			found[i] = f.AsGranted("Another card of the host changes its type too")
		default:
			found[i] = f.WithConsent(f.Rule.ConsentLine(finding.Names(change...)))
		}
	}
	return found
}

func sharedWith(in LinkTypeInput, other *inventory.Card) finding.Finding {
	if len(other.Ports) == 0 {
		// Its types are not known, so nobody can know what the consent is to.
		f := unread(finding.OtherCardWouldChange, "Which link types "+other.PCI.String()+" has",
			"the kernel shows no port of it")
		f.Severity = finding.Refuse
		return f.WithWayOut("Load mlx4_core for that card, or take the card out, then plan again.")
	}
	types := make([]string, len(other.Ports))
	for i, p := range other.Ports {
		types[i] = p.TypeNow
		if want, has := storedType(in, p.Number); has && !linkIs(p.TypeNow, want) {
			return finding.OtherCardWouldChange.Find("%s has %s on port %d; %s %s %s", other.PCI, p.TypeNow, p.Number,
				in.Card.PCI, asksOrHas(in, p.Number), want)
		}
	}
	return finding.ParameterShared.Find("%s: %s", other.PCI, strings.Join(types, ", "))
}

func asksOrHas(in LinkTypeInput, port int) string {
	if _, asked := in.Request.Ports[port]; asked {
		return "asks for"
	}
	return "does not name that port, which is stored as it is:"
}

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
