package fabric

import (
	"math/bits"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Logical states of a port.
const (
	Down, Init, Armed, Active = 1, 2, 3, 4
)

// Physical states.
const (
	polling, disabled, linkUp = 2, 3, 5
)

// Offsets in PortInfo.
const (
	atKey, atPrefix, atLID, atMasterLID, atCapabilities = 0, 8, 16, 18, 20
	atLease, atLocalPort                                = 26, 28
	atWidthEnabled, atWidthSupported, atWidthActive     = 29, 30, 31
	atState, atPhysical, atLMC, atSpeed, atMTU, atVLs   = 32, 33, 34, 35, 36, 37
	atHighLimit, atMTUCap, atOperational                = 38, 41, 43
	atKeyViolations, atPKeyViolations, atQKeyViolations = 44, 46, 48
	atTimeout, atErrors, atExtended, atExtendedEnabled  = 51, 53, 62, 63
)

// reregister is the bit of PortInfo that asks clients to join their groups again.
const reregister = 0x80

// port is what ports of cards and of switches have in common.
type port struct {
	wire     *wire.Port
	info     [64]byte
	state    byte
	off      bool // switched off by management
	pkeys    []uint16
	arbiter  [4][64]byte
	slToVL   [256][8]byte // by input port; a card has one
	counters Counters
	unsound  int  // packets that came in damaged, less those that did not
	fdr10    byte // enabled
	isFDR10  bool
}

// reset is the port after power on: 4X, up to FDR, eight virtual lanes, packets of 4096
// bytes.
func (p *port) reset(number byte, pkeys int) {
	*p = port{wire: p.wire, state: Down, pkeys: make([]uint16, pkeys), fdr10: 1}
	p.pkeys[0] = 0xffff
	i := &p.info
	be.PutUint64(i[atPrefix:], 0xfe80000000000000)
	i[atLocalPort] = number
	i[atWidthEnabled], i[atWidthSupported], i[atWidthActive] = 3, 3, 2
	i[atState] = 7 << 4
	i[atSpeed] = 4<<4 | 7
	i[atMTU] = 5 << 4
	i[atVLs] = 4 << 4
	i[39], i[40], i[41] = 8, 8, 5
	i[atOperational] = 4 << 4
	i[52], i[atErrors] = 16, 8<<4|8
	i[atExtended], i[atExtendedEnabled] = 1<<4|1, 1
}

// LID is the port's, 0 until a subnet manager gives it one.
func (p *port) lid() uint16       { return be.Uint16(p.info[atLID:]) }
func (p *port) masterLID() uint16 { return be.Uint16(p.info[atMasterLID:]) }

// Offer implements wire.Trainer.
func (p *port) Offer() (width uint8, speeds wire.Speeds) {
	return p.info[atWidthEnabled] & p.info[atWidthSupported],
		wire.Speeds{Basic: p.info[atSpeed] & 0xf, Extended: p.info[atExtendedEnabled] & 0x1f & (p.info[atExtended] & 0xf),
			FDR10: p.fdr10&1 != 0}
}

// follow brings the state in line with the link and reports whether it changed. A link
// that comes up agrees on width and speed with its other end.
func (p *port) follow() bool {
	up := p.wire.Up()
	switch {
	case up && p.state == Down:
		p.state = Init
		p.train()
		return true
	case !up && p.state != Down:
		p.state = Down
		p.counters.LinkDowned++
		return true
	}
	return false
}

func (p *port) train() {
	width, speeds := p.wire.Agreed()
	p.info[atWidthActive] = highest(max(width, 1))
	p.info[atSpeed] = p.info[atSpeed]&0xf | highest(max(speeds.Basic, 1))<<4
	p.info[atExtended] = p.info[atExtended]&0xf | highest(speeds.Extended)<<4
	p.isFDR10 = speeds.FDR10 && speeds.Extended == 0 && speeds.Basic&qdr != 0
}

// qdr is the speed that a link with FDR10 says it has, where only the old ones count.
const qdr = 4

// extendedPortInfo answers for the attribute of Mellanox that has FDR10: supported,
// enabled and active, each in the last byte of a word (struct ib_mlnx_ext_port_info of
// opensm's ib_types.h).
func (p *port) extendedPortInfo(m, out mad) {
	if m.method() == methodSet {
		p.fdr10 = m.data()[11] & 1
	}
	d := out.data()
	clear(d)
	d[7], d[11] = 1, p.fdr10
	if p.isFDR10 && p.state != Down {
		d[15] = 1
	}
}

// tooLong reports whether a packet has more data than the link may carry.
func (p *port) tooLong(k *wire.Packet) bool { return len(k.Payload) > 128<<(p.info[atMTU]>>4) }

func highest(b byte) byte {
	if b == 0 {
		return 0
	}
	return 1 << (bits.Len8(b) - 1)
}

// portInfo is what a Get answers.
func (p *port) portInfo() []byte {
	out := append([]byte(nil), p.info[:]...)
	out[atState] = out[atState]&0xf0 | p.state
	physical := byte(polling)
	switch {
	case p.state != Down:
		physical = linkUp
	case p.off:
		physical = disabled
	}
	out[atPhysical] = physical<<4 | polling
	return out
}

// largestMTU stands for 4096 bytes.
const largestMTU = 5

// setPortInfo takes the fields that a subnet manager may set. Fields of zero that mean
// "no change" change nothing.
func (p *port) setPortInfo(d []byte) {
	i := &p.info
	copy(i[atKey:atCapabilities], d[atKey:atCapabilities])
	copy(i[atLease:atLocalPort], d[atLease:atLocalPort])
	for at, all := range map[int]byte{atWidthEnabled: 0xff, atExtendedEnabled: 0x1f} {
		if v := d[at]; v != 0 && v != all {
			i[at] = v
		} else if v == all {
			i[at] = i[atWidthSupported]
			if at == atExtendedEnabled {
				i[at] = i[atExtended] & 0xf
			}
		}
	}
	if v := d[atSpeed] & 0xf; v == 0xf {
		i[atSpeed] |= i[atState] >> 4
	} else if v != 0 {
		i[atSpeed] = i[atSpeed]&0xf0 | v
	}
	i[atLMC] = d[atLMC]
	mtu := d[atMTU] & 0xf0
	if mtu == 0 || mtu > largestMTU<<4 {
		mtu = i[atMTU] & 0xf0
	}
	i[atMTU] = mtu | d[atMTU]&0xf
	i[atHighLimit] = d[atHighLimit]
	if v := d[atOperational]; v>>4 != 0 {
		i[atOperational] = v
	} else {
		i[atOperational] = i[atOperational]&0xf0 | v&0xf
	}
	i[atTimeout] = d[atTimeout] &^ reregister
	i[atErrors] = d[atErrors]
	p.setState(d[atState]&0xf, d[atPhysical]>>4)
}

// setState changes the logical and the physical state, where a Set may.
func (p *port) setState(logical, physical byte) {
	switch {
	case logical == Armed && p.state == Init, logical == Active && p.state == Armed:
		p.state = logical
	case logical == Down && p.wire.Up() && physical != disabled:
		p.retrain()
	}
	switch physical {
	case disabled:
		p.off = true
		p.wire.SetEnabled(false)
	case polling:
		switch {
		case p.off:
			p.off = false
			p.wire.SetEnabled(true)
		case p.wire.Up():
			p.retrain()
		}
	}
}

// retrain takes the link down for a moment, so that both ends agree anew.
func (p *port) retrain() {
	p.wire.SetEnabled(false)
	p.wire.SetEnabled(true)
}

// table answers the attributes that cards and switches have alike; false if it is none
// of them. block is the number of a block of P_Keys.
func (p *port) table(m, out mad, block, input int, which byte) bool {
	set, d := m.method() == methodSet, out.data()
	switch m.attribute() {
	case attrPKeyTable:
		at := block * 32
		if at+32 > len(p.pkeys) {
			out.setStatus(statusValue)
			return true
		}
		for i := range 32 {
			if set {
				p.pkeys[at+i] = be.Uint16(m.data()[2*i:])
			}
			be.PutUint16(d[2*i:], p.pkeys[at+i])
		}
	case attrSLToVL:
		if set {
			copy(p.slToVL[input][:], m.data())
		}
		clear(d)
		copy(d, p.slToVL[input][:])
	case attrArbitration:
		if which < 1 || which > 4 {
			out.setStatus(statusValue)
			return true
		}
		if set {
			copy(p.arbiter[which-1][:], m.data())
		}
		copy(d, p.arbiter[which-1][:])
	default:
		return false
	}
	return true
}

// admits reports whether the table has a partner for a P_Key.
func (p *port) admits(key uint16) bool {
	return slices.ContainsFunc(p.pkeys, func(mine uint16) bool { return sharePartition(mine, key) })
}

// inPartition reports whether the table has a P_Key of the same partition.
func (p *port) inPartition(key uint16) bool {
	return slices.ContainsFunc(p.pkeys, func(mine uint16) bool { return sharePartition(mine|0x8000, key) })
}

// ownKey is the port's P_Key of the partition of another, which it answers with; that one if
// it has none.
func (p *port) ownKey(key uint16) uint16 {
	if i := slices.IndexFunc(p.pkeys, func(mine uint16) bool { return sharePartition(mine|0x8000, key) }); i >= 0 {
		return p.pkeys[i]
	}
	return key
}

// sharePartition reports whether two P_Keys are of one partition, and at least one of both of
// a full member (10.9.3).
func sharePartition(a, b uint16) bool {
	return a&0x7fff == b&0x7fff && a&0x7fff != 0 && (a|b)&0x8000 != 0
}
