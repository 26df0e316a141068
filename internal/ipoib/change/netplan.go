package change

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netplan"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/nmcli"
)

const netplanRejects = "netplan does not accept the configuration"

// netplanNetworkd is netplan with systemd-networkd.
type netplanNetworkd struct{}

func (netplanNetworkd) way() netundo.Stack { return netundo.Netplan }

// take generates first: networkd reads what netplan makes of its files, not these.
func (netplanNetworkd) take(ctx context.Context, c *change, want ipoib.Config) error {
	if err := c.runOrSay(ctx, netplan.Generate(), netplanRejects); err != nil {
		return err
	}
	return c.takeNetworkd(ctx, want)
}

// note does not have networkd read its files: up to version 252 a reload takes away the
// IPv4 addresses of an interface whose file has changed, and gives them back.
func (netplanNetworkd) note(ctx context.Context, c *change) error {
	return c.runOrSay(ctx, netplan.Generate(), netplanRejects)
}

func (netplanNetworkd) release(ctx context.Context, c *change) error {
	if _, err := c.run(ctx, netplan.Generate()); err != nil {
		return err
	}
	return c.releaseNetworkd(ctx)
}

// netplanNM is netplan with NetworkManager, which sets the mode. "netplan apply" would
// disconnect every interface, so one profile is generated and activated.
type netplanNM struct{}

func (netplanNM) way() netundo.Stack { return netundo.NetplanNM }

func (netplanNM) take(ctx context.Context, c *change, want ipoib.Config) error {
	if err := c.runOrSay(ctx, netplan.Generate(), netplanRejects); err != nil {
		return err
	}
	if _, err := c.run(ctx, nmcli.Reload()); err != nil {
		return err
	}
	// netplan gives its profiles this name and no UUID.
	up := nmcli.UpID("netplan-"+c.t.Name, c.t.Name)
	if err := c.runOrSay(ctx, up, "NetworkManager does not activate the profile of "+c.t.Name); err != nil {
		return err
	}
	return c.mend(ctx, want)
}

// note keeps the active profile: the same ID gives it the same name.
func (b netplanNM) note(ctx context.Context, c *change) error { return b.release(ctx, c) }

func (netplanNM) release(ctx context.Context, c *change) error {
	if _, err := c.run(ctx, netplan.Generate()); err != nil {
		return err
	}
	_, err := c.run(ctx, nmcli.Reload())
	return err
}
