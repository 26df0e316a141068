package change

import (
	"context"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	tool "github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// writeBoot writes what starts the instance at boot. The list of ports must be there
// before the package: Debian's starts itself at once, and its default PORTS=ALL runs an
// SM on every port.
func writeBoot(ctx context.Context, h *hosts.Host, l *found.Look) error {
	if !l.OwnTemplate {
		return writeList(ctx, h, l, append(slices.Clone(l.List.GUIDs), l.Port))
	}
	text := found.TemplateText()
	if l.Snapshot.Files[tool.TemplatePath].Content == text {
		return nil
	}
	return platform.WriteFile(ctx, h, tool.TemplatePath, 0o644, text)
}

// writeList edits the list of ports. The other GUIDs that are listed stay.
func writeList(ctx context.Context, h *hosts.Host, l *found.Look, ports []ib.GUID) error {
	if err := l.List.Err(l.Host); err != nil {
		return err
	}
	slices.Sort(ports)
	text := tool.EditDefault(l.List.Text, slices.Compact(ports))
	if text == l.List.Text {
		return nil
	}
	return platform.WriteFile(ctx, h, tool.DefaultPath, 0o644, text)
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
	err := l.List.Err(l.Host)
	if err == nil && l.List.There && !l.List.All {
		err = writeList(ctx, h, l, slices.DeleteFunc(slices.Clone(l.List.GUIDs),
			func(g ib.GUID) bool { return g == l.Port }))
	}
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
