package port

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// PlanFacts is what other resources of the same plan do before this one is applied.
type PlanFacts struct {
	// InfiniBand is true if a resource of this plan makes the port InfiniBand.
	InfiniBand bool
	// Ethernet is true if a resource of this plan makes the port Ethernet.
	Ethernet bool
	// Waits is true if the port becomes InfiniBand with a restart that is not planned.
	Waits bool
	// Restarts is true if the card will use the GUIDs in its flash.
	Restarts bool
}

// Check gives the findings against d on this host. o is what Observe gave, with Link
// where speeds or widths are asked for and could be read.
func Check(s *inventory.Snapshot, d Request, o Observation, p PlanFacts) []finding.Finding {
	plat, err := platform.Of(s)
	if err != nil {
		return []finding.Finding{finding.PortUnsupported.Find("%v.", err)}
	}
	packages := plat.PackagesFor(platform.FeatureDiagnostics, s.OS.Kernel)
	if o.NoTool != "" && len(packages) == 0 {
		return []finding.Finding{finding.PortUnsupported.Find("%s runs %s: %s.", s.Host, plat.Name(), o.NoTool)}
	}
	found := append(unmanagedFiles(s, d), platform.CheckPlaces(s, UnitPath(d.Card, d.Number), scriptPath)...)
	if f := portThere(s, d, o, p); f != nil {
		return append(found, *f)
	}
	found = append(found, checkEdits(s, o)...)
	found = append(found, platform.CheckBoot(s, o.NotAtBoot)...)
	found = append(found, checkSupported(d, o)...)
	if o.Unread != "" {
		found = append(found, finding.PortLinkUnread.Find("%s is %s: %s", d.Name(), o.states(), o.Unread))
	}
	if on := o.Enabled(); !on.Known() {
		found = append(found, finding.PortEnabledUnread.Find("%s is %s: %s.", d.Name(), o.State, on.Why()))
	}
	if len(o.Differences(d)) == 0 {
		return found
	}
	if o.name == (cardName{}) && !p.Restarts {
		found = append(found, undecidedCard(s, d))
	}
	if missing(s) {
		f := finding.PortDiagsInstalled.Find("%s has no ibportstate. Nothing sets the port or reads its speeds without "+
			"it, now or at a boot.", s.Host)
		f.Summary = "The package " + strings.Join(packages, ", ") + " will be installed"
		found = append(found, f)
	}
	if interrupts(d, o) {
		found = append(found, users(s, d, o)...)
	}
	return found
}

// states are the logical and the physical state, for a sentence.
func (o Observation) states() string {
	return o.State + " " + cmp.Or(o.Physical, "(physical state not known)")
}

// unmanagedFiles finds files with our names that this provider did not write.
func unmanagedFiles(s *inventory.Snapshot, d Request) []finding.Finding {
	var found []finding.Finding
	for _, path := range []string{UnitPath(d.Card, d.Number), scriptPath} {
		f, there := s.Files[path]
		if s.Denied[path] {
			found = append(found, finding.PortFileUnmanaged.Find("%s of %s is there and could not be read.", path, s.Host))
		}
		if there && !platform.IsOurs(strings.TrimPrefix(f.Content, "#!/bin/sh\n")) {
			found = append(found, finding.PortFileUnmanaged.Find("%s of %s.", path, s.Host))
		}
	}
	return found
}

// undecidedCard is the finding on a card of which a boot could not tell whether it is the one to set.
func undecidedCard(s *inventory.Snapshot, d Request) finding.Finding {
	why, guid := "", ib.GUID(0)
	if card, ok := s.Card(d.Card); ok {
		why, guid = cmp.Or(card.Serial.Why(), "it is "+card.Serial.Or("")), card.NodeGUID
	}
	return finding.CardUndecided.Find("A boot sets a port only if the card in the slot is the right one. %s of %s "+
		"shows no serial number that tells it from others (%s), and its node GUID %s is not that of one card alone.",
		d.Card, s.Host, why, guid).WithWayOut("Install pciutils, for the serial number. If the card has none, set its " +
		"GUIDs with infiniband_guids and restart the host.")
}

