//go:build linux

package connectx4

import (
	"bytes"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Flow tables lead packets that come in to receive queues. Their entries are in groups,
// and the entries of a group compare the same fields (struct mlx5_ifc_fte_match_param_bits).
const (
	flowTableID                       = 0x14
	flowMiss, flowMissTable           = 0x18, 0x1c
	flowMissForward                   = 1
	groupFirst, groupMask             = 0x1c, 0x40
	flowIndex, flowGroup, flowAction  = 0x20, 0x44, 0x4e
	flowDestinations, flowValue       = 0x50, 0x80
	flowList                          = 0x340
	destinationTable, destinationTIR  = 1, 2
	actionDrop                        = 2
	rootQP                            = 0x18
	rootDisconnect                    = 1
	comparedBytes                     = 0x200
	maxFlowGroups, maxFlows, maxDests = 1 << 10, 1 << 14, 16 // the first two of a function
	maxTables                         = 64                   // that a packet goes through
	maxCompared                       = 1 << 12              // entries that it is compared with
)

// flowTable is a table: entries in the order of their indices.
type flowTable struct {
	miss    uint32 // the table to go on in; 0 is none
	groups  map[uint32][]byte
	flows   map[uint32]*flow
	indices []uint32
}

// flow is an entry: which bits of a packet are compared with what, and where it goes.
type flow struct {
	mask, value  []byte
	drop         bool
	destinations []destination
}

type destination struct {
	kind byte
	id   uint32
}

func missOf(r *request) uint32 {
	if r.in[flowMiss]&0xf != flowMissForward {
		return 0
	}
	return number(r.in, flowMissTable)
}

func (h *hca) createFlows(r *request) byte {
	return h.tables.make(r, func(uint32) *flowTable {
		return &flowTable{miss: missOf(r), groups: map[uint32][]byte{}, flows: map[uint32]*flow{}}
	})
}

func (h *hca) modifyFlows(r *request) byte {
	t := h.tables.at(number(r.in, flowTableID))
	if t == nil {
		return badResource
	}
	t.miss = missOf(r)
	return ok
}

func (h *hca) destroyFlows(r *request) byte {
	n := number(r.in, flowTableID)
	t := h.tables.at(n)
	if t == nil {
		return badResource
	}
	h.flowGroups -= len(t.groups)
	h.flows -= len(t.flows)
	delete(h.tables.all, n)
	return ok
}

// setRoot names the table in which packets for a queue pair begin.
func (h *hca) setRoot(r *request) byte {
	q := number(r.in, rootQP)
	switch {
	case r.opMod == rootDisconnect:
		delete(h.roots, q)
	case h.qps.at(q) != nil || q == 0:
		h.roots[q] = number(r.in, flowTableID)
	default:
		return badResource
	}
	return ok
}

// createGroup makes a group; its number is that of its first entry.
func (h *hca) createGroup(r *request) byte {
	t := h.tables.at(number(r.in, flowTableID))
	if t == nil {
		return badResource
	}
	first := be.Uint32(r.in[groupFirst:])
	if t.groups[first] == nil {
		if h.flowGroups >= maxFlowGroups {
			return limitReached
		}
		h.flowGroups++
	}
	t.groups[first] = bytes.Clone(r.in[groupMask : groupMask+comparedBytes])
	be.PutUint32(r.out[8:], first)
	return ok
}

func (h *hca) destroyGroup(r *request) byte {
	t := h.tables.at(number(r.in, flowTableID))
	if t == nil {
		return badResource
	}
	before := len(t.groups)
	delete(t.groups, be.Uint32(r.in[flowTableID+4:]))
	h.flowGroups -= before - len(t.groups)
	return ok
}

func (h *hca) setFlow(r *request) byte {
	t := h.tables.at(number(r.in, flowTableID))
	if t == nil {
		return badResource
	}
	index, mask := be.Uint32(r.in[flowIndex:]), t.groups[be.Uint32(r.in[flowGroup:])]
	if mask == nil {
		return badParam
	}
	if t.flows[index] == nil && h.flows >= maxFlows {
		return limitReached
	}
	f := &flow{mask: mask, value: bytes.Clone(r.in[flowValue : flowValue+comparedBytes]),
		drop: be.Uint16(r.in[flowAction:])&actionDrop != 0}
	for i := range min(number(r.in, flowDestinations), maxDests) {
		at := r.in[flowList+8*i:]
		f.destinations = append(f.destinations, destination{at[0], number(at, 0)})
	}
	if t.flows[index] == nil {
		at, _ := slices.BinarySearch(t.indices, index)
		t.indices = slices.Insert(t.indices, at, index)
		h.flows++
	}
	t.flows[index] = f
	return ok
}

func (h *hca) dropFlow(r *request) byte {
	t, index := h.tables.at(number(r.in, flowTableID)), be.Uint32(r.in[flowIndex:])
	if t == nil || t.flows[index] == nil {
		return badResource
	}
	delete(t.flows, index)
	h.flows--
	if at, found := slices.BinarySearch(t.indices, index); found {
		t.indices = slices.Delete(t.indices, at, at+1)
	}
	return ok
}

// headers are the fields of a packet that entries compare.
type headers [comparedBytes]byte

// Offsets of fields that entries compare.
const (
	headType, headProtocol, headVersion = 0x06, 0x10, 0x12
	headTCPSource, headUDPSource        = 0x14, 0x1c
	headSource, headTarget              = 0x20, 0x30
	headQP                              = 0x68
)

func headersOf(k *wire.Packet) (f headers) {
	be.PutUint32(f[headQP:], k.DestQP)
	if len(k.Payload) < encapsulation {
		return f
	}
	copy(f[headType:], k.Payload[:2])
	l := layersOf(k.Payload)
	if l.ip == nil {
		return f
	}
	f[headProtocol], f[headVersion] = l.protocol, l.ip[0]>>4<<1
	if l.four {
		copy(f[headSource+12:], l.ip[ipv4Source:ipv4Source+4])
		copy(f[headTarget+12:], l.ip[ipv4Source+4:ipv4Source+8])
	} else {
		copy(f[headSource:], l.ip[ipv6Source:ipv6Source+32])
	}
	switch {
	case l.l4 == 0:
	case l.protocol == protocolTCP:
		copy(f[headTCPSource:], l.ip[l.l4:l.l4+4])
	case l.protocol == protocolUDP:
		copy(f[headUDPSource:], l.ip[l.l4:l.l4+4])
	}
	return f
}

// hash spreads flows over queues. It is not that of the hardware, and no completion says
// that it is one.
func (f *headers) hash() (v uint32) {
	for _, b := range f[headTCPSource:0x40] {
		v = v*16777619 ^ uint32(b)
	}
	return v ^ v>>16
}

func (f *flow) matches(p *headers) bool {
	for i, m := range f.mask {
		if m != 0 && (p[i]^f.value[i])&m != 0 {
			return false
		}
	}
	return true
}

// lookup is the entry that a packet matches first, of so many; nil if it matches none.
func (t *flowTable) lookup(p *headers, most int) (f *flow, compared int) {
	for n, i := range t.indices[:min(most, len(t.indices))] {
		if f := t.flows[i]; f.matches(p) {
			return f, n + 1
		}
	}
	return nil, len(t.indices)
}

// follow leads a packet from a table to a TIR.
func (h *hca) follow(table uint32, p *headers) (tir uint32, found bool) {
	left := maxCompared
	for range maxTables {
		t := h.tables.at(table)
		if t == nil || left <= 0 {
			return 0, false
		}
		f, compared := t.lookup(p, left)
		left -= compared
		switch {
		case f == nil:
			table = t.miss
			continue
		case f.drop || len(f.destinations) == 0:
			return 0, false
		}
		d := f.destinations[0]
		switch d.kind {
		case destinationTIR:
			return d.id, true
		case destinationTable:
			table = d.id
		default:
			return 0, false
		}
	}
	return 0, false
}
