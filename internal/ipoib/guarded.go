package ipoib

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/udev"
)

// fileStack is a network stack that is configured by files. The host undoes a change by
// a transient timer, or at its next boot, unless the change is confirmed.
type fileStack struct{ backend }

// checkpointLead is how long before the timer NetworkManager rolls back by itself. The
// timer then restores the files byte by byte.
const checkpointLead = 3 * time.Second

func (c *change) guard() netundo.Guard { return netundo.Guard{ID: c.t.id(), Change: c.name} }

// recover implements stack. The provider or its machine died between a change and its
// confirmation. Either the host has undone the change since, or recover undoes it now.
func (fileStack) recover(ctx context.Context, c *change) (string, error) {
	unit := c.guard().Unit()
	_, saved := c.s.Undos[c.guard().ID]
	if !saved && fact.No(c.s.Runs(unit+".timer")) && fact.No(c.s.Runs(unit+".service")) {
		return "", nil
	}
	// If systemd did not answer, the script looks again; it does nothing if there is
	// nothing to undo.
	earlier := netundo.Guard{ID: c.t.id()} // whoever's
	r, err := c.h.Run(ctx, earlier.UndoNow())
	if err != nil {
		return "", fmt.Errorf("undoing an earlier change that was never confirmed: %w", err)
	}
	how, lost, _ := strings.Cut(string(r.Stdout), "\n")
	c.warnings = append(c.warnings, endedOf(lost).sentences()...)
	switch how {
	case "", netundo.Confirmed:
		return "", nil
	case netundo.Undone:
		return "was never confirmed; it was undone first", nil
	default:
		return "was never confirmed; it was undone " + how, nil
	}
}

func (k fileStack) apply(ctx context.Context, c *change) error {
	want := c.d.Config
	files := k.files(c.t, want)
	stale := staleFiles(c.s, c.t, files)
	paths := slices.Concat(stale, c.asidePaths())
	for _, f := range files {
		paths = append(paths, f.path)
	}
	return c.runGuarded(ctx, k.way(), want, unique(paths), func(ctx context.Context) error {
		if err := c.setAside(ctx); err != nil {
			return err
		}
		for _, path := range stale {
			if _, err := c.run(ctx, coreutils.RemoveFile(path)); err != nil {
				return err
			}
		}
		if err := c.write(ctx, files); err != nil {
			return err
		}
		if c.keepsLive(want) {
			return k.note(ctx, c)
		}
		if err := c.removeDeadChild(ctx); err != nil {
			return err
		}
		return k.take(ctx, c, want)
	}, func(ctx context.Context, h host.Host) error { return waitFor(ctx, h, c.t.name, want, c.o) })
}

// write writes the files that differ, and makes udev read a changed rule.
func (c *change) write(ctx context.Context, files []file) error {
	for _, f := range files {
		if c.s.Files[f.path].Content == f.text && (f.mode != 0o600 || c.s.Files[f.path].Mode == "600") {
			continue
		}
		if err := platform.WriteFile(ctx, c.h, f.path, f.mode, f.text); err != nil {
			return err
		}
		if f.path == udevPath(c.t.port) {
			if _, err := c.run(ctx, udev.Reload()); err != nil {
				return err
			}
		}
	}
	return nil
}

// staleFiles are our files for this interface that this change does not write: those that
// another network stack of the host reads, and drop-ins for files of another name.
func staleFiles(s *inventory.Snapshot, t target, now []file) []string {
	var stale []string
	for _, b := range backends {
		for _, f := range withHooks(s, t, b.files(t, Config{})) {
			content := s.Files[f.path].Content
			if !platform.IsOurs(content) && !ownProfile(content) || slices.Contains(stale, f.path) {
				continue
			}
			if !slices.ContainsFunc(now, func(n file) bool { return n.path == f.path }) {
				stale = append(stale, f.path)
			}
		}
	}
	return stale
}

// notShownError says in what an interface that was read is not as wanted.
type notShownError string

func (e notShownError) Error() string { return string(e) }

