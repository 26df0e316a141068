package hosts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// StoredLinkTypes asks a card for its link types, by a command of its own: only link
// types need the answer, and mstconfig speaks with the firmware of the card, which may
// take many seconds. The answer is remembered as the snapshot is. Its errors are those
// of Snapshot.
func (h *Host) StoredLinkTypes(ctx context.Context, pci ib.PCIAddress) (inventory.StoredLinkTypes, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return inventory.StoredLinkTypes{}, err
	}
	c, ok := s.Card(pci)
	if !ok {
		return inventory.LinkTypesUnanswered("there is no card at " + pci.String()), nil
	}
	if why := notServed(c, s); why != "" {
		return inventory.LinkTypesNotServed(why), nil
	}
	if why := whyNotAsked(c, s); why != "" {
		return inventory.LinkTypesUnanswered(why), nil
	}
	h.mu.Lock()
	generation := h.generation
	known, asked := h.stored[pci]
	h.mu.Unlock()
	if asked {
		return known, nil
	}
	found, err := h.join(ctx, fmt.Sprintf("link types %d %s", generation, pci), func(ctx context.Context) (any, error) {
		return h.askLinkTypes(ctx, c, generation)
	})
	types, _ := found.(inventory.StoredLinkTypes)
	return types, err
}

// askLinkTypes asks, and remembers the answer unless the host was changed meanwhile.
func (h *Host) askLinkTypes(ctx context.Context, c *inventory.Card,
	generation uint64) (inventory.StoredLinkTypes, error) {
	r, err := h.Host.Run(ctx, cardusers.WithSharedLock(mstconfig.Query(c.PCI), c.PCI))
	answer := collect.Run{Output: string(r.Stdout)}
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit):
		answer.Status, answer.Output = exit.Status, exit.Stdout
	case err != nil:
		return inventory.StoredLinkTypes{}, err
	}
	types := storedLinkTypes(answer, exit, runningFirmware(c))
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.generation == generation {
		h.stored[c.PCI] = types
	}
	return types, nil
}

// runningFirmware is the version that a card runs; zero if it is not known. Where the
// driver does not show it, mstflint does if it is not the one in flash.
func runningFirmware(c *inventory.Card) ib.FWVersion {
	if v, err := ib.ParseFWVersion(c.RunningFW); err == nil {
		return v
	}
	flash := c.InFlash()
	if !flash.RunningFW.IsZero() {
		return flash.RunningFW
	}
	return flash.FW
}

// storedLinkTypes reads the answer. A time-out, a lock, a crash or half a table says
// nothing about the card and is no answer.
func storedLinkTypes(run collect.Run, exit *host.ExitError, running ib.FWVersion) inventory.StoredLinkTypes {
	if why := inUseNow(exit); why != "" {
		return inventory.LinkTypesUnanswered(why)
	}
	table, err := mstconfig.ParseQuery(run.Output)
	var said *mstconfig.ToolError
	switch {
	case errors.As(err, &said) && !isContended(run, exit) && said.Unsupported(running):
		return inventory.LinkTypesNotServed(said.Text)
	case errors.As(err, &said):
		return inventory.LinkTypesUnanswered(said.Text)
	case run.Status != 0:
		// A query that failed in part still prints its table. What is missing there may
		// exist in the firmware.
		_, text := explain("mstconfig", collect.Run{Status: run.Status})
		return inventory.LinkTypesUnanswered(text)
	}
	var types map[int]ib.LinkType
	if err == nil {
		types, err = table.LinkTypes()
	}
	if err != nil {
		return inventory.LinkTypesUnanswered("the output of mstconfig q was not understood: " + err.Error())
	}
	return inventory.LinkTypesInCard(types)
}

// isContended reports whether another tool used the card, or a signal ended this one:
// the output means nothing then.
func isContended(run collect.Run, exit *host.ExitError) bool {
	if exit == nil {
		return false
	}
	return run.Status > 3 || mstflint.Diagnose(run.Status, "", exit.Stderr).Kind.IsContention()
}

// inUseNow gives what a guarded command says of other users of the card; empty if it
// failed for another reason.
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

// notServed says why mstconfig is known not to serve a card; empty if it may.
func notServed(c *inventory.Card, s *inventory.Snapshot) string {
	switch {
	case c.VendorID != ib.MellanoxVendor || c.Virtual:
		return "the card has no configuration that mstconfig reads"
	case !s.Commands["mstconfig"]:
		return "mstconfig is not installed"
	case c.Flash == nil && c.FlashFailure == "":
		return c.FlashError // it has no flash that a tool would be asked for
	case lockedOut(c, s):
		return "the kernel is locked down (" + s.Lockdown.Or("") + "): mstconfig cannot reach the card"
	}
	return ""
}

// lockedOut reports whether the kernel is known to keep every tool from the card: it
// forbids direct access to PCI devices in both modes of lockdown (Linux security/security.c,
// "direct PCI access"), and mstflint's own module is not loaded.
func lockedOut(c *inventory.Card, s *inventory.Snapshot) bool {
	mode := s.Lockdown.Or("")
	return c.Flash == nil && mode != "" && mode != "none" && !s.Modules["mstflint_access"]
}

// whyNotAsked says why mstconfig is not asked; empty if it is.
func whyNotAsked(c *inventory.Card, s *inventory.Snapshot) string {
	if _, text := inUse(c, s, c.Flash != nil); text != "" {
		return text
	}
	switch c.FlashFailure {
	case "", notUnderstood, inventory.FlashToolMissing:
		return ""
	}
	return "mstconfig was not asked, because mstflint did not get an answer: " + c.FlashError
}
