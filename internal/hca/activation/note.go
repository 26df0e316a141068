package activation

import (
	"context"
	_ "embed" // the scripts are files so that a shell checker can read them
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// breakLoop refuses a second restart for the same content. What this apply has written was
// not started yet, whatever an earlier one has noted.
func breakLoop(ctx context.Context, c cards.Card, l *cards.Look, g Goal) error {
	if g.New {
		return nil
	}
	content := contentOf(c, l, g)
	r, err := c.Host.Run(ctx, lookActivation(c.FileName()))
	if err != nil {
		return noteError(c, g, "read", err)
	}
	before := map[string]string{}
	for line := range strings.Lines(string(r.Stdout)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		before[k] = v
	}
	// The same boot means that the restart which was noted never came: that is no loop.
	if before["content"] != content || before["boot_id"] == "" || before["boot_id"] == l.Snap.BootID {
		return nil
	}
	return &cards.Error{
		Summary: "Refusing to reboot host " + c.Host.Name() + " again for card " + c.ID(),
		Heading: g.Title + "; the host is not restarted again",
		What:    "The host was restarted once so that the card runs " + g.Text + ", and the card does not run it now.",
		Means:   "Another reboot would not help: some machines keep power on the card while they restart.",
		Check: "Switch the machine off, wait half a minute, switch it on, and plan again. If the card then still runs the " +
			"old firmware, look at mstflint -d " + c.PCI.String() + " v. If the card has run it since that restart, a reboot " +
			"can help: remove " + notePath(c) + " on the host, and run the same command again.",
		Facts: []cards.Fact{{"Host", c.Host.Name()}, {"Boot id now", l.Snap.BootID},
			{"Boot id before the first restart", before["boot_id"]}},
	}
}

// noteRestart records on the host the restart that is asked for next.
// On the host, not in the state: a run that dies during a restart has no state to write to.
func noteRestart(ctx context.Context, c cards.Card, l *cards.Look, g Goal) error {
	if _, err := c.Host.Run(ctx, noteActivation(c.FileName(), contentOf(c, l, g), l.Snap.BootID)); err != nil {
		return noteError(c, g, "stored", err)
	}
	return nil
}

func noteError(c cards.Card, g Goal, done string, err error) error {
	return &cards.Error{
		Summary: "Unable to prepare the reboot of host " + c.Host.Name(),
		Heading: g.Title + "; the restart could not be prepared",
		What:    "The note that prevents a second reboot for the same firmware could not be " + done + ".",
		Means:   g.doneText() + "; the host was not restarted.",
		Err:     err,
	}
}

// contentOf is what a restart is to make a card run, as its note has it. Another card in the
// slot has another one.
// It names the last job too, since only its writing makes another restart for the same version useful.
func contentOf(c cards.Card, l *cards.Look, g Goal) string {
	content := strings.TrimSpace(c.Recorded.Token() + " " + g.Content)
	if jobs := l.Snap.JobsOf(c.PCI); len(jobs) > 0 {
		// Firmware that was written again may be started again.
		content += " " + jobs[len(jobs)-1].ID
	}
	return content
}

// forget removes the note on a restart for a goal: the goal is reached, and what is undone by hand
// after that may be restarted for again, or the restart was refused. If the note stays, breakLoop
// says how it is removed.
// A failure is let pass: the restart was right, and the note only delays a later one.
func forget(ctx context.Context, c cards.Card, l *cards.Look, g Goal) {
	if !c.Host.Observe() {
		_, _ = c.Host.Run(ctx, forgetActivation(c.FileName(), contentOf(c, l, g)))
	}
}

func notePath(c cards.Card) string { return inventory.StateDir + "/activation/" + c.FileName() }

//go:embed script/note.sh
var noteScript string

func noteActivation(card, content, bootID string) shellcmd.Command {
	return shellcmd.Script("note-activation", noteScript, inventory.StateDir, card, content, bootID).AsRoot().Changes()
}

//go:embed script/look.sh
var lookScript string

func lookActivation(card string) shellcmd.Command {
	return shellcmd.Script("look-at-activation", lookScript, inventory.StateDir, card).AsRoot()
}

//go:embed script/forget.sh
var forgetScript string

func forgetActivation(card, content string) shellcmd.Command {
	return shellcmd.Script("forget-activation", forgetScript, inventory.StateDir, card, content).AsRoot().Changes()
}
