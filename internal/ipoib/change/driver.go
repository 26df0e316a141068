package change

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/netundo"
)

// driver is what differs in how the network stacks that are configured by files take these files.
// fileStack has the rest, above all the guard. What the files say is in package found.
type driver interface {
	// take makes the stack apply the written files now.
	take(ctx context.Context, c *change, want ipoib.Config) error
	// note makes the stack read the written files where the interface already is as they
	// say.
	note(ctx context.Context, c *change) error
	// release makes the stack forget the interface after our files were removed.
	release(ctx context.Context, c *change) error
	// way says how an undo makes the stack read its files again.
	way() netundo.Stack
}

// driverOf is the driver of a stack. netplan has no P_Key children; its renderer makes them.
func driverOf(k ipoib.Stack, t found.Target) driver {
	switch k {
	case ipoib.StackNetplan:
		if t.PKey == 0 {
			return netplanNetworkd{}
		}
		return networkdDriver{}
	case ipoib.StackNetplanNM:
		if t.PKey == 0 {
			return netplanNM{}
		}
		return nmDriver{}
	case ipoib.StackNM:
		return nmDriver{}
	case ipoib.StackNetworkd:
		return networkdDriver{}
	case ipoib.StackIfupdown, ipoib.StackIfupdown2, ipoib.StackMiddleware, ipoib.StackUnknown:
	}
	return ifupdownDriver{}
}
