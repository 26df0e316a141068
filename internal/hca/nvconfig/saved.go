package nvconfig

import (
	"context"
	_ "embed" // the scripts are files so that a shell checker can read them
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

//go:embed script/save.sh
var saveScript string

//go:embed script/saved.sh
var savedScript string

//go:embed script/forget.sh
var forgetScript string

// saved is one setting before the first change of this provider, and what that has set it to last. It is
// kept on the host: a run that is killed, or a create that fails, has no state to keep it in.
type saved struct{ name, before, set string }

// folder is the card in the path of what is kept: who it is, wherever it sits.
func folder(c cards.Card) string { return strings.ReplaceAll(c.Recorded.Token(), "/", "_") }

// save keeps the values of the settings that are about to be set.
func save(ctx context.Context, c cards.Card, l Look, q Request, names []string) error {
	args := []string{inventory.StateDir, folder(c)}
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

// readSaved reads what is kept of a card.
func readSaved(ctx context.Context, c cards.Card) (all []saved, err error) {
	cmd := shellcmd.Script("saved-settings", answer.Functions+savedScript, inventory.StateDir, folder(c))
	r, err := c.Host.Run(ctx, cmd.AsRoot())
	if err != nil {
		return nil, err
	}
	err = answer.Read(string(r.Stdout), func(i answer.Item) error {
		before, set, both := strings.Cut(i.Text, " ")
		if i.Word != answer.Value || !both {
			return i.Errorf("want the value of before and the one that was set")
		}
		all = append(all, saved{i.Name, before, set})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s/settings/%s of %s was not understood: %w", inventory.StateDir, folder(c),
			c.Host.Name(), err)
	}
	return all, nil
}

func forget(ctx context.Context, c cards.Card) error {
	_, err := c.Host.Run(ctx, shellcmd.Script("forget-settings", forgetScript, inventory.StateDir, folder(c)).AsRoot())
	return err
}