// waitFor waits until the interface shows want.
func waitFor(ctx context.Context, h host.Host, name string, want Config, o Options) error {
	var last live
	problem := ""
	err := within(ctx, o.SettleTimeout, o.Poll, func(ctx context.Context) (bool, error) {
		now, err := readLive(ctx, h, name)
		if err == nil && len(want.Routes) > 0 {
			now.Routes, err = readRoutes(ctx, h, name)
		}
		if err != nil {
			return false, err
		}
		last, problem = now, now.difference(want)
		return problem == "", nil
	})
	if problem != "" {
		return notShownError(name + ": " + last.explain(problem, want))
	}
	return err
}

// before is the live state that an undo goes back to.
func (c *change) savedState(way netundo.Stack, want Config) netundo.Before {
	now := c.before.Live
	b := netundo.Before{
		Stack: way, Interface: c.t.name, Existed: c.before.Present, Mode: now.Mode, MTU: now.MTU, Up: c.before.Up,
		Added: without(want.Addresses, now.Addresses), Removed: without(now.Addresses, want.Addresses),
		RoutesAdded: routesWithout(want.Routes, now.Routes), RoutesRemoved: c.oldRoutes(want),
		RoutesOurs: slices.Concat(want.Routes, c.oldRoutes(want)),
	}
	for _, f := range c.taken {
		b.RulesEnd = b.RulesEnd || slices.ContainsFunc(f.Unkept, isRules)
	}
	if n, ok := c.s.Netdev(c.t.name); ok {
		b.Profile = n.NMProfile
	}
	return b
}

// runGuarded makes a change that the host undoes unless it is confirmed over a new
// connection. do makes the change; prove reads back over that connection.
func (c *change) runGuarded(ctx context.Context, way netundo.Stack, want Config, files []string,
	do func(context.Context) error, prove func(context.Context, host.Host) error,
) error {
	g := c.guard()
	if _, err := c.h.Run(ctx, g.Save(c.savedState(way, want), files...)); isTaken(err) {
		return fmt.Errorf("another apply changes %s of %s at this moment; nothing was changed. Apply again when it has ended",
			c.t.name, c.h.Name())
	} else if err != nil {
		return c.callOff(ctx, time.Time{}, fmt.Errorf("saving the present configuration: %w", err))
	}
	deadline := time.Now().Add(c.o.ConfirmTimeout)
	if err := c.arm(ctx, way); err != nil {
		return c.callOff(ctx, deadline, fmt.Errorf("starting the timer of the undo: %w", err))
	}
	if err := c.inTime(ctx, func(ctx context.Context) error {
		if err := do(ctx); err != nil {
			return err
		}
		_, err := c.putBack(ctx, c.h)
		return err
	}); err != nil {
		return c.undo(ctx, deadline, "the change failed", err)
	}
	if err := c.confirm(ctx, prove); err != nil {
		return c.undo(ctx, deadline, "it could not be proved over a new connection", err)
	}
	return nil
}

// callOff takes back what was prepared for a change that was not begun. It does not undo:
// an undo configures the interface anew, and nothing of it was changed.
func (c *change) callOff(ctx context.Context, undoneBy time.Time, cause error) error {
	e := &NotBegunError{Host: c.h.Name(), Interface: c.t.name, UndoneBy: undoneBy, Err: cause}
	// Also after Ctrl-C.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.ConfirmTimeout)
	defer cancel()
	var lost *host.UnreachableError
	if errors.As(cause, &lost) {
		c.h.Drop() // a new connection may work where the one in use hangs
	}
	if c.checkpoint != "" {
		_, e.LeftErr = c.h.Run(ctx, nmcli.DestroyCheckpoint(c.checkpoint))
	}
	_, err := c.h.Run(ctx, c.guard().CallOff())
	e.LeftErr = errors.Join(e.LeftErr, err)
	return e
}

