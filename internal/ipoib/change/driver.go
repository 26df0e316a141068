package change

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
)

// driverOf is the driver of a stack. netplan has no P_Key children; its renderer makes them, and bonds.
func driverOf(k ipoib.Stack, t found.Target) driver {
	switch k {
	case ipoib.StackNetplan:
		if !t.IsMade() {
			return netplanNetworkd{}
		}
		return networkdDriver{}
	case ipoib.StackNetplanNM:
		if !t.IsMade() {
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
