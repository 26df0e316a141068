package cards

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// On makes a Card whose reboot and persistence are those of its host's
// platform.
func On(h *hosts.Host, pci ib.PCIAddress, p platform.Platform, allowed bool, policy platform.RebootPolicy) Card {
	on := onPlatform{host: h, pci: pci, platform: p, policy: policy}
	return Card{Host: h, PCI: pci, RebootAllowed: allowed, Rebooter: on, TypeStore: on}
}

// onPlatform is Rebooter and LinkTypeStore of one card.
type onPlatform struct {
	host     *hosts.Host
	pci      ib.PCIAddress
	platform platform.Platform
	policy   platform.RebootPolicy
}

func (o onPlatform) Reboot(ctx context.Context, reason string, ready func(context.Context) error) (string, error) {
	policy := o.policy
	policy.Reason, policy.Ready = reason, ready
	return o.platform.Reboot(ctx, o.host, policy)
}

func (o onPlatform) StoredIn() (place, whyNot string) { return o.platform.LinkTypesStoredIn(), "" }

func (o onPlatform) Keep(ctx context.Context, types map[int]ib.LinkType) error {
	return o.platform.PersistLinkTypes(ctx, o.host, o.pci, types)
}

func (o onPlatform) StoredTypes(s *inventory.Snapshot) map[int]ib.LinkType {
	if r := o.platform.PersistedLinkTypes(s, o.pci); !fact.Yes(r.StaleInitramfs) {
		return r.Types
	}
	return nil
}

func (o onPlatform) StaleInitramfs(s *inventory.Snapshot) fact.Bool {
	return o.platform.PersistedLinkTypes(s, o.pci).StaleInitramfs
}

func (o onPlatform) NotOurs(s *inventory.Snapshot) string {
	return o.platform.PersistedLinkTypes(s, o.pci).NotOurs
}

func (o onPlatform) Edits(s *inventory.Snapshot) []platform.Edit {
	return o.platform.PersistedLinkTypes(s, o.pci).Edits
}

func (o onPlatform) Others(s *inventory.Snapshot) (weaker, stronger []platform.LinkTypeSetting) {
	r := o.platform.PersistedLinkTypes(s, o.pci)
	return r.Weaker, r.Stronger
}

func (o onPlatform) Unclear(s *inventory.Snapshot) string {
	for _, file := range slices.Sorted(maps.Keys(s.Unread)) {
		if platform.DecidesOnLinkTypes(file) {
			return file + " could not be read"
		}
	}
	unclear := o.platform.PersistedLinkTypes(s, o.pci).Unclear
	if len(unclear) == 0 {
		return ""
	}
	return strings.Join(unclear, "; ") + ": the provider does not understand that"
}