func portThere(s *inventory.Snapshot, d Request, o Observation, p PlanFacts) *finding.Finding {
	var f finding.Finding
	switch {
	case (!o.Present || o.LinkLayer == "Ethernet") && p.InfiniBand:
		f = finding.PortPostponed.Find("Port %d of card %s is not InfiniBand yet.", d.Number, d.Card)
	case !o.Present:
		f = finding.PortMissing.Find("Card %s of %s shows no port %d.%s", d.Card, s.Host, d.Number, portsOf(s, d))
	case o.LinkLayer == "Ethernet":
		f = finding.PortEthernet.Find("Port %d of card %s has link layer Ethernet.", d.Number, d.Card)
		if p.Waits {
			f = f.BeforeRestart()
		}
	case p.Ethernet:
		f = finding.PortEthernet.Find("This plan makes port %d of card %s Ethernet.", d.Number, d.Card)
	default:
		return nil
	}
	return &f
}

func portsOf(s *inventory.Snapshot, d Request) string {
	card, ok := s.Card(d.Card)
	if !ok {
		return " The card is not there."
	}
	var ports []string
	for _, p := range card.Ports {
		if p.State != "" {
			ports = append(ports, fmt.Sprintf("%d (%s)", p.Number, p.LinkLayer))
		}
	}
	if len(ports) == 0 {
		return fmt.Sprintf(" It has no RDMA port at all; driver: %s.", cmp.Or(card.Driver, "none"))
	}
	return " Its ports are " + strings.Join(ports, ", ") + "."
}

func checkSupported(d Request, o Observation) []finding.Finding {
	if o.Link == nil {
		return nil
	}
	var found []finding.Finding
	if more := d.Speeds &^ o.Link.SpeedsSupported; more != 0 {
		found = append(found, finding.PortSpeedUnsupported.Find("speeds: %s supports %s, and not %s.", d.Name(),
			o.Link.SpeedsSupported, more))
	}
	if more := d.Widths &^ o.Link.WidthsSupported; more != 0 {
		f := finding.PortSpeedUnsupported.Find("widths: %s supports %s, and not %s.", d.Name(), o.Link.WidthsSupported, more)
		f.Attribute = "widths"
		found = append(found, f)
	}
	return found
}

// interrupts reports whether d takes away a link that may be in use. Enabling a port that is
// enabled has its link train anew.
func interrupts(d Request, o Observation) bool {
	switch on, known := o.Enabled().Get(); {
	case !known || on && !d.Enabled:
		return true
	case !on:
		return false
	}
	return d.Speeds != 0 && (o.Link == nil || o.Link.SpeedsEnabled != d.Speeds) ||
		d.Widths != 0 && (o.Link == nil || o.Link.WidthsEnabled != d.Widths)
}

// users names what uses the port.
func users(s *inventory.Snapshot, d Request, o Observation) []finding.Finding {
	found := []finding.Finding{finding.PortGoesDown.Find("%s is %s.", d.Name(), o.states())}
	used := uses(s, d)
	for _, use := range used {
		f := finding.PortCarriesHost.Find("%s.", use.what)
		if slices.Contains(d.Consent, use.dev) {
			f.Severity, f.Summary, f.WayOut = finding.Note,
				"Port carries the SSH session, the default route or storage of the host, as allowed", ""
		} else {
			f.Consent = f.Rule.ConsentLine(finding.Names(devices(used)...))
		}
		found = append(found, f)
	}
	switch {
	case fact.Yes(o.IsSM):
		found = append(found, finding.PortHasSubnetManager.Find("%s.", d.Name()))
	case !o.IsSM.Known():
		found = append(found, finding.PortHasSubnetManager.Find("%s: whether a subnet manager is bound to it is not "+
			"known: %s.", d.Name(), o.IsSM.Why()))
	}
	return found
}

// devices names the interfaces of all uses, each once, so that the consent to add stays
// the same between plans.
func devices(all []use) []string {
	names := make([]string, len(all))
	for i, u := range all {
		names[i] = u.dev
	}
	slices.Sort(names)
	return slices.Compact(names)
}

type use struct{ dev, what string }

