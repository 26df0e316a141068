package change

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// writeBoot writes what starts the instance at boot. The list of ports must be there
// before the package: Debian's starts itself at once, and its default PORTS=ALL runs an
// SM on every port.
func writeBoot(ctx context.Context, h *hosts.Host, l *found.Look) error {
	if !l.OwnTemplate {
		_, err := editList(ctx, h, l, func(list found.List) []ib.GUID {
			return append(slices.Clone(list.GUIDs), l.Port)
		})
		return err
	}
	text := found.TemplateText()
	if l.Snapshot.Files[tool.TemplatePath].Content == text {
		return nil
	}
	return platform.WriteFile(ctx, h, tool.TemplatePath, 0o644, text)
}

// listAttempts is how often an edit of the list is begun anew because another process has edited it.
const listAttempts = 20

// editList edits the list of ports. The other GUIDs that are listed stay, also those that another process has
// added since the look: the list is replaced only as long as it is what was read. An edit that gives nil
// leaves it. The look at what was edited is returned.
func editList(ctx context.Context, h *hosts.Host, l *found.Look, edit func(found.List) []ib.GUID) (*found.Look, error) {
	for range listAttempts {
		if err := l.List.Err(l.Host); err != nil {
			return l, err
		}
		ports := edit(l.List)
		slices.Sort(ports)
		text := tool.EditDefault(l.List.Text, slices.Compact(ports))
		if ports == nil || text == l.List.Text {
			return l, nil
		}
		done, err := replaceList(ctx, h, l.List, text)
		if err != nil || done {
			return l, err
		}
		if err = poll.Pause(ctx, 100*time.Millisecond); err != nil {
			return l, err
		}
		if l, err = renew(ctx, h, l); err != nil {
			return l, err
		}
	}
	return l, fmt.Errorf("%s: %s was changed by others %d times while its list of ports was edited", h.Name(),
		tool.DefaultPath, listAttempts)
}

// replaceList reports false if the list is not what it was, or is being edited.
func replaceList(ctx context.Context, h *hosts.Host, was found.List, text string) (done bool, err error) {
	// Beside the list and under a name of its own: the replacement is one rename under a lock, which compares
	// first.
	path := tool.NewDefaultPath(rand.Text())
	if err = platform.WriteFile(ctx, h, path, 0o644, text); err != nil {
		return false, err
	}
	_, err = h.Run(ctx, tool.ReplaceDefault(path, was.Text, was.There))
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit) && exit.Status == tool.Stale:
		return false, nil
	// Under a lock that is taken the command never ran, and what it would have moved is still there.
	case errors.As(err, &exit) && exit.Status == flock.Taken:
		return false, run(ctx, h, coreutils.RemoveFile(path))
	}
	return err == nil, err
}

// startCommands make the instance run with its present files, now and at boot. They
// restart the instance alone, unless it runs with them: a restart of opensm.service would stop
// those of other ports too. That service is started only if it starts no other: the instance
// needs it at boot, and not now.
func startCommands(l *found.Look, runs bool) []shellcmd.Command {
	starter := tool.Service
	if l.OwnTemplate {
		starter = l.Unit
	}
	commands := []shellcmd.Command{systemctl.DaemonReload(), systemctl.Enable(starter)}
	// The instance reads its drop-in and its files when it starts.
	if !runs {
		commands = append(commands, systemctl.Restart(l.Unit))
	}
	if !l.OwnTemplate && l.OthersRun() {
		commands = append(commands, systemctl.Start(tool.Service))
	}
	return commands
}

// removeBoot removes the instance from the boot, and returns the commands that are left to
// do after it was stopped. A list that says ALL is somebody else's: it has no instance of ours.
// A list that is not there went with the package, and is not made.
func removeBoot(ctx context.Context, h *hosts.Host, l *found.Look) ([]shellcmd.Command, error) {
	if l.OwnTemplate {
		return nil, run(ctx, h, disableCommand(l))
	}
	l, err := editList(ctx, h, l, func(list found.List) []ib.GUID {
		if !list.There || list.All {
			return nil
		}
		return slices.DeleteFunc(append([]ib.GUID{}, list.GUIDs...), func(g ib.GUID) bool { return g == l.Port })
	})
	// A service that starts others, or that is not there, is left alone.
	if err != nil || len(judge.FindStaying(l)) > 0 || l.SharedAbsent {
		return nil, err
	}
	return []shellcmd.Command{systemctl.Disable(tool.Service), systemctl.Stop(tool.Service)}, nil
}

// disableCommand takes an instance from the boot. systemctl refuses that for a unit without a file,
// whose link stays: a template that is made again later would start it.
func disableCommand(l *found.Look) shellcmd.Command {
	if !l.Absent {
		return systemctl.Disable(l.Unit)
	}
	return coreutils.RemoveFile(tool.BootLink(l.Port))
}
