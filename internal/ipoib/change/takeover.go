package change

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/savedfile"
)

// takeOver chooses the definitions that the change takes over, with the profile that
// NetworkManager knows the interface by.
func (c *change) takeOver() {
	c.taken = c.look.Adopted(c.d)
	c.setAsides()
	for _, f := range c.taken {
		if c.look.Stack == ipoib.StackNM && (len(c.taken) == 1 || c.look.Reconfigures(f, c.d.Config) == "") {
			c.t.Profile = f.ID
		}
	}
}

// freeNames ends a change before it begins if a file could not be saved: what was saved
// of an earlier takeover may be the only copy, and came after the host was read.
func (c *change) freeNames(ctx context.Context) error {
	for _, f := range c.aside {
		_, err := c.h.Run(ctx, savedfile.Free(f.saved))
		var exit *host.ExitError
		if errors.As(err, &exit) && exit.Status == savedfile.There {
			return fmt.Errorf("%s of %s cannot be kept. Nothing was changed. %s", f.path, c.h.Name(),
				strings.TrimSuffix(found.NameTaken(f.saved), "."))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setAsides chooses these files: those that are taken over, and ours with settings that
// somebody has added.
func (c *change) setAsides() {
	for _, f := range c.taken {
		c.aside = append(c.aside, aside{f.Path, f.Saved})
	}
	for _, a := range c.look.Added {
		c.aside = append(c.aside, aside{a.Path, a.Saved})
	}
}

// setAside moves the files that are kept to where they stay.
func (c *change) setAside(ctx context.Context) error {
	for _, f := range c.aside {
		if _, err := c.run(ctx, savedfile.Keep(f.path, f.saved)); err != nil {
			return fmt.Errorf("keeping %s as %s: %w", f.path, f.saved, err)
		}
	}
	return nil
}

// asidePaths are the paths that setAside changes.
func (c *change) asidePaths() []string {
	var all []string
	for _, f := range c.aside {
		all = append(all, f.path, f.saved)
	}
	return all
}

// keepsLive reports whether a takeover may leave the interface alone: it is as asked
// already, and only who brings it back at boot changes.
func (c *change) keepsLive(want ipoib.Config) bool {
	return c.look.KeepsLive(c.taken, want)
}

// noteAside says where the files are that were kept.
func (c *change) noteAside() {
	for _, f := range c.taken {
		c.warnings = append(c.warnings, fmt.Sprintf("%s was taken over. It is kept as %s.", f.Path, f.Saved))
	}
	for _, a := range c.look.Added {
		c.warnings = append(c.warnings, a.String()+", which this resource did not write. The file as it was is kept as "+
			a.Saved+".")
	}
}

// leftDefined says which definitions of others stay on the host.
func (c *change) leftDefined() {
	for _, f := range c.look.Staying() {
		c.left = append(c.left, fmt.Sprintf("%s stays. It defines the interface too: the host configures the interface by "+
			"it, at the next start at the latest.", f.Path))
	}
}

// leftSaved says which files of earlier takeovers stay on the host.
func (c *change) leftSaved() {
	for _, at := range c.look.Snapshot().Saved {
		dir, base := path.Split(at)
		former, number, ok := strings.Cut(strings.TrimPrefix(base, "."), c.look.SavedSuffix())
		switch {
		case !ok || number != "" && number[0] != '.': // "-KEY" is of a P_Key child
		case c.look.IsOwnPath(dir + former):
			c.left = append(c.left, fmt.Sprintf("The file %s with what somebody had added to it stays as %s, and has no effect.",
				dir+former, at))
		default:
			c.left = append(c.left, fmt.Sprintf("The definition that was taken over stays as %s, and has no effect. To use it "+
				"again, move it back to %s.", at, dir+former))
		}
	}
}
