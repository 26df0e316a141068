package opensm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

const resourceName = "infiniband_opensm"

// Options tune the waiting; the zero value is what users get.
type Options struct {
	// ProofTimeout is how long the port may take to become Active; zero means
	// 75 seconds, which covers a takeover from another SM (60 seconds).
	ProofTimeout time.Duration
	// Poll is the pause between two looks; zero means half a second.
	Poll time.Duration
}

func (o Options) withDefaults() Options {
	if o.ProofTimeout <= 0 {
		o.ProofTimeout = 75 * time.Second
	}
	if o.Poll <= 0 {
		o.Poll = 500 * time.Millisecond
	}
	return o
}

// Result is what Apply and Remove did.
type Result struct {
	Changed  bool     // something on the host was changed
	Observed Observed // read back after the change
	Warnings []string // what the operator should know, one sentence each
	Left     []string // of Remove: what stays on the host, one sentence each
}

// RefusedError says that a check found reasons against a change at the moment
// of it. Nothing was changed.
type RefusedError struct {
	Host     string
	Findings []safety.Finding // those that block
}

func (e *RefusedError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = fmt.Sprintf("%s (%s): %s", f.Summary, f.Code, f.Evidence)
	}
	return e.Host + ": " + strings.Join(lines, "; ")
}

// Apply makes the port's SM what d says, now and at boot. It is safe to repeat.
// It checks d again; what blocks is *RefusedError. An SM that was set up and
// does not serve the port is *NotServingError.
func Apply(ctx context.Context, h *inventory.Host, d Desired, o Options) (Result, error) {
	o = o.withDefaults()
	s, err := h.Snapshot(ctx)
	if err != nil {
		return Result{}, err
	}
	if err = refuse(s, d); err != nil {
		return Result{}, err
	}
	if before := Observe(s, d.PortGUID); len(before.Differences(d)) == 0 {
		return Result{Observed: before}, nil
	}
	plat, err := platform.Of(s)
	if err != nil {
		return Result{}, err
	}
	if err = plat.EnsureModules(ctx, h, append([]string{"ib_umad"}, platform.RDMAModules(s)...)...); err != nil {
		return Result{}, err
	}
	// Modules may have brought the port to light; what only it shows is checked now.
	if s, err = h.Snapshot(ctx); err != nil {
		return Result{}, err
	}
	if err = refuse(s, d); err != nil {
		return Result{}, err
	}
	if err = configure(ctx, h, s, d, plat); err != nil {
		return Result{Changed: true}, err
	}
	if err = prove(ctx, h, s, d.PortGUID, o); err != nil {
		return Result{Changed: true}, err
	}
	return result(ctx, h, d.PortGUID)
}

// configure writes the files, installs the package and starts the instance.
func configure(ctx context.Context, h *inventory.Host, s *inventory.Snapshot, d Desired, plat platform.Platform) error {
	// The list of ports is written before the package is installed: the package
	// starts itself at once, with its default PORTS=ALL an SM on every port.
	if err := writePorts(ctx, h, s, func(ports []ib.GUID) []ib.GUID { return append(ports, d.PortGUID) }); err != nil {
		return err
	}
	if err := writeDropIn(ctx, h, s, d); err != nil {
		return err
	}
	if err := plat.Install(ctx, h, plat.PackagesFor(platform.FeatureOpenSM, s.OS.Kernel)...); err != nil {
		return err
	}
	return start(ctx, h, d.PortGUID)
}

// refuse checks at the moment of the change.
func refuse(s *inventory.Snapshot, d Desired) error {
	var blocking []safety.Finding
	for _, f := range Check(s, d, Planned{}) {
		if f.Severity.Blocks() {
			blocking = append(blocking, f)
		}
	}
	if len(blocking) > 0 {
		return &RefusedError{Host: s.Host, Findings: blocking}
	}
	return nil
}

func result(ctx context.Context, h *inventory.Host, port ib.GUID) (Result, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return Result{Changed: true}, err
	}
	return Result{Changed: true, Observed: Observe(s, port)}, nil
}

// writePorts edits the list of ports. The other GUIDs that are listed stay.
func writePorts(ctx context.Context, h *inventory.Host, s *inventory.Snapshot, edit func([]ib.GUID) []ib.GUID) error {
	old := s.Files[opensm.DefaultPath].Content
	ports, err := opensm.ParseDefault(old)
	if err != nil {
		return fmt.Errorf("%s: %w", h.Name(), err)
	}
	guids := edit(slices.Clone(ports.GUIDs))
	slices.Sort(guids)
	text := opensm.EditDefault(old, slices.Compact(guids))
	if text == old {
		return nil
	}
	return platform.WriteFile(ctx, h, opensm.DefaultPath, 0o644, text)
}

func writeDropIn(ctx context.Context, h *inventory.Host, s *inventory.Snapshot, d Desired) error {
	path, text := opensm.DropInPath(d.PortGUID), dropIn(d.Priority)
	if s.Files[path].Content == text {
		return nil
	}
	return platform.WriteFile(ctx, h, path, 0o644, text)
}

func dropIn(priority int) string { return opensm.DropIn(platform.OwnedHeader(resourceName), priority) }

// start has the instance run with its present options, now and at boot. The
// instance is restarted by itself: a restart of opensm.service would reach the
// instances of other ports too.
func start(ctx context.Context, h *inventory.Host, port ib.GUID) error {
	for _, cmd := range []shellcmd.Command{
		systemctl.DaemonReload(),
		systemctl.Enable(opensm.Service),
		systemctl.Restart(opensm.Unit(port)),
		systemctl.Start(opensm.Service),
	} {
		if _, err := h.Run(ctx, cmd); err != nil {
			return fmt.Errorf("starting the subnet manager of port %s: %w", port, err)
		}
	}
	return nil
}

// Remove stops the port's SM and takes away what Apply left, nothing else.
func Remove(ctx context.Context, h *inventory.Host, port ib.GUID, _ Options) (Result, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return Result{}, err
	}
	before := Observe(s, port)
	if !before.Managed {
		return Result{Observed: before, Left: []string{fmt.Sprintf("%s was not set up by Terraform and is left as it is.", before.Unit)}}, nil
	}
	var rest []ib.GUID
	err = writePorts(ctx, h, s, func(ports []ib.GUID) []ib.GUID {
		rest = slices.DeleteFunc(ports, func(g ib.GUID) bool { return g == port })
		return rest
	})
	if err != nil {
		return Result{}, err
	}
	commands := []shellcmd.Command{
		systemctl.Stop(opensm.Unit(port)),
		coreutils.RemoveTree(strings.TrimSuffix(opensm.DropInPath(port), "/terraform-infiniband.conf")),
		systemctl.DaemonReload(),
	}
	if len(rest) == 0 {
		commands = append(commands, systemctl.Disable(opensm.Service), systemctl.Stop(opensm.Service))
	}
	for _, cmd := range commands {
		if _, err = h.Run(ctx, cmd); err != nil {
			return Result{Changed: true}, fmt.Errorf("stopping the subnet manager of port %s: %w", port, err)
		}
	}
	r, err := result(ctx, h, port)
	if err == nil && r.Observed.Active {
		err = errors.New(h.Name() + ": " + before.Unit + " was stopped and still runs")
	}
	r.Left = []string{
		"The package opensm stays installed, and the module ib_umad stays loaded, now and at boot.",
		"Ports keep their LIDs and state until they lose their link; without another subnet manager nothing new can join the fabric.",
	}
	return r, err
}
