//go:build linux

// Package umad is the InfiniBand half of a kernel for hosts of the testbed: the
// ports of an adapter, and the files through which programs send management
// datagrams ("umad"). opensm and infiniband-diags run on such a host as they are.
//
// Many programs share a port, requests time out, answers go to the agent that
// asked, directed routes are advanced, and long answers travel in segments (RMPP).
//
// It must not know hosts or the provider, nor answer for a node: what ports and
// switches say is package fabric's.
package umad

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// HCA is the adapter of a host, as its driver sees it.
type HCA struct{ ports []*Port }

// New makes an adapter. Its ports are off.
func New(w *wire.World, ports int) *HCA {
	h := &HCA{}
	for i, p := range fabric.NewHCAPorts(w, ports, h) {
		h.ports = append(h.ports, &Port{world: w, firmware: p, number: byte(i + 1), agents: map[uint32]*agent{}})
	}
	return h
}

// Boot is what the driver finds when firmware has started: nothing of before is
// left, and the ports are off. There is a GUID for each port.
func (h *HCA) Boot(n fabric.Node, guids []uint64) {
	for i, p := range h.ports {
		p.world.Do(func() {
			p.firmware.Reset(n, guids[i])
			p.tellSM()
		})
	}
}

// Port is a port of the adapter, counted from one.
func (h *HCA) Port(number int) *Port { return h.ports[number-1] }

// Describe has the nodes of all ports called something else.
func (h *HCA) Describe(text string) {
	for _, p := range h.ports {
		var data [dataSize]byte
		copy(data[:], text)
		p.world.Do(func() { p.ask(methodSet, attrDescription, 0, data) })
	}
}

// StateChanged implements fabric.Events. Who wants to know a state looks.
func (h *HCA) StateChanged(int, bool) {}

// Deliver implements fabric.Events.
func (h *HCA) Deliver(number int, k *wire.Packet) { h.Port(number).receive(k) }
