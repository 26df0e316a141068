package activation

import (
	"context"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstfwreset"
)

// AgainstReset says why a card cannot be started anew by a reset of its chip (mstfwreset, level 3), so that only a
// restart of its host is left; empty if it can. What is not known is a reason. The goal is what waits in the card
// now; nil if nothing does. Errors are those of the host.
func AgainstReset(ctx context.Context, o *cards.Session, c cards.Card, g *Goal) (why string, err error) {
	l, err := c.Look(ctx)
	if err != nil {
		return "", err
	}
	// The cheapest question first: the last one asks the card itself, through its command interface.
	if why = againstCard(l); why != "" {
		return why, nil
	}
	resets, err := readResets(ctx, c.Host)
	if err != nil {
		return "", err
	}
	if why = resets.against(c, l, g); why != "" {
		return why, nil
	}
	cmd := mstfwreset.Look(c.PCI)
	r, err := c.Host.Run(ctx, cmd)
	if err != nil {
		return "", err
	}
	met, err := mstfwreset.ParseLook(string(r.Stdout))
	if err != nil {
		return "", notUnderstood(c.Host, cmd, r, err)
	}
	if why = againstHost(met); why != "" {
		return why, nil
	}
	return againstOffers(ctx, o, c)
}

// againstCard is what the snapshot of the host says. Consents do not count: an interface that the host is reached
// over comes back after a restart, and the session that has to see the end of a reset does not.
func againstCard(l *cards.Look) string {
	card, s := l.Card, l.Snap
	switch {
	case card.Chip.Driver != mstfwreset.Driver:
		return "mstfwreset does not know the " + card.Chip.Name
	// The tool refuses drivers of others, such as vfio-pci of a card that a virtual machine has.
	case card.Driver != mstfwreset.Driver:
		return "the driver of the card is " + orNone(card.Driver) + ", not " + mstfwreset.Driver
	// A reset that nobody can prove may as well be a restart.
	case !l.Facts.Running.Known():
		return "nothing would show what the card runs after a reset: " + l.Facts.Running.Why()
	}
	var found []finding.Finding
	for _, f := range append(hostcheck.Lockdown(s, card.ReadFlash() != nil), hostcheck.Path(s, card.PCI, nil)...) {
		if f.Severity.Blocks() {
			found = append(found, f)
		}
	}
	found = append(found, hostcheck.Managers(s, card.PCI)...)
	if len(found) == 0 {
		return ""
	}
	return found[0].Summary + ": " + found[0].Evidence
}

func orNone(driver string) string {
	if driver == "" {
		return "none"
	}
	return driver
}

func againstHost(h mstfwreset.Host) string {
	switch {
	case len(h.Lacks) > 0:
		return "the host lacks " + strings.Join(h.Lacks, ", ")
	// As lscpu says it; the tool looks at the same (4.21 to 4.36).
	case h.Virtual:
		return "mstfwreset refuses on a virtual machine"
	case len(h.Managers) > 0:
		return fmt.Sprintf("mstfwreset refuses while opensm runs on the host (process %d)", h.Managers[0])
	case len(h.Functions) == 0:
		return "the card is not on the bus"
	}
	// Of all functions of the slot: the reset is one of the chip, which a card of two ports shares.
	for _, f := range h.Functions {
		if f.Driver != mstfwreset.Driver {
			return "the driver of " + f.PCI + ", of the same slot, is " + orNone(f.Driver) + ", not " + mstfwreset.Driver
		}
		// The tool sets their number to 0, and does not set it again.
		if f.VFs > 0 {
			return fmt.Sprintf("%s has virtual functions (%d), which a reset takes away", f.PCI, f.VFs)
		}
	}
	return ""
}

// againstOffers asks the card itself.
func againstOffers(ctx context.Context, o *cards.Session, c cards.Card) (string, error) {
	r, err := o.RunShared(ctx, c.Host, c.PCI, mstfwreset.Offers(c.PCI))
	if err != nil {
		if cards.MayPass(err) {
			return "", err
		}
		said := err.Error()
		if _, exit := cards.Exit(err); exit != nil {
			said = lastLine(exit.Stdout + "\n" + exit.Stderr)
		}
		return "how the card can be reset is not known: " + said, nil
	}
	whole, rescan, err := mstfwreset.ParseOffers(string(r.Stdout))
	switch {
	case err != nil:
		return "how the card can be reset is not known: " + err.Error(), nil //nolint:nilerr // then the host restarts
	case !whole:
		return "the card offers no reset of the whole chip while the host runs (level 3)", nil
	case rescan:
		return "after a reset the bus would have to be scanned anew, which mstfwreset does not do", nil
	}
	return "", nil
}
