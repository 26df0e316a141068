//go:build linux

package infinihost3

import (
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
)

// hca is the card since its last reset.
type hca struct {
	transport.Held
	c            *Card
	layout       *layout // nil before INIT_HCA
	pages        hcr.Pages
	translations map[uint64]uint64 // in the memory of the card
	regions      map[uint32]*region
	eqs          map[uint32]*eq
	cqs          map[uint32]*cq
	qps          map[uint32]*qp
	srqs         map[uint32]*srq
	groups       map[uint32][]byte
	routes       [64]route
	special      [2]uint32 // numbers of queue pairs of the first port: of subnet and of other management
}

// layout is what INIT_HCA says of the tables.
type layout struct {
	logKeys    uint8
	records    uint64 // doorbell records, by pages of doorbells
	recordsLog uint8  // log2 of the bytes of the records of one page
	hashSize   uint64 // entries of the table of multicast groups
}

func (l *layout) keyMask() uint32 { return 1<<l.logKeys - 1 }

func newHCA(c *Card) *hca {
	return &hca{c: c, translations: map[uint64]uint64{}, regions: map[uint32]*region{}, eqs: map[uint32]*eq{},
		cqs: map[uint32]*cq{}, qps: map[uint32]*qp{}, srqs: map[uint32]*srq{}, groups: map[uint32][]byte{}}
}

// Port implements transport.Chip.
func (h *hca) Port(n int) *fabric.HCAPort {
	if n < 1 || n > len(h.c.ports) {
		return nil
	}
	return h.c.ports[n-1]
}

// Find implements transport.Chip.
func (h *hca) Find(port int, number uint32) *transport.QueuePair {
	if number < 2 {
		if h.special[number] == 0 {
			return nil
		}
		number = h.special[number] + uint32(port-1)
	}
	if q := h.qps[number]; q != nil {
		return q.QueuePair
	}
	return nil
}

// After implements transport.Chip.
func (h *hca) After(d time.Duration, f func()) { h.c.timers.After(d, f) }

// Logf implements transport.Chip.
func (h *hca) Logf(format string, args ...any) { h.c.logf(format, args...) }

// record reads a doorbell record: the counter of a queue that the driver keeps in its own
// memory. page is that of the doorbells of its user.
func (h *hca) record(page, index uint32) (uint16, bool) {
	if h.layout == nil {
		return 0, false
	}
	bus, there := h.pages.At(h.layout.records + uint64(page)<<h.layout.recordsLog + uint64(index)*8)
	var b [4]byte
	if !there || h.c.bus.Read(bus, b[:]) != nil {
		return 0, false
	}
	return uint16(be.Uint32(b[:])), true
}

// groupSize is the size of an entry of the table of multicast groups.
const groupSize = 256

// maxGroups bounds that table.
const maxGroups = 1 << 16

// group reads or writes an entry of the table of multicast groups.
func (h *hca) group(q hcr.Command) int {
	if q.Op == readMGM {
		o := make([]byte, groupSize)
		copy(o, h.groups[q.Index])
		return h.fill(q.Out, o)
	}
	b := h.box(q.In, groupSize)
	if b == nil || len(h.groups) >= maxGroups {
		return hcr.BadParam
	}
	h.groups[q.Index] = b
	return hcr.OK
}

// hash is where in the table of groups the driver begins to look for one.
func (h *hca) hash(q hcr.Command) (int, *uint64) {
	gid := h.box(q.In, 16)
	if gid == nil || h.layout == nil || h.layout.hashSize == 0 {
		return hcr.BadParam, nil
	}
	var v uint64
	for i, b := range gid {
		v = v*31 + uint64(b) + uint64(i)
	}
	v %= h.layout.hashSize
	return hcr.OK, &v
}

// Members implements transport.Chip. A place of an entry is taken if its highest bit is
// set.
func (h *hca) Members(gid []byte, f func(*transport.QueuePair)) {
	const taken, head = 1 << 31, 32
	for _, e := range h.groups {
		if string(e[16:32]) != string(gid) {
			continue
		}
		for at := head; at < groupSize; at += 4 {
			v := be.Uint32(e[at:])
			if q := h.qps[v&0xffffff]; q != nil && v&taken != 0 {
				f(q.QueuePair)
			}
		}
	}
}
