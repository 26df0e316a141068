package safety

import "github.com/ibfabric/terraform-provider-infiniband/internal/finding"

// RestartNow gives the findings that stop a restart of a card's host in the moment
// before it, for the sake of the host and of what is reached over the card.
func RestartNow(card CardFacts, host HostFacts, consent []string) []finding.Finding {
	return append(Restart(host), Blockers(path(card, host, consent))...)
}
