package nvconfig

import (
	"context"
	_ "embed" // the script is a file so that a shell checker can read it
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstconfig"
)

// Result is what Apply and Remove did.
type Result = managed.Result[Look]

// Apply stores the settings for the next start of the card, each by itself, and restarts the host if the
// verdict says so. It is safe to repeat. Errors are *safety.RefusedError, *cards.Error and those of the host.
func Apply(ctx context.Context, o *cards.Session, c cards.Card, q Request) (Result, error) {
	var did []string
	var before Look
	what := "set settings of card " + c.ID()
	a, err := job.Begin(ctx, o, c, what, &did, func(ctx context.Context) (a cards.Assessment, err error) {
		if before, err = Read(ctx, c); err != nil {
			return a, err
		}
		return Assess(ctx, o, c, q, before)
	})
	if err != nil || a.Verdict.Action == safety.ActionNone {
		return Result{Look: before}, err
	}
	if !a.Verdict.Permits(safety.ActionSettings, c.ID()) {
		return Result{}, &safety.RefusedError{What: what, Findings: a.Verdict.Findings}
	}
	note := changes.Change{Operator: o.Operator, What: changes.Settings, Object: c.PCI.String(),
		From: before.words(q), To: q.words()}
	return managed.Noted(ctx, c.Host, note, func(ctx context.Context) (Result, error) {
		return change(ctx, o, c, q, before, a.Verdict.Activation)
	})
}

// words are what is asked for in one line, in that of a look what it has found of it.
func (q Request) words() string {
	all := make([]string, 0, len(q.Settings))
	for _, name := range q.names() {
		all = append(all, name+"="+q.Settings[name])
	}
	return strings.Join(all, " ")
}

func (l Look) words(q Request) string {
	all := make([]string, 0, len(q.Settings))
	for _, name := range q.names() {
		row, _ := l.row(name)
		all = append(all, name+"="+row.Next.Raw)
	}
	return strings.Join(all, " ")
}

// change sets what differs, then makes it effective. The values of before are kept first, so that a run
// which ends in between loses none of them.
func change(ctx context.Context, o *cards.Session, c cards.Card, q Request, before Look,
	how safety.Activation) (r Result, err error) {
	open := before.open(q)
	// Before the first set: a run that is killed between two of them would else leave values of which
	// nobody knows what was there before.
	if len(open) > 0 {
		if err = save(ctx, c, before, q, open, before.Boot); err != nil {
			return r, err
		}
	}
	power := false
	// One by one: a set of several stops at the first that the firmware refuses, with the others set or not
	// in an order of the tool's own (4.21).
	for _, name := range open {
		needsPower, failed := set(ctx, o, c, q, name)
		if failed != nil {
			return r, failed
		}
		power, r.Changed = power || needsPower, true
	}
	// After the sets: only their answers say that a restart will not load them. The tool asks the firmware to
	// reset fully at the next restart, and says "power cycle" where that is refused (4.21).
	if power {
		if err = save(ctx, c, before, q, open, powerCycle); err != nil {
			return r, err
		}
		how = safety.ActivationNone
		r.Findings = append(r.Findings, finding.SettingsAwaitPowerCycle.Find("Card %s", c.ID()))
	}
	var did []string
	if err = activation.Run(ctx, o, c, how, goal(ctx, c, q, before, len(open) > 0), &did); err != nil {
		return r, err
	}
	r.Look, err = Read(ctx, c)
	// A change that cannot be read back is not reported as done.
	if err == nil && !r.Look.Rows.Known() {
		err = notReadBack(c, r.Look)
	}
	return r, err
}

//go:embed script/save.sh
var saveScript string

// save keeps the values of the settings that are about to be set, or were set, and what loads them.
func save(ctx context.Context, c cards.Card, l Look, q Request, names []string, since string) error {
	args := []string{inventory.StateDir, folder(c.Recorded), since}
	for _, name := range names {
		row, _ := l.row(name)
		args = append(args, name, plain(row.Next), q.Settings[name])
	}
	if _, err := c.Host.Run(ctx, shellcmd.Script("save-settings", saveScript, args...).AsRoot()); err != nil {
		e := newError(c, "their values of before could not be kept on the host", err)
		e.Means = "Nothing was set."
		return e
	}
	return nil
}

// plain is a value as set takes it.
func plain(v inventory.SettingValue) string {
	if v.HasNum {
		return strconv.FormatInt(v.Number, 10)
	}
	return v.Raw
}