// uses names what goes over the port.
func uses(s *inventory.Snapshot, d Request) []use {
	var all []use
	devs, known := s.SSH.Devs.Get()
	for _, dev := range devs {
		all = append(all, over(s, d, dev, fmt.Sprintf("The SSH session to %s comes in over %s", s.Host, dev))...)
	}
	if !known {
		all = append(all, mayGoOver(s, d, "The SSH session to "+s.Host+" may come in over ", s.SSH.Devs.Why())...)
	}
	for _, dev := range s.Routes.Devs() {
		all = append(all, over(s, d, dev, fmt.Sprintf("The default route of %s goes over %s", s.Host, dev))...)
	}
	if hidden := s.HiddenRoutes(); len(hidden) > 0 {
		all = append(all, mayGoOver(s, d, "The default route of "+s.Host+" may go over ", strings.Join(hidden, "; "))...)
	}
	return append(all, storageOver(s, d)...)
}

// storageOver names the storage that is reached over the port, or may be over its
// interfaces.
func storageOver(s *inventory.Snapshot, d Request) []use {
	var all []use
	for _, st := range s.Storage {
		what := fmt.Sprintf("%s %s of %s", st.Kind, st.What, s.Host)
		dev, known := st.Dev.Get()
		switch {
		case st.RDMA != "":
			all = append(all, asUse(onDevice(s, d, st.RDMA), st.RDMA, what+" is reached over "+st.RDMA)...)
		case !known:
			all = append(all, mayGoOver(s, d, what+" may be reached over ", st.Dev.Why())...)
		default:
			all = append(all, over(s, d, dev, what+" is reached over "+dev)...)
		}
	}
	return all
}

// over is what uses an interface, if that is of the port or one below it is.
func over(s *inventory.Snapshot, d Request, dev, what string) []use {
	var ofPort []fact.Bool
	for _, name := range s.Below(dev) {
		n, _ := s.Netdev(name)
		ofPort = append(ofPort, isOfPort(s, n, d))
	}
	return asUse(fact.Any(ofPort...), dev, what)
}

// asUse is what uses a device that is of the port, or may be.
func asUse(ofPort fact.Bool, dev, what string) []use {
	switch {
	case fact.No(ofPort):
		return nil
	case !ofPort.Known():
		what += ", which may be of this port: " + ofPort.Why()
	}
	return []use{{dev, what}}
}

// mayGoOver is what may use each interface of the port, for it is not known which it uses.
// Nothing goes over a port without any.
func mayGoOver(s *inventory.Snapshot, d Request, what, why string) []use {
	var all []use
	for i := range s.Netdevs {
		if n := &s.Netdevs[i]; n.Parent == "" && !fact.No(isOfPort(s, n, d)) {
			all = append(all, use{n.Name, what + n.Name + ": " + why})
		}
	}
	return all
}

// onDevice reports whether an RDMA device is the card of the port, or one of its virtual
// functions. Which of its ports SRP uses is not read.
func onDevice(s *inventory.Snapshot, d Request, device string) fact.Bool {
	var ofCard []fact.Bool
	for i := range s.Cards {
		if s.Cards[i].RDMADevice == device {
			ofCard = append(ofCard, isOf(s, s.Cards[i].PCI, d.Card))
		}
	}
	return fact.Any(ofCard...)
}

// isOfPort reports whether an interface is one of the port. One of which the kernel does
// not show the port may be. A virtual function counts its own ports, so that each is.
func isOfPort(s *inventory.Snapshot, n *inventory.Netdev, d Request) fact.Bool {
	if n.PCI == d.Card && n.DevPort != d.Number-1 && n.DevPort >= 0 {
		return fact.Known(false)
	}
	return isOf(s, n.PCI, d.Card)
}

// isOf reports whether a PCI function is the card's, or a virtual one of it.
func isOf(s *inventory.Snapshot, pci, card ib.PCIAddress) fact.Bool {
	physical, known := s.Physical(pci).Get()
	if !known {
		return fact.Unknown[bool](s.Physical(pci).Why())
	}
	return fact.Known(physical.IsValid() && physical == card)
}
