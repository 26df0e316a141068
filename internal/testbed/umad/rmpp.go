//go:build linux

package umad

import (
	"encoding/binary"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
)

// The reliable multi-packet protocol (InfiniBand Architecture, 13.6.2) as far as
// the administration of a subnet needs it, and between hosts of the testbed only:
// nothing is lost between them and all keeps its order, so that segments go without
// acknowledgement.
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
	segmentData = fabric.MADSize - dataAt
	segmentLoad = segmentData + 20
)

// segments cuts an answer into packets; m is the first with the header of all.
func (m mad) segments(whole []byte) []mad {
	data := whole[min(dataAt, len(whole)):]
	n := max(1, (len(data)+segmentData-1)/segmentData)
	padding := n*segmentData - len(data)
	list := make([]mad, n)
	for i := range list {
		s := append(mad(nil), m...)
		clear(s[dataAt:])
		copy(s[dataAt:], data[min(i*segmentData, len(data)):])
		flags, load := byte(flagActive), 0
		if i == 0 {
			flags |= flagFirst
			load = n*segmentLoad - padding
		}
		if i == n-1 {
			flags |= flagLast
			load = segmentLoad - padding
		}
		s[atVersion], s[atType] = 1, 1
		s[atFlags] = s[atFlags]&0xf8 | flags
		binary.BigEndian.PutUint32(s[atSegment:], uint32(i+1))
		binary.BigEndian.PutUint32(s[atPayload:], uint32(load))
		list[i] = s
	}
	return list
}

// assemble joins the segments of an answer, in their order, behind the header of
// the first.
func assemble(list []mad) mad {
	last := list[len(list)-1]
	whole := append(mad(nil), list[0][:dataAt]...)
	for _, s := range list {
		whole = append(whole, s[dataAt:]...)
	}
	load := int(binary.BigEndian.Uint32(last[atPayload:]))
	if padding := segmentLoad - load; padding > 0 && padding <= segmentLoad {
		whole = whole[:max(dataAt, len(whole)-padding)]
	}
	return whole
}
