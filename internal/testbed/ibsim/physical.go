//go:build testbed && linux

package ibsim

import (
	"encoding/binary"
	"fmt"
)

// Physical states that a port can be told to take (PortInfo, PortPhysicalState).
const (
	physicalNoChange = 0
	physicalPolling  = 2
	physicalDisabled = 3
)

// order is the physical state that a packet tells the sender's own port to take.
// ibsim writes it down and leaves the link as it is; obey does the rest.
func (p *packet) order() int {
	const set, portInfo, atHops, atAttribute = 2, 0x15, 7, 16
	if p.mad[atClass] != directedRouteClass || p.mad[atMethod] != set || p.mad[atHops] != 0 ||
		binary.BigEndian.Uint16(p.mad[atAttribute:]) != portInfo {
		return physicalNoChange
	}
	return int(p.mad[smpData+33] >> 4)
}

// obey does to the cable of the first port what a port's link state machine does:
// it goes down when it is disabled, and comes up anew, with what is enabled by
// then, when it is told to poll.
func (h *HCA) obey(order int, sent *packet) {
	fabric, node := h.Node()
	if fabric == nil {
		return
	}
	port := fmt.Sprintf("%q[1]", node)
	if order == physicalDisabled || order == physicalPolling {
		// Without a link there is nothing to unlink, which is no matter.
		_ = fabric.Console("Unlink " + port)
	}
	h.mu.Lock()
	h.disabled = order == physicalDisabled
	h.mu.Unlock()
	switch order {
	case physicalDisabled:
		// Unlink made it poll.
		if _, c := h.attachment(); c != nil {
			again := *sent
			binary.BigEndian.PutUint32(again.mad[atTransaction+4:], 0) // nobody waits for it
			_ = c.put(fabric, &again)
		}
	case physicalPolling:
		// Nor is one to be had where the cable was out before.
		_ = fabric.Console("ReLink " + port)
	}
}

// Disabled reports whether the first port was told to stay down. A reset of the
// adapter forgets that.
func (h *HCA) Disabled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.disabled
}

// Reset is what the loss of power does to the adapter.
func (h *HCA) Reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.disabled = false
}
