package safety

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
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
	v.Findings = append(v.Findings, hostcheck.CardUsers(&in.Host.Snapshot, in.Card.PCI, in.Card.InUse)...)
	if in.Host.Observe {
		v.Findings = append(v.Findings, hostcheck.OnlyRead(in.Host.Host, linkDiffers(in)...))
	}
	v.Findings = append(v.Findings, checkStore(in)...)
	v.Findings = append(v.Findings, checkLostAtBoot(in)...)
	if linkChanges(in) {
		v.Findings = append(v.Findings, hostcheck.Path(&in.Host.Snapshot, in.Card.PCI, in.Request.ManagementPath)...)
		v.Findings = append(v.Findings, losesInfiniBand(in)...)
		v.Findings = append(v.Findings, hostcheck.Managers(&in.Host.Snapshot, in.Card.PCI, lostPorts(in)...)...)
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

// refuseUnanswered refuses if the card's own configuration may have link types and
// mstconfig, which serves the card, did not answer: a type stored elsewhere might then
// not decide. If other programs use the card, they are the reason.
func refuseUnanswered(in LinkTypeInput, v Verdict) Verdict {
	if len(in.Current) == 0 {
		v.Findings = append(v.Findings, linkNow(in)...) // a card without its driver is no card to ask
	}
	if users := hostcheck.CardUsers(&in.Host.Snapshot, in.Card.PCI, in.Card.InUse); len(users) > 0 {
		v.Findings = append(v.Findings, users...)
	} else {
		v.Findings = append(v.Findings, configUnread(in, in.Served.Why()))
	}
	return seal(v, in.Card, false)
}

// linkPorts looks at the request, and at what the ports have that it does not name.
func linkPorts(in LinkTypeInput) []finding.Finding {
	var found []finding.Finding
	if pair, wrong := hasPair(in, ib.LinkTypeETH, ib.LinkTypeIB); wrong {
		found = append(found, finding.EthernetBeforeInfiniBand.Find("%s", pair))
	}
	for _, n := range slices.Sorted(maps.Keys(in.Request.Ports)) {
		if n < 1 || n > 2 {
			found = append(found, finding.CardWithoutPort.Find("Port %d; a card of this generation has ports 1 and 2", n))
		}
	}
	return found
}

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

func plannedFirmware(in LinkTypeInput) []finding.Finding {
	if psidSaysEN(in.PlannedPSID, in.Card.Chip) && wantsIB(in) {
		return []finding.Finding{finding.FirmwareEthernetOnly.Find("Planned PSID %s is one of the Ethernet-only boards by "+
			"its number (it ends in 23)", in.PlannedPSID)}
	}
	return nil
}
