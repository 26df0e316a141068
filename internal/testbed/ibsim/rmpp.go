//go:build testbed && linux

package ibsim

import "encoding/binary"

// The reliable multi-packet protocol (InfiniBand Architecture, 13.6.2) as far as
// the administration of a subnet needs it. ibsim loses nothing and keeps the order,
// so that segments go without acknowledgement.
const (
	atVersion = 24
	atType    = 25
	atFlags   = 26
	atSegment = 28
	atPayload = 32

	flagActive = 1
	flagFirst  = 2
	flagLast   = 4

	// Data of the class SA begin behind its own header of 20 bytes, which counts
	// as payload of every segment.
	dataAt      = 56
	segmentData = madSize - dataAt
	segmentLoad = segmentData + 20
)

// segments cuts an answer into packets; p is the first with the header of all.
func (p *packet) segments(mad []byte) []*packet {
	data := mad[min(dataAt, len(mad)):]
	n := max(1, (len(data)+segmentData-1)/segmentData)
	padding := n*segmentData - len(data)
	list := make([]*packet, n)
	for i := range list {
		s := *p
		clear(s.mad[dataAt:])
		copy(s.mad[dataAt:], data[min(i*segmentData, len(data)):])
		flags, load := byte(flagActive), 0
		if i == 0 {
			flags |= flagFirst
			load = n*segmentLoad - padding
		}
		if i == n-1 {
			flags |= flagLast
			load = segmentLoad - padding
		}
		s.mad[atVersion], s.mad[atType] = 1, 1
		s.mad[atFlags] = s.mad[atFlags]&0xf8 | flags
		binary.BigEndian.PutUint32(s.mad[atSegment:], uint32(i+1))
		binary.BigEndian.PutUint32(s.mad[atPayload:], uint32(load))
		list[i] = &s
	}
	return list
}

// assemble joins the segments of an answer, in their order, behind the header of
// the first.
func assemble(list []*packet) []byte {
	last := list[len(list)-1]
	mad := append([]byte(nil), list[0].mad[:dataAt]...)
	for _, s := range list {
		mad = append(mad, s.mad[dataAt:]...)
	}
	load := int(binary.BigEndian.Uint32(last.mad[atPayload:]))
	if padding := segmentLoad - load; padding > 0 && padding <= segmentLoad {
		mad = mad[:max(dataAt, len(mad)-padding)]
	}
	return mad
}
