//go:build linux

package connectx4

import (
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
)

// Port implements transport.Chip. A function has one port.
func (h *hca) Port(n int) *fabric.HCAPort {
	if n != 1 {
		return nil
	}
	return h.c.port
}

// Find implements transport.Chip.
func (h *hca) Find(_ int, number uint32) *transport.QueuePair {
	if number <= 1 {
		number = h.special[number]
	}
	if q := h.qps.at(number); q != nil {
		return q.QueuePair
	}
	return nil
}

// Members implements transport.Chip.
func (h *hca) Members(gid []byte, f func(*transport.QueuePair)) {
	for n := range h.groups[[16]byte(gid)] {
		if q := h.qps.at(n); q != nil {
			f(q.QueuePair)
		}
	}
}

// After implements transport.Chip.
func (h *hca) After(d time.Duration, f func()) { h.c.timers.After(d, f) }

// Logf implements transport.Chip.
func (h *hca) Logf(format string, args ...any) { h.c.logf(format, args...) }
