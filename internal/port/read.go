package port

import (
	"context"
	"slices"
	"strconv"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ibportstate"
)

// readLink asks the port itself, through another port of its device if it cannot be
// opened. It is the one look that the collection does not have: a management datagram for
// each port is worth it only where speeds or widths are configured.
func readLink(ctx context.Context, h *hosts.Host, o Observation, number int) (*Link, error) {
	cmd := ibportstate.Query(o.Device, number, number)
	r, err := h.Run(ctx, cmd)
	for _, other := range o.Linked {
		if err == nil {
			break
		}
		through := ibportstate.Query(o.Device, other, number)
		if answer, failed := h.Run(ctx, through); failed == nil {
			cmd, r, err = through, answer, nil
		}
	}
	if err != nil {
		return nil, err
	}
	p, err := ibportstate.Parse(string(r.Stdout))
	if err != nil {
		return nil, outputError(h, cmd, r.Stdout, err)
	}
	return &Link{
		SpeedsSupported: speedsOf(p.SpeedsSupported), SpeedsEnabled: speedsOf(p.SpeedsEnabled),
		WidthsSupported: widthsOf(p.WidthSupported), WidthsEnabled: widthsOf(p.WidthEnabled),
	}, nil
}

// speedsOf leaves out FDR10, which has a switch of its own and is not managed.
func speedsOf(speeds []ib.Speed) Speeds {
	var s Speeds
	for _, v := range speeds {
		if i := slices.Index(speedNames, v.String()); i >= 0 {
			s |= 1 << i
		}
	}
	return s
}

func widthsOf(lanes []int) Widths {
	var w Widths
	for _, n := range lanes {
		if i := slices.Index(widthNames, strconv.Itoa(n)+"X"); i >= 0 {
			w |= 1 << i
		}
	}
	return w
}
