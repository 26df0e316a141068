//go:build linux

package connectx3

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
)

// query fills a mailbox with facts about the card.
func (h *hca) query(q hcr.Command) int {
	size := 256
	o := make([]byte, 1024)
	switch fw := h.c.Model.Running(); q.Op {
	case queryFW:
		putFirmware(o, fw)
	case queryDevCap:
		putCapabilities(o)
	case queryAdapter:
		// Words of four bytes, each in reverse.
		for i := range min(len(fw.PSID), 16) {
			o[0x20+0xd0+i&^3+3-i&3] = fw.PSID[i]
		}
	case queryPort:
		if !h.putPort(o, int(q.Index&0xff), fw) {
			return hcr.BadParam
		}
	case queryHCA:
		size = copy(o, h.init)
		be.PutUint32(o[0xc:], coreClock)
	case modStat:
		if q.Modifier != 1 && q.Modifier != 3 {
			return hcr.OK // nothing is asked
		}
	}
	return h.fill(q.Out, o[:size])
}

// coreClock is the chip's clock in MHz.
const coreClock = 427

func putFirmware(o []byte, fw card.Firmware) {
	be.PutUint16(o[0x00:], 1024) // pages of its own memory
	be.PutUint16(o[0x02:], fw.Version[0])
	be.PutUint16(o[0x04:], fw.Version[2])
	be.PutUint16(o[0x06:], fw.Version[1])
	be.PutUint16(o[0x0a:], 3) // revision of the command interface
	o[0x0f] = 4               // log2 of the commands at once
	be.PutUint64(o[0x20:], 0xf00d8)
	be.PutUint64(o[0x30:], 0x1f020)
	be.PutUint32(o[0x38:], 0x10)
	be.PutUint64(o[0x50:], 0x40000)
}

// Limits that several answers have in common, as powers of two.
const (
	logSRQs, logCQs, logEQs  = 15, 16, 9
	logQueue, logCompletions = 14, 22
	logMessage               = 24
)

// putCapabilities answers QUERY_DEV_CAP. Only what a driver asks for is there.
func putCapabilities(o []byte) {
	for at, v := range map[int]byte{
		0x10: logQueue, 0x11: logQueue, 0x12: 6, 0x13: 19, // entries of SRQs and QPs, reserved and all QPs
		0x14: 6 << 4, 0x15: logSRQs, 0x19: logCompletions, 0x1a: 7, 0x1b: logCQs, 0x1d: 19, 0x1e: 5, 0x1f: logEQs,
		0x20: 4 << 4, 0x21: 36, 0x22: 4, 0x23: 3, 0x29: 4, 0x2b: 4, 0x2f: 19, 0x33: 1, 0x35: 15,
		0x36: 0x53, 0x37: 0x80 | ports, 0x38: logMessage, 0x3b: 7, 0x3f: 7,
		0x48: 8 << 4, 0x49: 3, 0x4b: 12, 0x51: 62, 0x55: 32, 0x61: 8, 0x63: 13, 0x64: 2 << 4, 0x65: 15, 0x66: 1 << 4,
		0x67: 16,
	} {
		o[at] = v
	}
	be.PutUint16(o[0x3c:], 0xffff)
	be.PutUint16(o[0x52:], 1008) // bytes of a send work request
	be.PutUint16(o[0x56:], 512)  // and of a receive work request
	// Bytes of each kind of context.
	for at, v := range map[int]uint16{0x80: 32, 0x82: 256, 0x84: 256, 0x86: 64, 0x88: 128, 0x8a: 128, 0x8c: 128, 0x8e: 64,
		0x90: 8, 0x92: 128} {
		be.PutUint16(o[at:], v)
	}
	// RC, UD, SRQ, violation counters of P_Keys and Q_Keys, ports of different types, port
	// enforcement, multicast, sensing.
	var flags uint64
	for _, bit := range []uint{0, 2, 6, 8, 9, 12, 20, 21, 55} {
		flags |= 1 << bit
	}
	be.PutUint64(o[0x40:], flags)
	be.PutUint32(o[0x98:], reservedKey)
	be.PutUint64(o[0xa0:], 1<<40)
}

// Bits of QUERY_PORT.
const (
	typeIB, typeEthernet       = 1, 2
	suggestEthernet            = 1 << 3
	senseByDefault             = 1 << 4
	portHasLink                = 1 << 7
	typesOfBoth                = typeIB | typeEthernet
	supportedWidths            = 3 // 1X and 4X
	maximumMTU           uint8 = 5 // 4096 bytes
)

// putPort says what a port can be. Firmware without InfiniBand knows Ethernet only; other
// firmware suggests what is stored in its configuration.
func (h *hca) putPort(o []byte, n int, fw card.Firmware) bool {
	p := h.Port(n)
	if p == nil {
		return false
	}
	o[0] = typeEthernet | suggestEthernet
	if fw.VPI {
		o[0] = typesOfBoth
		switch fw.Config.LinkType[n-1] {
		case card.LinkIB:
		case card.LinkVPI:
			o[0] |= suggestEthernet | senseByDefault
		default:
			o[0] |= suggestEthernet
		}
	}
	if p.Wire().Up() {
		o[0] |= portHasLink
	}
	o[1] = maximumMTU
	be.PutUint16(o[2:], 9600)
	o[6] = supportedWidths
	o[7] = 0x77 // tables of 128 P_Keys and GIDs
	o[0xa] = 0x77
	o[0xb] = 8 // virtual lanes
	be.PutUint64(o[0x10:], fw.MACs[n-1])
	return true
}
