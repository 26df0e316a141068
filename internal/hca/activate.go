package hca

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// goal is what a card should run.
type goal struct {
	content string // names the content of the flash, for the loop breaker
	// reached says whether the card runs it; known is false if the driver does
	// not show it.
	reached func(s *inventory.Snapshot, card *inventory.Card) (yes, known bool)
	text    string
	// written says what was done before the restart; empty means the flash.
	written string
	// consent names the interfaces of the card that may be lost for the moment.
	consent string
}

func (g goal) done() string {
	if g.written != "" {
		return g.written
	}
	return "The flash is written and verified"
}

func firmwareGoal(want safety.Flash, consent string) goal {
	return goal{
		consent: consent,
		content: want.PSID.String() + " " + want.FW.String(), text: want.PSID.String() + " " + want.FW.String(),
		reached: func(s *inventory.Snapshot, card *inventory.Card) (bool, bool) {
			f := cardFacts(s, card)
			return f.RunningPSID == want.PSID.String() && f.RunningFW == want.FW, f.RunningKnown
		},
	}
}

func guidGoal(v safety.Verdict, consent string) goal {
	return goal{
		consent: consent,
		content: v.To.PSID.String() + " " + v.To.FW.String() + " " + guidWords(v.GUIDs), text: "GUIDs " + guidWords(v.GUIDs),
		reached: func(s *inventory.Snapshot, card *inventory.Card) (bool, bool) {
			now := effective(s, card)
			known := shown(v.GUIDs, now)
			return known && !differs(v.GUIDs, now), known
		},
	}
}

// makeRun restarts the host if the card does not run what it should and the
// activation says so. It never restarts a host twice for the same content of
// the same flash: if the first restart did not help, a second one will not.
func (o *Ops) makeRun(ctx context.Context, c Card, how safety.Activation, g goal, did *[]string) error {
	s, card, err := snapshotCard(ctx, c)
	if err != nil {
		return err
	}
	if yes, known := g.reached(s, card); yes || how != safety.ActivationReboot || !known && card.Driver == "" && card.Flash == nil {
		return nil
	}
	if !c.RebootAllowed || c.Rebooter == nil || c.Host.Observe() {
		return &Error{
			Summary: "Refusing to reboot host " + c.Host.Name(),
			What:    "Card " + c.ID() + " has to be started anew to run " + g.text + ", and the host's entry in the provider does not allow a reboot.",
			Means:   g.done() + "; the card still runs what it started with.",
			Check:   "Restart the host by hand, or write reboot = { allowed = true } into its entry.",
		}
	}
	if s, err = o.mayRestart(ctx, c, g); err != nil {
		return err
	}
	o.cfg.Progress(ctx, "Rebooting "+c.Host.Name()+" so that card "+c.PCI.String()+" runs "+g.text)
	after, err := c.Rebooter.Reboot(ctx, "terraform: card "+c.PCI.String()+" is to run "+g.text)
	if err != nil {
		return &Error{
			Summary: "Unable to activate the flash of card " + c.ID(),
			What:    "The restart of the host, after which the card should run " + g.text + ", did not go as it should.",
			Means:   g.done() + ". What the card runs now is not known.",
			Check:   "Run apply again when the host answers.",
			Facts:   []Fact{{"Host", c.Host.Name()}, {"Boot id before", s.BootID}},
			Err:     err,
		}
	}
	c.Host.Invalidate()
	*did = append(*did, fmt.Sprintf("Rebooted %s (boot id %s, before %s).", c.Host.Name(), after, s.BootID))
	return o.waitForGoal(ctx, c, s.BootID, card.Driver != "", g, did)
}

// mayRestart asks once more for what forbids a restart, in the moment before it: the
// verdict that it follows from is some minutes old. It notes the restart that is
// allowed, and gives what was found.
func (o *Ops) mayRestart(ctx context.Context, c Card, g goal) (*inventory.Snapshot, error) {
	c.Host.Invalidate()
	s, card, err := snapshotCard(ctx, c)
	if err != nil {
		return nil, err
	}
	found := safety.RestartNow(cardFacts(s, card), o.hostFacts(c, s), g.consent)
	if len(found) == 0 {
		return s, o.breakLoop(ctx, c, s, g)
	}
	return nil, &safety.RefusedError{
		What:     "reboot " + c.Host.Name() + " so that card " + c.ID() + " runs " + g.text,
		Findings: found, Done: g.done(),
	}
}

