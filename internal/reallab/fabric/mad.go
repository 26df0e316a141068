// Package fabric is the management of InfiniBand: the agents of ports and switches, their
// tables, and what a switch forwards by them. Layouts are those of the InfiniBand
// Architecture, chapters 13, 14 and 16.1. It must not know what a host does with a datagram.
package fabric

import "encoding/binary"

var be = binary.BigEndian

// MADSize is the size of every management datagram.
const MADSize = 256

// Management classes.
const (
	classLID         = 0x01
	classDirected    = 0x81
	classPerformance = 0x04
)

// Methods.
const (
	methodGet  = 1
	methodSet  = 2
	methodTrap = 5
	methodStop = 7    // TrapRepress
	response   = 0x81 // of Get and Set
)

// Attributes of subnet management.
const (
	attrNotice       = 0x02
	attrDescription  = 0x10
	attrNodeInfo     = 0x11
	attrSwitchInfo   = 0x12
	attrGUIDInfo     = 0x14
	attrPortInfo     = 0x15
	attrPKeyTable    = 0x16
	attrSLToVL       = 0x17
	attrArbitration  = 0x18
	attrLinear       = 0x19
	attrMulticast    = 0x1b
	attrExtendedInfo = 0xff90 // of Mellanox: FDR10
)

// Statuses of a datagram, as they stand in it.
const (
	statusMethod    = 2 << 2
	statusAttribute = 3 << 2
	statusValue     = 7 << 2
	directionBit    = 0x8000
)

// mad is one datagram of 256 bytes.
type mad []byte

func (m mad) class() byte         { return m[1] }
func (m mad) method() byte        { return m[3] }
func (m mad) attribute() uint16   { return be.Uint16(m[16:]) }
func (m mad) modifier() uint32    { return be.Uint32(m[20:]) }
func (m mad) key() uint64         { return be.Uint64(m[24:]) }
func (m mad) data() []byte        { return m[64:128] }
func (m mad) setStatus(s uint16)  { be.PutUint16(m[4:], be.Uint16(m[4:])&directionBit|s) }
func (m mad) isSubnet() bool      { return m.class() == classLID || m.class() == classDirected }
func (m mad) initialPath() []byte { return m[128:192] }
func (m mad) returnPath() []byte  { return m[192:256] }

// reply is a copy that answers it, still with the data of the request.
func (m mad) reply() mad {
	out := append(mad(nil), m...)
	out[3] = response
	be.PutUint16(out[4:], 0)
	return out
}
