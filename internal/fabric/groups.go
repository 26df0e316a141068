package fabric

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
)

// GroupMTU asks the subnet manager of a fabric for the MTU in bytes of the broadcast group of a partition, by its
// P_Key with or without the bit of full members. It is zero if there is no such group, or its MTU has no known code.
func GroupMTU(ctx context.Context, h Runner, t Through, pkey uint16) (int, error) {
	res, err := h.Run(ctx, saquery.Groups(t.Device, t.Port))
	if err != nil {
		return 0, err
	}
	groups, err := saquery.ParseGroups(string(res.Stdout))
	if err != nil {
		return 0, &host.OutputError{Host: h.Name(), Command: "saquery", Problem: err.Error(), Output: string(res.Stdout)}
	}
	for _, g := range groups {
		// The administrator gives the key of a full member, the interface of a limited one has its own.
		if g.Broadcast() && g.PKey|0x8000 == pkey|0x8000 {
			return g.MTU, nil
		}
	}
	return 0, nil
}
