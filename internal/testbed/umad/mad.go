//go:build linux

package umad

import (
	"encoding/binary"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
)

// Offsets in a datagram (InfiniBand Architecture, 13.4.2 and 14.2.1).
const (
	atClass       = 1
	atMethod      = 3
	atStatus      = 4
	atHop         = 6
	atHops        = 7
	atTransaction = 8
	atAttribute   = 16
	atModifier    = 20
	atData        = 64
	atWay         = 128 // there
	atWayBack     = 192

	dataSize = 64
)

// Classes, methods and attributes.
const (
	classLID         = 0x01
	classPerformance = 0x04
	classDirected    = 0x81

	methodGet         = 1
	methodSet         = 2
	methodTrapRepress = 7
	methodResponse    = 0x80

	attrDescription = 0x10
	attrPortInfo    = 0x15
	attrPKeys       = 0x16
	attrSMInfo      = 0x20

	returning            = 0x80      // in the status: the datagram is on its way back
	unsupportedAttribute = 0x03 << 2 // the status of what nobody answers
)

// mad is one datagram.
type mad []byte

func (m mad) class() byte       { return m[atClass] }
func (m mad) method() byte      { return m[atMethod] }
func (m mad) isResponse() bool  { return m[atMethod]&methodResponse != 0 }
func (m mad) isDirected() bool  { return m.class() == classDirected }
func (m mad) isSubnet() bool    { return m.class() == classLID || m.isDirected() }
func (m mad) isReturning() bool { return m[atStatus]&returning != 0 }
func (m mad) attribute() uint16 { return binary.BigEndian.Uint16(m[atAttribute:]) }

// isRequest reports whether somebody waits for an answer.
func (m mad) isRequest() bool { return m.method() == methodGet || m.method() == methodSet }

// transaction is the identifier by which an answer is told from others. Its upper half
// is the kernel's: the number of the agent.
func (m mad) transaction() uint64 { return binary.BigEndian.Uint64(m[atTransaction:]) }

// isServed reports whether the firmware deals with a datagram; all others are for
// programs (mlx4_ib_process_mad in Linux drivers/infiniband/hw/mlx4/mad.c).
func (m mad) isServed() bool {
	switch m.method() {
	case methodGet, methodSet, methodTrapRepress:
		return m.isSubnet() && m.attribute() != attrSMInfo || m.class() == classPerformance
	}
	return false
}

// unmatched is the answer of a kernel in which no program wants a request.
func (m mad) unmatched() mad {
	out := append(mad(nil), m...)
	out[atMethod] = methodGet | methodResponse
	out[atStatus], out[atStatus+1] = 0, unsupportedAttribute
	if m.isDirected() {
		out[atStatus] |= returning
	}
	return out
}

// depart advances the route of a datagram that a host sends from a port, as the kernel
// does (14.2.2; Linux drivers/infiniband/core/smi.c). local says that it goes no further
// than this port, ok that the route is one of this port's.
func (m mad) depart(port byte) (local, ok bool) {
	hop, hops := int(m[atHop]), int(m[atHops])
	switch {
	case hops >= dataSize:
		return false, false
	case m.isReturning() && hops > 0 && hop == hops+1:
		m[atHop]--
		return false, m[atWayBack+hops] == port
	case m.isReturning():
		m[atHop] = 0
		return true, hop <= 1
	case hops > 0 && hop == 0:
		m[atHop] = 1
		return false, m[atWay+1] == port
	}
	m[atHop] = m[atHops] + 1
	return true, hop == hops || hop == hops+1
}

// arrive advances the route of a datagram that a port has received; false if it does not
// end here.
func (m mad) arrive(port byte) bool {
	hop, hops := int(m[atHop]), int(m[atHops])
	if m.isReturning() {
		m[atHop] = 0
		return hop == 1
	}
	if hop != hops || hops == 0 || hops >= dataSize {
		return false
	}
	m[atWayBack+hops] = port
	m[atHop]++
	return true
}

// newMAD is a copy of what a program wrote, in the size of a datagram.
func newMAD(b []byte) mad {
	m := make(mad, fabric.MADSize)
	copy(m, b)
	return m
}