// arm starts the timer and, with NetworkManager, a checkpoint, which also restores what
// only the daemon knows of the interface.
func (c *change) arm(ctx context.Context, way netundo.Stack) error {
	if _, err := c.h.Run(ctx, c.guard().Arm(c.o.ConfirmTimeout)); err != nil {
		return err
	}
	n, ok := c.s.Netdev(c.t.name)
	if way != netundo.NetworkManager && way != netundo.NetplanNM || !ok || !n.NMManaged {
		return nil
	}
	device, err := c.object(ctx, nmcli.FindDevice(c.t.name))
	if err != nil {
		return err
	}
	lead := min(checkpointLead, c.o.ConfirmTimeout/4)
	if c.checkpoint, err = c.object(ctx,
		nmcli.CreateCheckpoint(device, max(c.o.ConfirmTimeout-lead, time.Second))); err != nil {
		return fmt.Errorf("NetworkManager makes no checkpoint: %w", err)
	}
	_, err = c.h.Run(ctx, c.guard().Checkpoint(c.checkpoint))
	return err
}

func (c *change) object(ctx context.Context, cmd shellcmd.Command) (string, error) {
	r, err := c.h.Run(ctx, cmd)
	if err != nil {
		return "", err
	}
	path, err := nmcli.ParseObject(string(r.Stdout))
	if err != nil {
		return "", c.misread(cmd.String(), r, err)
	}
	return path, nil
}

// errNoTime ends a step that the host would not have time for.
var errNoTime = errors.New("no time is left before the host undoes the change")

// inTime bounds a step so that it ends long before the host undoes the change. A change
// that cuts its own connection blocks until the undo restores it. If it went on then,
// it would cut the connection for good.
func (c *change) inTime(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.ConfirmTimeout*2/3, errNoTime)
	defer cancel()
	err := do(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errNoTime) {
		return fmt.Errorf("%w: %w", errNoTime, err)
	}
	return err
}

// run runs a step of the change. A step that was sent before the connection was cut may
// arrive after the undo; the host does not run it then.
func (c *change) run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	if cmd.Changing() {
		cmd = c.guard().Step(cmd)
	}
	return c.h.Run(ctx, cmd)
}

// runOrSay runs a command of the host's network manager, and says in words what its failure
// means. A connection that was cut says nothing about the manager.
func (c *change) runOrSay(ctx context.Context, cmd shellcmd.Command, failure string) error {
	_, err := c.run(ctx, cmd)
	var exit *host.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%s: %w", failure, err)
	}
	return err
}

func (k fileStack) remove(ctx context.Context, c *change) error {
	gone := c.before.Persisted.Config
	keep := Config{
		Mode: c.before.Live.Mode, MTU: c.before.Live.MTU,
		Addresses: without(c.before.Live.Addresses, gone.Addresses), Routes: routesWithout(c.before.Live.Routes, gone.Routes),
	}
	files := staleFiles(c.s, c.t, nil)
	guarded := unique(slices.Concat(files, c.asidePaths()))
	err := c.runGuarded(ctx, k.way(), keep, guarded, func(ctx context.Context) error {
		if err := c.setAside(ctx); err != nil {
			return err
		}
		for _, path := range files {
			if _, err := c.run(ctx, coreutils.RemoveFile(path)); err != nil {
				return err
			}
		}
		if _, err := c.run(ctx, udev.Reload()); err != nil {
			return err
		}
		if err := k.release(ctx, c); err != nil {
			return err
		}
		return c.strip(ctx, keep)
	}, func(ctx context.Context, h host.Host) error { return c.proveRemoval(ctx, h, keep) })
	if err != nil {
		return err
	}
	if err = c.removeHookDirs(ctx, files); err != nil {
		return err
	}
	c.leftDefined()
	c.leftSaved()
	if c.t.pkey == 0 {
		mode := ""
		if c.before.Name != "" { // the port may be gone
			mode = fmt.Sprintf(" The mode of %s stays until the next boot.", c.before.Name)
		}
		c.left = append(c.left, fmt.Sprintf("The kernel modules stay loaded, now and at boot (%s).%s This is harmless.",
			platform.ModulesLoadPath, mode))
	}
	return nil
}

// proveRemoval waits until the interface shows nothing of the removed configuration.
func (c *change) proveRemoval(ctx context.Context, h host.Host, keep Config) error {
	if !c.before.Present || c.t.pkey != 0 {
		return nil
	}
	now, err := readLive(ctx, h, c.before.Name)
	if err != nil {
		return err
	}
	if left := without(now.Addresses, keep.Addresses); len(left) > 0 {
		return fmt.Errorf("%s still has %s", c.before.Name, joinPrefixes(left))
	}
	return nil
}
