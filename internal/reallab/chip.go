//go:build linux

package reallab

import (
	"context"
	"fmt"
	"log"
	"net"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/connectx3"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/connectx4"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/iba7322"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/infinihost3"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Chip is a card of one kind or another, as the bus of its machine and its cables see it.
type Chip interface {
	// Serve puts the card into the slot of one machine after another, until ctx ends.
	Serve(ctx context.Context, l *net.UnixListener) error
	// Ports is how many the card has, and Port where the cable of one goes, from 1.
	Ports() int
	Port(n int) *wire.Port
	// Written counts what was burned: images, and changes of GUIDs and MACs alone.
	Written() (images, guids int)
}

// server puts a function of a card into the slot of a machine.
type server interface {
	Serve(ctx context.Context, l *net.UnixListener) error
}

// functions are what a card is on the bus. A ConnectX-4 has one for each port.
func functions(c Chip) []server {
	several, ok := c.(*connectx4.Card)
	if !ok {
		return []server{c}
	}
	var all []server
	for _, f := range several.Functions() {
		all = append(all, f)
	}
	return all
}

// newChip makes the card of a slot in the machine of a name.
func (l *Lab) newChip(name string, s Slot, model *card.Card) (Chip, error) {
	lines := log.New(l.log, "", log.Ltime|log.Lmicroseconds)
	if infinihost3.Is(model.Chip.PCIDevice) {
		return infinihost3.New(l.world, infinihost3.Config{Name: name, Model: model, Board: s.Board, Log: lines})
	}
	if iba7322.Is(model.Chip.PCIDevice) {
		return iba7322.New(l.world, iba7322.Config{Name: name, Model: model, Board: s.Board, Log: lines}), nil
	}
	switch model.Chip {
	case card.ConnectX4:
		return connectx4.New(l.world, connectx4.Config{Name: name, Model: model, Board: s.Board, Log: lines}), nil
	case card.ConnectX3, card.ConnectX3Pro:
		return connectx3.New(l.world, connectx3.Config{Name: name, Model: model, Board: s.Board, Log: lines}), nil
	}
	return nil, fmt.Errorf("reallab: machine %s: no card is emulated with the chip %s; there are ConnectX-3, "+
		"ConnectX-3 Pro, ConnectX-4, InfiniHost III and IBA7322", name, model.Chip.Name)
}
