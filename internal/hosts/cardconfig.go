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
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstconfig"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// configQuestion asks one card for its configuration: all layers of it, or the next boot alone, which
// takes a third of the time.
type configQuestion struct {
	pci    ib.PCIAddress
	layers bool
}

func (q configQuestion) command() shellcmd.Command {
	if q.layers {
		return mstconfig.QueryLayers(q.pci)
	}
	return mstconfig.Query(q.pci)
}

// configAnswer is what mstconfig said of a card. Without a table, why says why there is none, and served
// whether the tool serves the card at all.
type configAnswer struct {
	table  *mstconfig.Table
	served fact.Bool
	why    string
}

func notServedAnswer(why string) configAnswer {
	return configAnswer{served: fact.Known(false), why: why}
}

func unanswered(why string) configAnswer {
	return configAnswer{served: fact.Unknown[bool](why), why: why}
}

// StoredLinkTypes asks a card for its link types, by a command of its own: only link
// types need the answer, and mstconfig speaks with the firmware of the card, which may
// take many seconds. The answer is remembered as the snapshot is. Its errors are those
// of Snapshot.
func (h *Host) StoredLinkTypes(ctx context.Context, pci ib.PCIAddress) (inventory.StoredLinkTypes, error) {
	answer, err := h.config(ctx, configQuestion{pci: pci})
	return answer.linkTypes(), err
}

// CardSettings asks a card for all settings in its configuration, as StoredLinkTypes does for the link types.
func (h *Host) CardSettings(ctx context.Context, pci ib.PCIAddress) (inventory.CardSettings, error) {
	answer, err := h.config(ctx, configQuestion{pci: pci, layers: true})
	all := inventory.CardSettings{Served: answer.served, Rows: fact.Unknown[map[string]inventory.CardSetting](answer.why)}
	if answer.table != nil {
		all.Rows = fact.Known(answer.table.Settings())
	}
	return all, err
}

func (h *Host) config(ctx context.Context, q configQuestion) (configAnswer, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return configAnswer{}, err
	}
	c, ok := s.Card(q.pci)
	if !ok {
		return unanswered("there is no card at " + q.pci.String()), nil
	}
	if why := notServed(c, s); why != "" {
		return notServedAnswer(why), nil
	}
	// A question beside a burn takes the command interface of the card, and can starve it (4.21).
	if why := whyNotAsked(c, s); why != "" {
		return unanswered(why), nil
	}
	h.mu.Lock()
	generation := h.generation
	known, asked := h.stored[q]
	h.mu.Unlock()
	if asked {
		return known, nil
	}
	// By generation, as Snapshot: an answer from before a change must not serve who comes after it.
	found, err := h.join(ctx, fmt.Sprintf("configuration %d %v", generation, q), func(ctx context.Context) (any, error) {
		return h.askConfig(ctx, c, q, generation)
	})
	answer, _ := found.(configAnswer)
	return answer, err
}

// askConfig asks, and remembers the answer unless the host was changed meanwhile.
func (h *Host) askConfig(ctx context.Context, c *inventory.Card, q configQuestion,
	generation uint64) (configAnswer, error) {
	r, err := h.Host.Run(ctx, cardusers.WithSharedLock(q.command(), c.PCI))
	run := collect.Run{Output: string(r.Stdout)}
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit):
		run.Status, run.Output = exit.Status, exit.Stdout
	case err != nil:
		return configAnswer{}, err
	}
	answer := configOf(run, exit, runningFirmware(c))
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.generation == generation {
		h.stored[q] = answer
	}
	return answer, nil
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

// configOf reads the answer. A time-out, a lock, a crash or half a table says
// nothing about the card and is no answer.
func configOf(run collect.Run, exit *host.ExitError, running ib.FWVersion) configAnswer {
	if why := inUseNow(exit); why != "" {
		return unanswered(why)
	}
	table, err := mstconfig.ParseQuery(run.Output)
	var said *mstconfig.ToolError
	switch {
	// Only these words say that the card has none for ever. All others may be of this moment.
	case errors.As(err, &said) && !isContended(run, exit) && said.Unsupported(running):
		return notServedAnswer(said.Text)
	case errors.As(err, &said):
		return unanswered(said.Text)
	case run.Status != 0:
		// A query that failed in part still prints its table. What is missing there may
		// exist in the firmware.
		_, text := explain("mstconfig", collect.Run{Status: run.Status})
		return unanswered(text)
	case err != nil:
		return unanswered(notUnderstoodText + err.Error())
	}
	return configAnswer{table: &table, served: fact.Known(true)}
}

const notUnderstoodText = "the output of mstconfig q was not understood: "

// linkTypes reads the link types of an answer.
func (a configAnswer) linkTypes() inventory.StoredLinkTypes {
	if a.table == nil {
		return inventory.StoredLinkTypes{Served: a.served, Types: fact.Unknown[map[int]ib.LinkType](a.why)}
	}
	types, err := a.table.LinkTypes()
	if err != nil {
		return inventory.LinkTypesUnanswered(notUnderstoodText + err.Error())
	}
	return inventory.LinkTypesInCard(types)
}

// isContended reports whether another tool used the card, or a signal ended this one:
// the output means nothing then.
func isContended(run collect.Run, exit *host.ExitError) bool {
	if exit == nil {
		return false
	}
	// mstconfig ends with 0, 2 or 3. Above are signals, and what runs it under a lock and a limit.
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
	return c.ReadFlash() == nil && mode != "" && mode != "none" && !s.Modules["mstflint_access"]
}

// whyNotAsked says why mstconfig is not asked; empty if it is.
func whyNotAsked(c *inventory.Card, s *inventory.Snapshot) string {
	if _, text := inUse(c, s, c.ReadFlash() != nil); text != "" {
		return text
	}
	switch c.FlashFailure {
	case "", notUnderstood, inventory.FlashToolMissing:
		return ""
	}
	return "mstconfig was not asked, because mstflint did not get an answer: " + c.FlashError
}
