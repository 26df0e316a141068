package cards

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
)

// On makes a Card whose reboot and persistence are those of its host's
// platform.
func On(h *hosts.Host, pci ib.PCIAddress, p platform.Platform, allowed bool, policy reboot.Policy) Card {
	on := onPlatform{host: h, pci: pci, platform: p, policy: policy}
	return Card{Host: h, PCI: pci, RebootAllowed: allowed, Interrupts: policy.Interrupts, Rebooter: on, TypeStore: on}
}

// onPlatform is Rebooter and LinkTypeStore of one card.
type onPlatform struct {
	host     *hosts.Host
	pci      ib.PCIAddress
	platform platform.Platform
	policy   reboot.Policy
}

func (o onPlatform) Reboot(ctx context.Context, reason string, ready func(context.Context) error) (string, error) {
	policy := o.policy
	policy.Reason, policy.Ready, policy.Note = reason, ready, inventory.OwedNote
	return o.platform.Reboot(ctx, o.host, policy)
}

func (o onPlatform) Drained(ctx context.Context, do func(context.Context) error) error {
	policy := o.policy
	policy.Note = inventory.OwedNote
	return reboot.Around(ctx, o.host, policy, do)
}

// Undrained is the card with a Rebooter that leaves the drain and resume commands to its caller.
func (c Card) Undrained() Card {
	if o, ok := c.Rebooter.(onPlatform); ok {
		o.policy.DrainCommands, o.policy.ResumeCommands = nil, nil
		c.Rebooter = o
	}
	return c
}

func (o onPlatform) Places(s *inventory.Snapshot) platform.Places {
	return o.platform.LinkTypePlaces(s, o.pci)
}

func (o onPlatform) Keep(ctx context.Context, types map[int]ib.LinkType) error {
	return o.platform.PersistLinkTypes(ctx, o.host, o.pci, types)
}
