package safety

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
)

// Ready gives what stands in the way of any change of a card's flash, whatever that
// change would be: it is asked before one is configured. A card whose firmware is left
// alone has none.
func Ready(card CardFacts, host HostFacts) []finding.Finding {
	if card.Virtual || card.VendorID != ib.MellanoxVendor || card.Chip.Name == "" && !card.Livefish {
		return nil
	}
	found := cardReach(card, host)
	if host.MSTFlint.Present && !card.FlashKnown() {
		found = append(found, cardState(card)...)
	}
	found = append(found, hostcheck.Lockdown(&host.Snapshot, card.ReadFlash() != nil)...)
	found = append(found, hostcheck.Battery(&host.Snapshot)...)
	found = append(found, hostcheck.Programs(&host.Snapshot)...)
	return withAddress(append(found, hostcheck.Jobs(&host.Snapshot, card.PCI)...), card.PCI)
}

// RestartNow gives the findings that stop a restart of a card's host in the moment
// before it, for the sake of the host and of what is reached over the card.
func RestartNow(card CardFacts, host HostFacts, consent []string) []finding.Finding {
	return append(Restart(host), Blockers(hostcheck.Path(&host.Snapshot, card.PCI, consent))...)
}

// Settings gives the verdict on settings in a card's own configuration. Where only the restart is
// missing, ActionSettings makes it.
func Settings(in SettingsInput) Verdict {
	v := Verdict{Action: ActionSettings, Findings: in.Found}
	if w, running := waitVerdict(in.Card, in.Host, nil); running {
		return w
	}
	if in.Card.Livefish {
		v.Findings = []finding.Finding{inRecovery(in.Card, in.Host)}
	}
	if !in.Writes && (!in.Restarts || in.Activation != ActivationReboot) {
		v.Action = ActionNone
		return seal(v, in.Card, false)
	}
	v.Findings = append(v.Findings, hostcheck.CardUsers(&in.Host.Snapshot, in.Card.PCI, in.Card.InUse)...)
	if in.Restarts && in.Activation != ActivationHost {
		v = restartOnly(v, in.Card, in.Host, in.Activation, in.ManagementPath)
	}
	return seal(v, in.Card, false)
}
