package change

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
)

// nmDriver is NetworkManager with a profile of its own. It makes P_Key children
// by itself, and sets the mode at each activation.
type nmDriver struct{}

func (nmDriver) way() netundo.Stack { return netundo.NetworkManager }

// take activates the profile by its UUID. There may be others of the same name.
func (b nmDriver) take(ctx context.Context, c *change, want ipoib.Config) error {
	if err := b.load(ctx, c); err != nil {
		return err
	}
	if err := c.lowerBondMTU(ctx, want.MTU); err != nil {
		return err
	}
	up := nmcli.Up(c.t.UUID(), c.t.Name)
	// An interface that the profile itself makes may not be there yet, to be named.
	if c.t.IsMade() {
		up = nmcli.UpVirtual(c.t.UUID())
	}
	if err := c.runOrSay(ctx, up, "NetworkManager does not activate the profile of "+c.t.Name); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

// load has NetworkManager read our profiles. To find out that another file of the same
// profile has gone it has to read all.
func (nmDriver) load(ctx context.Context, c *change) error {
	var paths []string
	for _, f := range c.look.Files(c.t, c.d.Config) {
		paths = append(paths, f.Path)
	}
	cmd := nmcli.Load(paths...)
	if len(c.taken) > 0 {
		cmd = nmcli.Reload()
	}
	return c.runOrSay(ctx, cmd, "NetworkManager does not load the profile of "+c.t.Name)
}

// note leaves alone what is active: with the UUID that it has our profile is another
// text of the same profile. A reload would disconnect the interface of any other.
func (b nmDriver) note(ctx context.Context, c *change) error { return b.load(ctx, c) }

// release has NetworkManager read all profiles: only so it sees that one is gone.
func (nmDriver) release(ctx context.Context, c *change) error {
	_, err := c.run(ctx, nmcli.Reload())
	return err
}
