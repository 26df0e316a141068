// Package connectivity measures the way between two hosts with ping, and says why
// packets do not pass: addresses, links, subnet managers, partitions, modes and
// MTUs of both ends are compared.
//
// It must not change a host, or import Terraform.
package connectivity

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ping"
)

// Wanted is what is to be measured. Interfaces and the address may be empty; the
// best pair is taken then.
type Wanted struct {
	FromInterface, ToInterface string
	Address                    netip.Addr
	IPv6                       bool // only if Address is not given
	Count                      int
	Sizes                      []int
}

// End is one end of the way.
type End struct {
	Host    string
	Netdev  *inventory.Netdev // nil if there is none
	Port    *inventory.Port   // nil if the interface is not that of a card's port
	Card    *inventory.Card
	Address netip.Prefix // invalid if it has none
}

// Answer is what was measured, and Packets the part of one size.
type (
	Answer  = ping.Answer
	Packets = ping.Run
)

// Pair is the way that was chosen.
type Pair struct {
	From End
	To   End        // only Host and Address where the other host is not managed
	Addr netip.Addr // that is pinged; invalid if there is none
	// ToKnown is true if the other host is managed, so that its end was looked at.
	ToKnown bool
}

// Run measures a pair; its answer is empty where nothing could be sent.
func Run(ctx context.Context, h *inventory.Host, p Pair, w Wanted) (*Answer, error) {
	if p.From.Netdev == nil || !p.Addr.IsValid() || !p.From.Netdev.Up {
		return nil, nil
	}
	probe := ping.Probe{To: p.Addr, Interface: p.From.Netdev.Name, MTU: p.From.Netdev.MTU, Count: w.Count, Sizes: w.Sizes}
	if p.To.Netdev != nil {
		probe.Guess = p.To.Netdev.MTU
	}
	cmd := probe.Command()
	r, err := h.Run(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("pinging %s from %s: %w", p.Addr, h.Name(), err)
	}
	a, err := ping.Parse(string(r.Stdout))
	if err != nil {
		return nil, &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(), Output: string(r.Stdout)}
	}
	return &a, nil
}
