//go:build linux

package umad

import "encoding/binary"

// PortInfo is the attribute of a port by that name (InfiniBand Architecture,
// 14.2.5.6), of which a driver shows a part.
type PortInfo [dataSize]byte

// isSM is the capability of a port that has a subnet manager.
const isSM = 1 << 1

// GIDPrefix to ExtendedSpeed are fields of the attribute.
func (p PortInfo) GIDPrefix() uint64 { return binary.BigEndian.Uint64(p[8:]) }

// LID is 0 before a subnet manager has given one.
func (p PortInfo) LID() uint16 { return binary.BigEndian.Uint16(p[16:]) }

// SMLID is where the master is.
func (p PortInfo) SMLID() uint16 { return binary.BigEndian.Uint16(p[18:]) }

// CapMask are the capabilities; bit 1 is IsSM.
func (p PortInfo) CapMask() uint32 { return binary.BigEndian.Uint32(p[20:]) }

// State is 1 down, 2 initialize, 3 armed, 4 active.
func (p PortInfo) State() int { return int(p[32] & 0xf) }

// Physical is 2 polling, 3 disabled, 5 link up.
func (p PortInfo) Physical() int { return int(p[33] >> 4) }

// LMC is how many LIDs the port has, as a power of two.
func (p PortInfo) LMC() int { return int(p[34] & 7) }

// SMSL is the service level to the master.
func (p PortInfo) SMSL() int { return int(p[36] & 0xf) }

// Lanes that are in use: 1, 2, 4, 8, 12, or 0.
func (p PortInfo) Lanes() int { return map[byte]int{1: 1, 2: 4, 4: 8, 8: 12, 16: 2}[p[31]] }

// Speed in use is 1 SDR, 2 DDR, 4 QDR; ExtendedSpeed, if it is not 0, counts
// instead: 1 FDR, 2 EDR, 4 HDR.
func (p PortInfo) Speed() int { return int(p[35] >> 4) }

// ExtendedSpeed is described at Speed.
func (p PortInfo) ExtendedSpeed() int { return int(p[62] >> 4) }
