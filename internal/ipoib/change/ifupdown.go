package change

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ifupdown"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/iproute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
)

// ifupdownDriver is ifupdown or ifupdown2. It makes P_Key children by itself.
type ifupdownDriver struct{}

func (ifupdownDriver) way() netundo.Stack { return netundo.Ifupdown }

// take runs ifup. ifup adds addresses and fails on some that are there; ifdown before
// it would remove the P_Key children too.
// mend follows: ifup adds no route to an interface without carrier.
func (ifupdownDriver) take(ctx context.Context, c *change, want ipoib.Config) error {
	if c.present {
		for _, old := range c.look.Live.Addresses {
			if err := c.dropAddress(ctx, old); err != nil {
				return err
			}
		}
	}
	if err := c.runOrSay(ctx, ifupdown.Up(c.t.Name), "ifup does not configure "+c.t.Name); err != nil {
		return err
	}
	if err := c.awaitMade(ctx); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

// note has nothing to do: ifup reads its files whenever it runs.
func (ifupdownDriver) note(context.Context, *change) error { return nil }

// release removes a P_Key child. No daemon of ifupdown holds an interface.
func (ifupdownDriver) release(ctx context.Context, c *change) error {
	if c.t.PKey == 0 || !c.present {
		return nil
	}
	_, err := c.run(ctx, iproute.DelLink(c.t.Name))
	return err
}
