package activation

import (
	"context"
	_ "embed" // the scripts are files so that a shell checker can read them
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/cardusers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstfwreset"
)

// reset is how far the last reset of a card is, as its host has it.
type reset struct {
	id            string // of the request
	content, boot string // what it was to load, and in which boot of the host
	begun, runs   bool   // the tool was started; the unit runs
	exit          string // status of the tool; empty if it has not ended
	output        string // the end of what it printed
}

// refused reports whether the tool was never started: the card is as it was.
func (r reset) refused() bool { return !r.begun && !r.runs }

// cutOff reports whether the tool was started and something has ended it: the shell gives 128 and more for a signal.
// The unit was looked at first, so that it may have run still when the end was already written.
// mstfwreset ignores INT and TERM while the link is down. HUP and KILL end it (4.21).
func (r reset) cutOff() bool {
	status, err := strconv.Atoi(r.exit)
	return r.begun && (err == nil && status > 128 || err != nil && !r.runs)
}

// resets are those of the cards of a host, by the name of the card in a path.
type resets map[string]*reset

// of is the reset of a card in a boot of its host; an empty one if there is none.
// A reset of an earlier boot says nothing: the host has started the card anew since.
func (all resets) of(c cards.Card, bootID string) *reset {
	if r := all[c.FileName()]; r != nil && r.boot == bootID {
		return r
	}
	return &reset{}
}

// against is why a card is not reset again: what one reset in this boot did not bring, a second will not.
func (all resets) against(c cards.Card, l *cards.Look, g *Goal) string {
	r := all.of(c, l.Snap.BootID)
	switch {
	case r.refused():
		return ""
	// A second one beside it would meet a card whose link is down.
	case r.runs:
		return "a reset of the card is under way"
	case r.cutOff():
		return "a reset of the card was cut off since the host started"
	case g != nil && r.content == contentOf(c, l, *g):
		return "mstfwreset was run for that since the host started, and ended with status " + r.exit + ": " +
			lastLine(r.output)
	}
	return ""
}

//go:embed script/reset.sh
var resetBody string

//go:embed script/reset_start.sh
var resetStartScript string

//go:embed script/reset_look.sh
var resetLookScript string

//go:embed script/reset_forgo.sh
var resetForgoScript string

func startReset(c cards.Card, id, content, bootID string) shellcmd.Command {
	// In a unit of its own: if the session breaks, as it does where it goes over this card, the tool goes on. Killed
	// by a hang-up it would leave the card without link and driver.
	args := []string{inventory.StateDir, c.FileName(), id, content, bootID, resetUnit(c), flock.File,
		cardusers.Functions + resetBody, c.PCI.String()}
	return shellcmd.Script("start-reset", resetStartScript, append(args, mstfwreset.Reset(c.PCI)...)...).AsRoot().Changes()
}

// forgone keeps a reset from beginning, and reports whether that is certain.
func forgone(ctx context.Context, c cards.Card, id string) bool {
	_, err := c.Host.Run(ctx, shellcmd.Script("forgo-reset", resetForgoScript, inventory.StateDir, c.FileName(), id).
		AsRoot().Changes())
	return err == nil
}

func resetDir(c cards.Card) string { return inventory.StateDir + "/activation/reset-" + c.FileName() }

func resetUnit(c cards.Card) string { return "infiniband-reset-" + c.FileName() + ".service" }

// readReset reads how far the reset of a request is; an empty one if the host does not know it.
func readReset(ctx context.Context, c cards.Card, id string) (*reset, error) {
	all, err := readResets(ctx, c.Host)
	if r := all[c.FileName()]; r != nil && r.id == id {
		return r, err
	}
	return &reset{}, err
}

// readResets reads how far the resets of a host are.
func readResets(ctx context.Context, h cards.Host) (resets, error) {
	cmd := shellcmd.Script("look-at-resets", answer.Functions+resetLookScript, inventory.StateDir).AsRoot()
	r, err := h.Run(ctx, cmd)
	if err != nil {
		return nil, err
	}
	all := resets{}
	of := func(name string) *reset {
		if all[name] == nil {
			all[name] = &reset{}
		}
		return all[name]
	}
	err = answer.Read(string(r.Stdout), func(i answer.Item) error {
		name, file, _ := strings.Cut(strings.TrimPrefix(i.Name, "reset-"), "/")
		switch {
		case i.Word == "runs":
			of(i.Name).runs = true
		case i.Word == answer.Run:
			of(i.Name).output = i.Text
		case i.Word != answer.Value:
			return i.Errorf("a fact that is not known")
		case file == "id":
			of(name).id = i.Text
		case file == "content":
			of(name).content = i.Text
		case file == "boot":
			of(name).boot = i.Text
		case file == "begun":
			of(name).begun = true
		case file == "exit":
			of(name).exit = i.Text
		}
		return nil
	})
	if err != nil {
		return nil, notUnderstood(h, cmd, r, err)
	}
	return all, nil
}

func notUnderstood(h host.Host, cmd shellcmd.Command, r host.Result, err error) error {
	return &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(), Output: string(r.Stdout)}
}

// lastLine is what a tool says at its end.
func lastLine(output string) string {
	lines := strings.FieldsFunc(output, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		if text := strings.TrimSpace(lines[i]); text != "" {
			return text
		}
	}
	return "no output"
}
