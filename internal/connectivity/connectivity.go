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
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ping"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sysfs"
)

// Request is what is to be measured. Interfaces and the address may be empty; the
// best pair is taken then.
type Request struct {
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
	// Asked is the interface that was asked for and is not there; Has are the
	// InfiniBand interfaces that are.
	Asked string
	Has   []string
	// PKeys is the P_Key table of the port; nil if it was not asked for.
	PKeys []uint16
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
func Run(ctx context.Context, h *hosts.Host, p Pair, w Request) (*Answer, error) {
	// Over an interface that is down nothing is sent, and what ping says then is not about the way.
	if p.From.Netdev == nil || !p.Addr.IsValid() || !p.From.Netdev.Up {
		return nil, nil
	}
	probe := ping.Probe{To: p.Addr, Interface: p.From.Netdev.Name, MTU: p.From.Netdev.MTU, Count: w.Count, Sizes: w.Sizes}
	// The far end's MTU is the likeliest limit, so that the search for the path MTU begins there.
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

// Tables asks both ends for the P_Key tables of their ports where these may be
// why nothing passes: a port that is up under an interface without carrier, and
// packets of which none came back. to is nil if that host is not managed.
func (p *Pair) Tables(ctx context.Context, from, to *hosts.Host, a *Answer) error {
	// Only then: reading a table is one firmware command for each of up to 128 entries on mlx4.
	silent := a != nil && a.Default.Received == 0
	if err := p.From.table(ctx, from, silent); err != nil {
		return err
	}
	if to == nil {
		return nil
	}
	return p.To.table(ctx, to, silent)
}

func (e *End) table(ctx context.Context, h *hosts.Host, silent bool) error {
	up := e.Netdev != nil && e.Netdev.IB && e.Netdev.Up && e.Port != nil && e.Port.State == "Active"
	if !up || e.Netdev.Carrier && !silent {
		return nil
	}
	cmd := sysfs.ReadPKeys(e.Card.RDMADevice, e.Port.Number)
	r, err := h.Run(ctx, cmd)
	if err != nil {
		return fmt.Errorf("reading the P_Keys of %s: %w", e.name(), err)
	}
	if e.PKeys, err = sysfs.ParsePKeys(r.Stdout); err != nil {
		return &host.OutputError{Host: e.Host, Command: cmd.String(), Problem: err.Error(), Output: string(r.Stdout)}
	}
	return nil
}
