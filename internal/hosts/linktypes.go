package hosts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstconfig"
)

// StoredLinkTypes asks a card for its link types with a command of its own, because
// only link types need the answer: mstconfig speaks with the firmware of the card, which may
// take many seconds to say nothing. The answer is remembered as the snapshot is.
// Its errors are those of Snapshot.
func (h *Host) StoredLinkTypes(ctx context.Context, pci ib.PCIAddress) (inventory.StoredLinkTypes, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return inventory.StoredLinkTypes{}, err
	}
	c, ok := s.Card(pci)
	if !ok {
		return fact.Unknown[map[int]ib.LinkType]("there is no card at " + pci.String()), nil
	}
	if why := whyNotAsked(c, s); why != "" {
		return fact.Unknown[map[int]ib.LinkType](why), nil
	}
	h.mu.Lock()
	generation := h.generation
	known, asked := h.stored[pci]
	h.mu.Unlock()
	if asked {
		return known, nil
	}
	found, err := h.join(ctx, fmt.Sprintf("link types %d %s", generation, pci), func(ctx context.Context) (any, error) {
		return h.askLinkTypes(ctx, pci, generation)
	})
	types, _ := found.(inventory.StoredLinkTypes)
	return types, err
}

// askLinkTypes asks, and remembers the answer unless the host was changed meanwhile.
func (h *Host) askLinkTypes(ctx context.Context, pci ib.PCIAddress, generation uint64) (inventory.StoredLinkTypes, error) {
	r, err := h.Host.Run(ctx, cardusers.Shared(mstconfig.Query(pci), pci))
	answer := collect.Run{Output: string(r.Stdout)}
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit):
		answer.Status, answer.Output = exit.Status, exit.Stdout
	case err != nil:
		return inventory.StoredLinkTypes{}, err
	}
	types := storedLinkTypes(answer, exit)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.generation == generation {
		h.stored[pci] = types
	}
	return types, nil
}

// storedLinkTypes reads the answer, or why there is none.
func storedLinkTypes(run collect.Run, exit *host.ExitError) inventory.StoredLinkTypes {
	unknown := fact.Unknown[map[int]ib.LinkType]
	if why := inUseNow(exit); why != "" {
		return unknown(why)
	}
	table, err := mstconfig.ParseQuery(run.Output)
	var said *mstconfig.ToolError
	switch {
	case errors.As(err, &said):
		return unknown(said.Text)
	case run.Status != 0:
		// A query that failed in part still prints its table; what is missing
		// cannot be told from what the firmware does not have.
		_, text := explain("mstconfig", collect.Run{Status: run.Status})
		return unknown(text)
	}
	var types map[int]mstconfig.LinkType
	if err == nil {
		types, err = table.LinkTypes()
	}
	if err != nil {
		return unknown("the output of mstconfig q was not understood: " + err.Error())
	}
	stored := make(map[int]ib.LinkType, len(types))
	for port, t := range types {
		stored[port] = t.LinkType()
	}
	return fact.Known(stored)
}

// inUseNow gives what a guarded command says of others at the card; empty if
// that is not why it failed.
func inUseNow(exit *host.ExitError) string {
	if exit == nil {
		return ""
	}
	switch exit.Status {
	case cardusers.Unknown:
		return usersUnknown + strings.TrimSpace(exit.Stderr)
	case cardusers.Busy:
		users, err := cardusers.Parse(exit.Stderr)
		if err != nil {
			return usersUnknown + err.Error()
		}
		return "busy: " + inventory.UsersText(users)
	}
	return ""
}

// whyNotAsked says why mstconfig is not asked; empty if it is.
func whyNotAsked(c *inventory.Card, s *inventory.Snapshot) string {
	switch _, text := inUse(c, s, c.Flash != nil); {
	case c.VendorID != ib.MellanoxVendor || c.Virtual:
		return "the card has no configuration that mstconfig reads"
	case !s.Commands["mstconfig"]:
		return "mstconfig is not installed"
	case text != "":
		return text
	case c.Flash == nil && c.FlashFailure != notUnderstood:
		return "mstconfig was not asked, because mstflint did not get an answer: " + c.FlashError
	}
	return ""
}
