//go:build linux

package infinihost3

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
)

// query fills a mailbox with facts about the card.
func (h *hca) query(q hcr.Command) int {
	o := make([]byte, 256)
	switch fw := h.c.Model.Running(); q.Op {
	case queryFW:
		h.putFirmware(o, fw)
	case queryLimits:
		h.putLimits(o)
	case queryDDR:
		be.PutUint64(o, memoryBase)
		be.PutUint64(o[8:], memoryBase+memorySize-1)
		o[0x13] = 1 << 4 // hidden
	case queryAdapter:
		be.PutUint32(o[0x08:], uint32(h.c.revision))
		// Words of four bytes, each in reverse.
		for i := range min(len(fw.PSID), 16) {
			o[0x20+0xd0+i&^3+3-i&3] = fw.PSID[i]
		}
	}
	return h.fill(q.Out, o)
}

// The memory of a card in Tavor mode. The driver puts tables between its beginning and the
// firmware.
const (
	memoryBase   = 0x100000000
	memorySize   = 256 << 20
	firmwareSize = 1 << 20
)

// Where a card tells of its own errors, in words.
const (
	errorBuffer = 0x1f020
	errorWords  = 16
)

func (h *hca) putFirmware(o []byte, fw card.Firmware) {
	be.PutUint16(o[0x00:], 256) // pages of the firmware
	be.PutUint16(o[0x02:], fw.Version[0])
	be.PutUint16(o[0x04:], fw.Version[2])
	be.PutUint16(o[0x06:], fw.Version[1])
	o[0x0f] = 4 // log2 of the commands at once
	be.PutUint64(o[0x30:], errorBuffer)
	be.PutUint32(o[0x38:], errorWords)
	if h.c.ownMemory {
		be.PutUint64(o[0x20:], memoryBase+memorySize-firmwareSize)
		be.PutUint64(o[0x28:], memoryBase+memorySize-1)
		return
	}
	be.PutUint64(o[0x20:], regClear)
	be.PutUint64(o[0x40:], regArm)
	be.PutUint64(o[0x48:], regConsumer)
}

// Limits, most of them as powers of two.
const (
	logQueue, logCompletions   = 14, 17
	logPairs, logSRQs, logCQs  = 20, 16, 20
	logKeys, logEQs            = 20, 6
	eventQueues                = 32
	logPKeys, logGIDs          = 6, 5
	maximumMTU                 = 4 // 2048 bytes
	supportedWidths            = 3 // 1X and 4X
	sendSize, receiveSize      = 1008, 512
	sendPieces, receivePieces  = 30, 30
	logMembers, logGroups      = 6, 13
	logPDs, logUARSize         = 15, 3
	logMemoryRegion, logRDMA   = 36, 19
	ackDelay, pageSize         = 15, 12
	reservedPairs, reservedCQs = 4, 7
	reservedSRQs, reservedKeys = 4, 4
	virtualLanes, maxTables    = 8, 1 << 40
)

// Bits of QUERY_DEV_LIM: counters of violations, and shared receive queues.
const limitFlags = 1<<8 | 1<<9 | 1<<19

// putLimits answers QUERY_DEV_LIM. Only what the driver asks for is there.
func (h *hca) putLimits(o []byte) {
	for at, v := range map[int]byte{
		0x10: logQueue, 0x11: logQueue, 0x12: reservedPairs, 0x13: logPairs, 0x14: reservedSRQs << 4, 0x15: logSRQs,
		0x19: logCompletions, 0x1a: reservedCQs, 0x1b: logCQs, 0x1d: logKeys, 0x1f: logEQs, 0x20: 4 << 4,
		0x21: logMemoryRegion, 0x22: reservedKeys, 0x23: logKeys, 0x29: 2, 0x2b: 2, 0x2f: logRDMA, 0x35: ackDelay,
		0x36: maximumMTU<<4 | supportedWidths, 0x37: virtualLanes<<4 | byte(h.c.kind.ports), 0x3b: logGIDs, 0x3f: logPKeys,
		0x48: 1 << 4, 0x49: logUARSize, 0x4b: pageSize, 0x51: sendPieces, 0x55: receivePieces, 0x61: logMembers,
		0x63: logGroups, 0x64: 1 << 4, 0x65: logPDs,
	} {
		o[at] = v
	}
	be.PutUint16(o[0x3c:], 0xf) // static rates
	be.PutUint16(o[0x52:], sendSize)
	be.PutUint16(o[0x56:], receiveSize)
	// Bytes of each kind of context.
	for at, v := range map[int]uint16{0x82: 256, 0x86: 32, 0x88: 64, 0x8a: 64, 0x8c: 32, 0x8e: 32, 0x90: 8, 0x92: 64} {
		be.PutUint16(o[at:], v)
	}
	be.PutUint32(o[0x44:], limitFlags)
	be.PutUint32(o[0x98:], endKey)
	be.PutUint64(o[0xa0:], maxTables)
}
