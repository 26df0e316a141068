package change

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/networkd"
)

// networkdDriver is systemd-networkd with files of its own.
type networkdDriver struct{}

func (networkdDriver) way() netundo.Stack { return netundo.Networkd }

func (networkdDriver) take(ctx context.Context, c *change, want ipoib.Config) error {
	return c.takeNetworkd(ctx, want)
}

// takeNetworkd sets the mode, then makes networkd configure the interface. The mode
// decides which MTU is legal, and networkd cannot set it.
func (c *change) takeNetworkd(ctx context.Context, want ipoib.Config) error {
	switch {
	case c.t.PKey != 0:
		return c.takeChild(ctx, want)
	case c.t.Bond.Name != "":
		return c.takeBond(ctx, want)
	}
	if c.look.Live.Mode != want.Mode {
		if err := c.setMode(ctx, want.Mode); err != nil {
			return err
		}
	}
	if _, err := c.run(ctx, networkd.Reload()); err != nil {
		return err
	}
	if _, err := c.run(ctx, networkd.Reconfigure(c.t.Name)); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

// takeChild makes networkd create the child, which it does when it configures the
// interface of the port. A child that is there keeps its mode.
func (c *change) takeChild(ctx context.Context, want ipoib.Config) error {
	if _, err := c.run(ctx, networkd.Reload()); err != nil {
		return err
	}
	// Only for a child that is not there: the interface of the port is somebody else's.
	if !c.present {
		if _, err := c.run(ctx, networkd.Reconfigure(c.t.Parent)); err != nil {
			return err
		}
		if err := c.awaitMade(ctx); err != nil {
			return err
		}
	}
	if c.present && c.look.Live.Mode != want.Mode {
		if err := c.setMode(ctx, want.Mode); err != nil {
			return err
		}
	}
	if _, err := c.run(ctx, networkd.Reconfigure(c.t.Name)); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

// takeBond makes networkd create the bond and put its ports into it.
func (c *change) takeBond(ctx context.Context, want ipoib.Config) error {
	if err := c.setPortModes(ctx, want.Mode); err != nil {
		return err
	}
	if _, err := c.run(ctx, networkd.Reload()); err != nil {
		return err
	}
	// A port joins when networkd configures it; the bond is made when its file is read.
	for _, p := range c.t.Ports {
		if _, err := c.run(ctx, networkd.Reconfigure(p.Name())); err != nil {
			return err
		}
	}
	if err := c.awaitMade(ctx); err != nil {
		return err
	}
	if _, err := c.run(ctx, networkd.Reconfigure(c.t.Name)); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

// note leaves networkd with what it has read, as that of netplan does.
func (networkdDriver) note(context.Context, *change) error { return nil }

func (networkdDriver) release(ctx context.Context, c *change) error { return c.releaseNetworkd(ctx) }

// releaseNetworkd makes networkd forget the interface. networkd does not remove a
// child.
func (c *change) releaseNetworkd(ctx context.Context) error {
	if _, err := c.run(ctx, networkd.Reload()); err != nil {
		return err
	}
	if c.t.PKey != 0 && c.present {
		if _, err := c.run(ctx, iproute.DelLink(c.t.Name)); err != nil {
			return fmt.Errorf("removing the P_Key child %s: %w", c.t.Name, err)
		}
	}
	return nil
}

// removeHookDirs removes the directories of drop-ins that are empty now. An undo would have
// needed them.
func (c *change) removeHookDirs(ctx context.Context, removed []string) error {
	for _, at := range removed {
		if dir := path.Dir(at); strings.HasSuffix(dir, ".network.d") {
			if _, err := c.h.Run(ctx, coreutils.RemoveEmptyDirectory(dir)); err != nil {
				return err
			}
		}
	}
	return nil
}