// set stores one setting, and reads it back: a set of several is not atomic, and the tool's word is not
// that of the card.
func set(ctx context.Context, o *cards.Session, c cards.Card, q Request, name string) (needsPower bool, err error) {
	cmd, err := mstconfig.Set(c.PCI, name, q.Settings[name])
	if err != nil {
		return false, newError(c, "the command of mstconfig could not be built", err)
	}
	what := "set " + name + " of card " + c.ID()
	// Directly before each write: the card may have been exchanged since the look.
	if _, err = c.Confirm(ctx, what); err != nil {
		return false, err
	}
	// Alone: a set reads all settings of its group, changes one and writes all of them back, so that what
	// another one sets meanwhile is lost (4.21).
	r, err := o.Exclusive(ctx, c.Host, c.PCI, cmd)
	var busy *cards.InUseError
	switch {
	case errors.As(err, &busy):
		return false, busy.Refusal(what)
	case err != nil:
		return false, newError(c, "mstconfig failed at "+name, err)
	}
	// An answer without its "Done" is none, whatever the status.
	if applied, unread := mstconfig.ParseSet(string(r.Stdout)); unread != nil || !applied {
		return false, newError(c, "mstconfig does not say that it set "+name+": "+cards.Tail(string(r.Stdout), 500), unread)
	}
	now, err := Read(ctx, c)
	switch {
	case err != nil:
		return false, err
	case !now.Rows.Known():
		return false, notReadBack(c, now)
	case !now.Holds(name, q.Settings[name]):
		row, _ := now.row(name)
		return false, newError(c, fmt.Sprintf("mstconfig says that it set %s to %s, and the card has %s", name,
			q.Settings[name], orNone(row.Next.Raw)), nil)
	}
	return mstconfig.NeedsPowerCycle(string(r.Stdout)), nil
}

// goal is reached when the card has the settings in effect. One that does not show its current values
// has them after a start. The restart loads the flash that was read before, if it could be read.
func goal(ctx context.Context, c cards.Card, q Request, before Look, stored bool) activation.Goal {
	text, flash := "settings "+q.words(), before.at.Card.InFlash()
	return activation.Goal{
		Content: text, Text: text, Consent: q.Consent, New: stored,
		Written: "The settings are stored in the card", Title: "Settings of card " + c.ID() + " are stored",
		Loads: func(now inventory.Flash) bool {
			// Settings say nothing of the flash. A restart for them must still not load what somebody has burned.
			return flash.FW.IsZero() || now.Firmware == flash.Firmware && now.GUIDs == flash.GUIDs
		},
		Reached: func(at *cards.Look) (yes, known bool) {
			now, err := Ask(ctx, c.Host, c.PCI, Find(at.Snap, c.PCI))
			if err != nil || !now.Rows.Known() {
				return false, false
			}
			// What the card shows beats what a boot id makes likely.
			if waits, known := now.AwaitsRestart(q); known {
				return !waits && len(now.open(q)) == 0, true
			}
			return at.Snap.BootID != before.Boot || !stored, true
		},
	}
}

// Remove forgets the settings. If asked, it first gives back each value that this provider has replaced and
// that nobody has changed since. They take effect with the next restart of the host.
func Remove(ctx context.Context, o *cards.Session, c cards.Card, q Request, restore bool) (r Result, err error) {
	if restore {
		if r, err = giveBack(ctx, o, c, q); err != nil {
			return r, err
		}
	}
	// Only a warning: what is kept for nothing does no harm, and the values are given back already.
	if err = forget(ctx, c); err != nil {
		r.Warnings = append(r.Warnings, "The values of before are still kept on the host, in "+inventory.StateDir+
			"/settings/"+folder(c.Recorded)+".")
	}
	return r, nil
}

func giveBack(ctx context.Context, o *cards.Session, c cards.Card, q Request) (r Result, err error) {
	now, err := Read(ctx, c)
	if err != nil {
		return r, err
	}
	g, err := FindGiven(ctx, c, now)
	if err != nil || g.None {
		return r, err
	}
	if !now.Rows.Known() {
		return r, &safety.RefusedError{What: "give back settings of card " + c.ID(), Findings: check(q, now)}
	}
	q.Settings, q.Activation, r.Warnings = g.Settings, safety.ActivationNone, g.Left
	// Nothing to write, and so nothing to warn of.
	if len(now.open(q)) == 0 {
		return r, nil
	}
	done, err := Apply(ctx, o, c, q)
	r.Warnings = slices.Concat(r.Warnings, done.Warnings,
		[]string{"The values of before are stored (" + q.words() + ") and take effect with the next restart of the host."})
	return r, err
}

func notReadBack(c cards.Card, now Look) error {
	e := newError(c, "mstconfig did not say afterwards what the card has", nil)
	e.Means = "What the card will have after the next start is not proven."
	e.Check = "Run the same command again. It reads the card, and sets what is not set."
	e.Facts = append(e.Facts, cards.Fact{"Answer of mstconfig", now.Rows.Why()})
	return e
}

func newError(c cards.Card, what string, err error) *cards.Error {
	return cards.WithExit(&cards.Error{
		Summary: "Unable to set settings of card " + c.ID(),
		What:    "The settings were not set as asked: " + what + ".",
		Means: "Settings that were set before this one stay stored. The firmware of the card was not changed, and the host " +
			"was not restarted.",
		Check: "Mend what is named as the cause, and run apply again: it sets what is missing.",
		Facts: []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}},
		Err:   err,
	})
}
