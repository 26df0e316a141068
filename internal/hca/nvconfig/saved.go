package nvconfig

import (
	"context"
	_ "embed" // the scripts are files so that a shell checker can read them
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

//go:embed script/saved.sh
var savedScript string

//go:embed script/forget.sh
var forgetScript string

// saved is one setting before the first change of this provider, and what that has set it to last. It is
// kept on the host: a run that is killed, or a create that fails, has no state to keep it in.
type saved struct {
	name, before, set string
	// since is the boot of the host in which it was set, or powerCycle; empty in notes of earlier versions.
	since string
}

// powerCycle says of a setting that no restart loads it.
const powerCycle = "power-cycle"

// waits reports whether the host has not started since it was set.
func (s saved) waits(boot string) bool { return s.since == boot && s.since != "" }

// folder is the card in the path of what is kept: who it is, wherever it sits.
// By the card and not by its slot: a value of before given to another card is worse than none.
func folder(who ib.Identity) string { return strings.ReplaceAll(who.Token(), "/", "_") }

// readSaved reads what is kept of a card.
func readSaved(ctx context.Context, h cards.Host, who ib.Identity) (all []saved, err error) {
	cmd := shellcmd.Script("saved-settings", answer.Functions+savedScript, inventory.StateDir, folder(who))
	r, err := h.Run(ctx, cmd.AsRoot())
	if err != nil {
		return nil, err
	}
	err = answer.Read(string(r.Stdout), func(i answer.Item) error {
		words := strings.SplitN(i.Text, " ", 3)
		if i.Word != answer.Value || len(words) < 2 {
			return i.Errorf("want the value of before and the one that was set")
		}
		all = append(all, saved{i.Name, words[0], words[1], strings.Join(words[2:], "")})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s/settings/%s of %s, which has the values of before, was not understood: %w. If it is "+
			"damaged, remove it: a destroy then gives nothing back", inventory.StateDir, folder(who), h.Name(), err)
	}
	return all, nil
}

// Given is what a destroy gives back of a card: Settings are the values of before, Left says which settings stay, one
// sentence each. None is true if this provider has replaced no value.
type Given struct {
	Settings map[string]string
	Left     []string
	None     bool
}

// FindGiven compares what this provider has set with what a look at the card has found.
func FindGiven(ctx context.Context, c cards.Card, now Look) (Given, error) {
	all, err := readSaved(ctx, c.Host, c.Recorded)
	g := Given{Settings: map[string]string{}, None: len(all) == 0}
	if err != nil || !now.Rows.Known() {
		return g, err
	}
	for _, s := range all {
		switch row, ok := now.row(s.name); {
		case !ok:
			g.Left = append(g.Left, s.name+" is not there any more: it was "+s.before+" before.")
		// Only what still has our value is ours to give back.
		case row.Next.Is(s.set):
			g.Settings[s.name] = s.before
		case !row.Next.Is(s.before):
			g.Left = append(g.Left, fmt.Sprintf("%s stays %s: it was set to %s here, and somebody has changed it since.",
				s.name, row.Next.Raw, s.set))
		}
	}
	return g, nil
}

// Words say of each setting that is given back what it is at the next start and what it becomes, in one line.
func (g Given) Words(now Look) string {
	var all []string
	for _, name := range (Request{Settings: g.Settings}).names() {
		row, _ := now.row(name)
		if !row.Next.Is(g.Settings[name]) {
			all = append(all, name+": "+row.Next.Raw+" -> "+g.Settings[name])
		}
	}
	return strings.Join(all, "; ")
}

func forget(ctx context.Context, c cards.Card) error {
	args := []string{inventory.StateDir, folder(c.Recorded)}
	_, err := c.Host.Run(ctx, shellcmd.Script("forget-settings", forgetScript, args...).AsRoot())
	return err
}
