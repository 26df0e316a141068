package safety

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
)

// inCard gives the verdict on a card that only its own configuration decides on: the
// driver mlx5 cannot switch the type of a port (Linux 6.1 to 7.3,
// drivers/net/ethernet/mellanox/mlx5). The setting takes effect with a full reset,
// which is a restart of the host.
func inCard(in LinkTypeInput, v Verdict) Verdict {
	users := hostcheck.CardUsers(&in.Host.Snapshot, in.Card.PCI, in.Card.InUse)
	if len(users) > 0 && !in.HasTypes.Known() {
		v.Findings = append(v.Findings, users...)
		return seal(v, in.Card, false)
	}
	v.Findings = append(v.Findings, cardPorts(in)...)
	if v.Blocked() || storedDone(in) {
		if !v.Blocked() {
			v.Action = ActionNone
		}
		return seal(v, in.Card, false)
	}
	v.Findings = append(v.Findings, users...)
	if in.Host.Observe {
		v.Findings = append(v.Findings, hostcheck.OnlyRead(in.Host.Host, linkDiffers(in)...))
	}
	if linkChanges(in) {
		v.Findings = append(v.Findings, hostcheck.Path(&in.Host.Snapshot, in.Card.PCI, in.Request.ManagementPath)...)
		v.Findings = append(v.Findings, losesInfiniBand(in)...)
		how, found := activation(in.Card, in.Host, in.Request.Activation)
		if how == ActivationNone {
			if in.Request.Activation != ActivationHost {
				v.Findings = append(v.Findings, found...)
			}
			return seal(v, in.Card, false)
		}
		v.Findings = append(v.Findings, cardUnshown(in)...)
		v.Activation = how
		found = append(found, bootable(in.Card)...)
		v.Findings = append(append(v.Findings, hostcheck.Managers(&in.Host.Snapshot, in.Card.PCI)...), found...)
		v.Findings = append(v.Findings, hostcheck.Battery(&in.Host.Snapshot)...)
	}
	return seal(v, in.Card, false)
}

// cardUnshown refuses a restart for ports whose types nothing shows: they may have them already,
// and after the restart nothing would show them either.
func cardUnshown(in LinkTypeInput) []finding.Finding {
	if firmwareFirst(in) {
		return nil
	}
	for _, n := range slices.Sorted(maps.Keys(in.Request.Ports)) {
		if in.Current[n] == "" {
			return []finding.Finding{notShown(in, fmt.Sprintf("Port %d of %s has no RDMA device and no Ethernet interface", n,
				in.Card.PCI))}
		}
	}
	return nil
}

// cardPorts looks at the request against what the card can store.
func cardPorts(in LinkTypeInput) []finding.Finding {
	var found []finding.Finding
	for _, n := range slices.Sorted(maps.Keys(in.Request.Ports)) {
		if in.Request.Ports[n] == ib.LinkTypeAuto {
			found = append(found, finding.AutoNotLasting.Find("Port %d of %s; LINK_TYPE knows sensing on ConnectX-3 only", n,
				in.Card.Chip.Name))
		}
	}
	switch {
	case firmwareFirst(in):
		return found
	case !in.HasTypes.Known():
		return append(found, configUnread(in, in.HasTypes.Why()))
	case fact.No(in.HasTypes):
		return append(found, oneType(in)...)
	}
	for _, n := range slices.Sorted(maps.Keys(in.Request.Ports)) {
		if _, ok := in.Persisted[n]; !ok {
			found = append(found, finding.CardWithoutPort.Find("Port %d; the card's configuration has %d", n, len(in.Persisted)))
		}
	}
	return found
}

// oneType compares the request with ports that have one type, because the firmware stores
// none. Which one it is, the ports show: boards for InfiniBand alone have no LINK_TYPE either.
func oneType(in LinkTypeInput) []finding.Finding {
	evidence := fmt.Sprintf("mstconfig shows no LINK_TYPE for %s (%s, PSID %s)", in.Card.PCI, in.Card.Chip.Name,
		cmp.Or(in.Card.InFlash().PSID, "unknown"))
	for _, n := range slices.Sorted(maps.Keys(in.Request.Ports)) {
		eth, now := in.Request.Ports[n] == ib.LinkTypeETH, in.Current[n]
		switch {
		case eth && isInfiniBand(now):
			return []finding.Finding{finding.CardInfiniBandOnly.Find("%s; port %d is InfiniBand now", evidence, n).At("ports")}
		case !eth && !isInfiniBand(now):
			return []finding.Finding{onlyEthernet(in, fmt.Sprintf("%s; port %d is %s now", evidence, n,
				cmp.Or(now, "not shown")))}
		}
	}
	return nil
}

// onlyEthernet refuses InfiniBand on firmware that has none. The firmware that has it may be in
// flash already, for the next start.
func onlyEthernet(in LinkTypeInput, why string) finding.Finding {
	f, flash := finding.FirmwareEthernetOnly.Find("%s", why), in.Card.InFlash()
	due := in.Card.Identified() && (in.Card.Running.Known() || in.Card.staged() != "")
	if !due || flash.PSID == in.Card.runningPSID() || psidSaysEN(flash.PSID, in.Card.Chip) {
		return f
	}
	f.Evidence += fmt.Sprintf(". In flash: %s %s, which the card runs after a restart of its host", flash.PSID, flash.FW)
	return f.WithWayOut("The restart is due. Write activation = \"reboot\" in the " +
		"infiniband_firmware of the card: its apply verifies the flash and restarts the host. Or run " +
		"`mstflint -d <pci address> v`, and restart the host yourself if the flash is whole. Then plan again.")
}

// storedDone reports whether the card is as asked. A type that waits for the next
// restart counts, unless this resource is to restart the host. Ports of firmware without link
// types are as they are: a request for another type is refused.
func storedDone(in LinkTypeInput) bool {
	if firmwareFirst(in) {
		return false
	}
	if !fact.Yes(in.HasTypes) {
		return fact.No(in.HasTypes) || !wantsIB(in)
	}
	for n, want := range in.Request.Ports {
		if in.Persisted[n] != want {
			return false
		}
	}
	return in.Request.Activation != ActivationReboot || !linkChanges(in)
}
