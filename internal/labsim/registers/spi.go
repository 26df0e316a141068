package registers

import (
	"encoding/binary"
	"errors"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// Bits of the gateway's command register.
const (
	gwCommand = 1 << 2 // send the opcode
	gwData    = 1 << 4 // move data bytes
	gwHold    = 1 << 5 // keep the chip selected afterwards
	gwBusy    = 1 << 30
	gwLock    = 1 << 31 // the semaphore of the gateway itself
)

// Opcodes of serial flash.
const (
	opPageProgram = 0x02
	opRead        = 0x03
	opWriteOff    = 0x04
	opStatus      = 0x05
	opWriteOn     = 0x06
	opFastRead    = 0x0b
	opErase4K     = 0x20
	opJEDEC       = 0x9f
	opErase64K    = 0xd8
)

const pageSize = 256

// signature is what an image begins with; a burn writes it last.
const signature = 0x4d5446578cdfd000

// jedecID is a Micron N25Q of 4 MiB with sectors of 4 KiB.
var jedecID = []byte{0x20, 0xba, 0x16, 0x10}

// spi is the flash chip behind the gateway. A read or a page program spans
// several accesses as long as the chip stays selected; a page is programmed when
// it is released.
type spi struct {
	op       byte
	addr     uint32
	start    uint32
	page     []byte
	writable bool // the latch that each program or erase clears
	blocks   bool // an erase of 64 KiB is one operation; else one for each sector
	signed   bool // the last page that was programmed began with an image's signature
}

// access carries out one command of the gateway; data is read or written in
// place. Only a loss of power is an error: a serial flash reports none, the tool
// finds out when it reads back.
func (s *spi) access(f *card.Flash, v, addr uint32, data []byte) error {
	size := min(1<<(v>>8&7), gatewayData)
	if v&gwCommand != 0 {
		s.op, s.addr = byte(v>>16), addr&0xffffff
		s.start, s.page = s.addr, nil
	}
	switch s.op {
	case opJEDEC:
		copy(data, jedecID)
	case opStatus:
		clear(data)
	case opWriteOn, opWriteOff:
		s.writable = s.op == opWriteOn
	case opRead, opFastRead:
		if v&gwData != 0 {
			copy(data, readAround(f, s.addr, size))
			s.addr += uint32(size)
		}
	default:
		return s.change(f, v, data[:size])
	}
	return nil
}

// change is access for the operations that change the flash.
func (s *spi) change(f *card.Flash, v uint32, data []byte) error {
	var err error
	switch s.op {
	case opPageProgram:
		if v&gwData != 0 && len(s.page) <= pageSize { // one that is too long is dropped
			s.page = append(s.page, data...)
		}
		if v&gwHold == 0 {
			err = s.program(f)
		}
	case opErase4K:
		err = s.erase(f, 1)
	case opErase64K:
		err = s.erase(f, 16)
	}
	if errors.Is(err, card.ErrPowerLost) {
		return err
	}
	return nil
}

// readAround reads as the chip does: behind its end it begins anew.
func readAround(f *card.Flash, addr uint32, size int) []byte {
	addr %= card.FlashSize
	out := f.Read(addr, min(size, card.FlashSize-int(addr)))
	return append(out, f.Read(0, size-len(out))...)
}

// program writes the page. Bytes beyond its end would wrap to its beginning;
// the tool never sends them, so such a page is dropped and fails its check.
func (s *spi) program(f *card.Flash) error {
	page := s.page
	s.page = nil
	if !s.writable || len(page) == 0 || int(s.start%pageSize)+len(page) > pageSize || s.start >= card.FlashSize {
		return nil
	}
	s.writable = false
	s.signed = len(page) >= 16 && binary.BigEndian.Uint64(page) == signature
	return f.Program(s.start, page)
}

func (s *spi) erase(f *card.Flash, sectors uint32) error {
	if !s.writable || s.addr >= card.FlashSize {
		return nil
	}
	s.writable = false
	if s.blocks && sectors > 1 {
		return f.EraseBlock(s.addr)
	}
	size := sectors * card.SectorSize
	for a := s.addr &^ (size - 1); sectors > 0; sectors-- {
		if err := f.Erase(a); err != nil {
			return err
		}
		a += card.SectorSize
	}
	return nil
}