// breakLoop notes the restart on the host and refuses a second one that would
// be for the same content.
func (o *Ops) breakLoop(ctx context.Context, c Card, s *inventory.Snapshot, g goal) error {
	content := g.content
	if jobs := s.JobsOf(c.PCI); len(jobs) > 0 {
		// The same firmware written a second time may be started a second time.
		content += " " + jobs[len(jobs)-1].ID
	}
	r, err := c.Host.Run(ctx, noteActivation(safeName(c.PCI.String()), content, s.BootID))
	if err != nil {
		return &Error{
			Summary: "Unable to prepare the reboot of host " + c.Host.Name(),
			What:    "The note that prevents a second reboot for the same firmware could not be stored.",
			Means:   g.done() + "; the host was not restarted.",
			Err:     err,
		}
	}
	before := map[string]string{}
	for line := range strings.Lines(string(r.Stdout)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		before[k] = v
	}
	if before["content"] != content || before["boot_id"] == "" || before["boot_id"] == s.BootID {
		return nil
	}
	return &Error{
		Summary: "Refusing to reboot host " + c.Host.Name() + " again for card " + c.ID(),
		What:    "The host was restarted once so that the card runs " + g.text + ", and the card still does not run it.",
		Means:   "Another reboot would not help: some machines keep power on the card while they restart.",
		Check:   "Switch the machine off, wait half a minute, switch it on, and plan again. If the card then still runs the old firmware, look at mstflint -d " + c.PCI.String() + " v.",
		Facts:   []Fact{{"Host", c.Host.Name()}, {"Boot id now", s.BootID}, {"Boot id before the first restart", before["boot_id"]}},
	}
}

// waitForGoal gives the driver time to take the card. A card that had no driver
// before is not expected to have one: what it runs then stays unknown.
func (o *Ops) waitForGoal(ctx context.Context, c Card, oldBoot string, driven bool, g goal, did *[]string) error {
	deadline := time.Now().Add(o.cfg.Settle)
	for {
		s, card, err := snapshotCard(ctx, c)
		if err != nil {
			return err
		}
		yes, known := g.reached(s, card)
		if yes && card.Driver != "" && s.BootID != oldBoot {
			return nil
		}
		if time.Now().After(deadline) {
			blind := !known && !driven && card.Driver == "" && s.BootID != oldBoot
			return notReached(c, s, card, g, known, blind, did)
		}
		if err := sleep(ctx, o.cfg.Poll); err != nil {
			return err
		}
		c.Host.Invalidate()
	}
}

// notReached says that a card does not run what it should. A blind one has no
// driver, as before the restart, and nothing is concluded from that.
func notReached(c Card, s *inventory.Snapshot, card *inventory.Card, g goal, known, blind bool, did *[]string) error {
	if blind {
		*did = append(*did, "Card "+c.ID()+" has no driver, as before the restart, so that nothing shows whether it runs "+g.text+".")
		return nil
	}
	e := &Error{
		Summary: "Unable to activate the flash of card " + c.ID(),
		What:    "The host was restarted, and the card does not run " + g.text + ".",
		Means:   g.done() + ".",
		Check:   "Switch the machine off and on again: some keep power on the card while they restart. The provider does not restart the host a second time for the same firmware.",
		Facts: []Fact{
			{"Host", c.Host.Name()}, {"Boot id", s.BootID}, {"Driver", orNothing(card.Driver)},
			{"Running", strings.TrimSpace(card.RunningPSID + " " + card.RunningFW)},
		},
	}
	if !known {
		e.What = "The host was restarted, and its driver does not show what the card runs."
		e.Check = "Look into the host's kernel log for messages of the driver."
	}
	return e
}
