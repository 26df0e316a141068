package opensm

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// layout is how a distribution starts an instance for a port at boot: a template unit
// and a list of ports, or a template unit of ours where the package runs one opensm for
// the host.
type layout struct {
	own   bool
	files opensm.Places // what the distribution's opensm reads
}

func layoutOf(s *inventory.Snapshot) layout {
	plat, err := platform.Of(s)
	if err != nil {
		return layout{files: opensm.PlacesIn(opensm.ConfDir)}
	}
	return layout{own: plat.About().OneSM, files: opensm.PlacesIn(cmp.Or(plat.About().SMFiles, opensm.ConfDir))}
}

// atBoot says whether the port is listed by its GUID, and whether its instance starts at boot,
// as it also does where all ports are.
func (l layout) atBoot(s *inventory.Snapshot, port ib.GUID) (listed bool, enabled fact.Bool) {
	if l.own {
		enabled = s.StartsAtBoot(opensm.Unit(port))
		return fact.Yes(enabled), enabled
	}
	if s.Denied[opensm.DefaultPath] {
		return false, fact.Unknown[bool](opensm.DefaultPath + " could not be read")
	}
	ports, err := opensm.ParseDefault(s.Files[opensm.DefaultPath].Content)
	listed = err == nil && ports.Has(port)
	if !listed && (err != nil || !ports.All) {
		return false, fact.Known(false)
	}
	return listed, s.StartsAtBoot(opensm.Service)
}

// units are those that start the instance at boot.
func (l layout) units(port ib.GUID) []string {
	if l.own {
		return []string{opensm.Unit(port)}
	}
	return []string{opensm.Service, opensm.Unit(port)}
}

// checkMasked is about units that systemd does not start. The plan of an instance of ours, which a destroy may
// follow, warns of what the apply refuses.
func checkMasked(s *inventory.Snapshot, o Observation, p PlanFacts) []finding.Finding {
	var found []finding.Finding
	for _, unit := range o.Masked {
		f := finding.OpensmMasked.Find("%s of %s. To end it: systemctl unmask %s", unit, s.Host, unit)
		if p.MayLeave && o.Managed {
			f.Severity, f.Summary = finding.Warn, "The apply refuses to start a subnet manager that somebody has masked"
		}
		found = append(found, f)
	}
	return found
}

// stillMasked says that a removal leaves the mask of somebody else.
func (o Observation) stillMasked() []string {
	var left []string
	for _, unit := range o.Masked {
		left = append(left, fmt.Sprintf("%s stays masked, as somebody has decided. To end it: systemctl unmask %s", unit,
			unit))
	}
	return left
}

// prepare writes what starts the instance at boot. The list of ports must be there
// before the package: Debian's starts itself at once, and its default PORTS=ALL runs an
// SM on every port.
func (l layout) prepare(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, port ib.GUID) error {
	if !l.own {
		return writePorts(ctx, h, s, func(ports []ib.GUID) []ib.GUID { return append(ports, port) })
	}
	text := opensm.Template(header())
	if s.Files[opensm.TemplatePath].Content == text {
		return nil
	}
	return platform.WriteFile(ctx, h, opensm.TemplatePath, 0o644, text)
}

// startCommands make the instance run with its present files, now and at boot. They
// restart the instance alone, unless it runs with them: a restart of opensm.service would stop
// those of other ports too. That service is started only if it starts no other: the instance
// needs it at boot, and not now.
func (l layout) startCommands(s *inventory.Snapshot, port ib.GUID, runs bool) []shellcmd.Command {
	unit, starter := opensm.Unit(port), opensm.Service
	if l.own {
		starter = unit
	}
	commands := []shellcmd.Command{systemctl.DaemonReload(), systemctl.Enable(starter)}
	if !runs {
		commands = append(commands, systemctl.Restart(unit))
	}
	if !l.own && allRun(s, listedBeside(s, port)) {
		commands = append(commands, systemctl.Start(opensm.Service))
	}
	return commands
}

// forget removes the instance from the boot, and returns the commands that are left to
// do after it was stopped. A list that says ALL is somebody else's: it has no instance of ours.
// A list that is not there went with the package, and is not made.
func (l layout) forget(ctx context.Context, h *hosts.Host, s *inventory.Snapshot,
	port ib.GUID) ([]shellcmd.Command, error) {
	if l.own {
		return nil, run(ctx, h, disableInstance(s, port))
	}
	ports, there, err := portList(s)
	if err == nil && there && !ports.All {
		err = writePorts(ctx, h, s, func(ports []ib.GUID) []ib.GUID {
			return slices.DeleteFunc(ports, func(g ib.GUID) bool { return g == port })
		})
	}
	if err != nil || len(l.staying(s, port)) > 0 || absent(s, opensm.Service) {
		return nil, err
	}
	return []shellcmd.Command{systemctl.Disable(opensm.Service), systemctl.Stop(opensm.Service)}, nil
}

// disableInstance takes an instance from the boot. systemctl refuses that for a unit without a file,
// whose link stays: a template that is made again later would start it.
func disableInstance(s *inventory.Snapshot, port ib.GUID) shellcmd.Command {
	if unit := opensm.Unit(port); !absent(s, unit) {
		return systemctl.Disable(unit)
	}
	return coreutils.RemoveFile(opensm.BootLink(port))
}

// absent reports whether a unit is known to have no file and not to run. systemctl neither stops nor
// disables such a unit: it fails.
func absent(s *inventory.Snapshot, unit string) bool {
	u, known := s.Unit(unit).Get()
	return known && u.LoadState == "not-found" && !u.Active()
}

// portList is the list of ports, if there is one.
func portList(s *inventory.Snapshot) (ports opensm.Ports, there bool, err error) {
	if s.Denied[opensm.DefaultPath] {
		return ports, true, fmt.Errorf("%s: %s could not be read, and is not edited", s.Host, opensm.DefaultPath)
	}
	list, there := s.Files[opensm.DefaultPath]
	if ports, err = opensm.ParseDefault(list.Content); err != nil {
		return ports, there, fmt.Errorf("%s: %w", s.Host, err)
	}
	return ports, there, nil
}

// writePorts edits the list of ports. The other GUIDs that are listed stay.
func writePorts(ctx context.Context, h *hosts.Host, s *inventory.Snapshot, edit func([]ib.GUID) []ib.GUID) error {
	ports, _, err := portList(s)
	if err != nil {
		return err
	}
	old := s.Files[opensm.DefaultPath].Content
	guids := edit(slices.Clone(ports.GUIDs))
	slices.Sort(guids)
	text := opensm.EditDefault(old, slices.Compact(guids))
	if text == old {
		return nil
	}
	return platform.WriteFile(ctx, h, opensm.DefaultPath, 0o644, text)
}

func run(ctx context.Context, h *hosts.Host, commands ...shellcmd.Command) error {
	for _, cmd := range commands {
		if _, err := h.Run(ctx, cmd); err != nil {
			return err
		}
	}
	return nil
}
