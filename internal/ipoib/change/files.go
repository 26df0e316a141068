package change

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/udev"
)

// recover implements stack. The provider or its machine died between a change and its
// confirmation. Either the host has undone the change since, or recover undoes it now.
func (fileStack) recover(ctx context.Context, c *change) (string, error) {
	unit := c.guard().Unit()
	s := c.look.Snapshot()
	_, saved := s.Undos[c.guard().ID]
	if !saved && fact.No(s.Runs(unit+".timer")) && fact.No(s.Runs(unit+".service")) {
		return "", nil
	}
	// If systemd did not answer, the script looks again; it does nothing if there is
	// nothing to undo.
	earlier := netundo.Guard{ID: c.t.ID()} // whoever's
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

// apply writes the files before the stack reads them, and all of it under the guard. Files of ours
// that no longer count are removed in the same change: an undo brings them back together.
func (k fileStack) apply(ctx context.Context, c *change) error {
	want := c.d.Config
	files := c.look.Files(c.t, want)
	stale := c.look.StaleFiles(files)
	paths := slices.Concat(stale, c.asidePaths())
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	saved := slices.Compact(slices.Sorted(slices.Values(paths)))
	return c.runGuarded(ctx, k.way(), want, saved, func(ctx context.Context) error {
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
		// A takeover of what is as asked: to configure the interface anew could only do harm.
		if c.keepsLive(want) {
			return k.note(ctx, c)
		}
		if err := c.removeDeadChild(ctx); err != nil {
			return err
		}
		return k.take(ctx, c, want)
	}, func(ctx context.Context, h host.Host) error {
		if err := waitFor(ctx, h, c.t, want, c.o); err != nil {
			return err
		}
		return c.waitForLease(ctx, h, want)
	})
}

// remove removes every file of ours, whatever stack has written it: the host may have got another
// one since. What others have given to the interface stays.
func (k fileStack) remove(ctx context.Context, c *change) error {
	gone := c.look.Persisted.Config
	keep := ipoib.Config{
		Mode: c.look.Live.Mode, MTU: c.look.Live.MTU,
		Addresses: ipconf.Without(c.look.Live.Addresses, gone.Addresses),
		Routes:    ipconf.Without(c.look.Live.Routes, gone.Routes),
	}
	files := c.look.StaleFiles(nil)
	guarded := slices.Compact(slices.Sorted(slices.Values(slices.Concat(files, c.asidePaths()))))
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
		if err := c.removeBond(ctx); err != nil {
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
	if c.t.PKey == 0 {
		mode := ""
		if c.t.Bond.Name != "" {
			mode = " The ports of the bond are down, and keep their mode until the next boot."
		} else if c.look.Name != "" { // the port may be gone
			mode = fmt.Sprintf(" The mode of %s stays until the next boot.", c.look.Name)
		}
		c.left = append(c.left, fmt.Sprintf("The kernel modules stay loaded, now and at boot (%s).%s This is harmless.",
			platform.ModulesLoadPath, mode))
	}
	return nil
}

// proveRemoval waits until the interface shows nothing of the removed configuration.
func (c *change) proveRemoval(ctx context.Context, h host.Host, keep ipoib.Config) error {
	if !c.present || c.t.IsMade() {
		return nil
	}
	now, err := readLive(ctx, h, c.t)
	if err != nil {
		return err
	}
	if left := ipconf.Without(now.Addresses, keep.Addresses); len(left) > 0 {
		return fmt.Errorf("%s still has %s", c.look.Name, ipconf.Join(left))
	}
	return nil
}

// write writes the files that differ, and makes udev read a changed rule.
func (c *change) write(ctx context.Context, files []found.File) error {
	on := c.look.Snapshot().Files
	for _, f := range files {
		if f.IsOn(on[f.Path]) {
			continue
		}
		if err := platform.WriteFile(ctx, c.h, f.Path, f.Mode, f.Text); err != nil {
			return err
		}
		if f.Path == found.UdevPath(c.t.PortGUID) {
			if _, err := c.run(ctx, udev.Reload()); err != nil {
				return err
			}
		}
	}
	return nil
}
