// Package hcr is how the driver of a chip before ConnectX-4 talks to its firmware: the
// command register, mailboxes in the memory of the machine, and pages that the driver
// lends for the tables of the chip (ICM). It is the same for InfiniHost III and
// ConnectX-3 (of Linux: mthca_cmd.c and mlx4/cmd.c). It must not know what a command does.
package hcr

import "encoding/binary"

var be = binary.BigEndian

// Statuses of a command.
const (
	OK          = 0x00
	BadOpcode   = 0x02
	BadParam    = 0x03
	BadResource = 0x05
	BadState    = 0x10 // of a queue pair
	BadPacket   = 0x30
)

// Known is the status of a command that names something: OK if that is there.
func Known(there bool) int {
	if there {
		return OK
	}
	return BadParam
}

// Places of the register in the address space of the chip, and its words.
const (
	Base = 0x80680
	last = Base + 4*wordGo

	wordIn, wordModifier, wordOut, wordToken, wordGo = 0, 2, 3, 5, 6
	words                                            = 7
)

// Bits of the last word. The upper eight are the status.
const (
	goBit      = 1 << 23
	eventBit   = 1 << 22
	statusBits = 0xff << 24
)

// EventCommand is the type of the event of a command that has ended.
const EventCommand = 0x0a

// EventSize is the size of an event in a queue of the driver.
const EventSize = 32

// Command is one command of the driver.
type Command struct {
	Op, Modifier uint32 // the operation and its modifier
	Index        uint32 // the input modifier: what the command is about
	In, Out      uint64 // bus addresses of mailboxes, or immediate values
}

// Register is the command register. Its zero value is that of a chip after reset.
type Register struct{ words [words]uint32 }

// Contains reports whether an address of the chip is in the register.
func Contains(addr uint32) bool { return addr >= Base && addr <= last }

// Read is the word at an address.
func (r *Register) Read(addr uint32) uint32 { return r.words[(addr-Base)/4] }

// Write stores a word. The last one starts a command, which is then given.
func (r *Register) Write(addr, v uint32) (c Command, started bool) {
	r.words[(addr-Base)/4] = v
	if addr != last || v&goBit == 0 {
		return Command{}, false
	}
	return Command{Op: v & 0xfff, Modifier: v >> 12 & 0xf, Index: r.words[wordModifier], In: r.pair(wordIn),
		Out: r.pair(wordOut)}, true
}

func (r *Register) pair(word int) uint64 { return uint64(r.words[word])<<32 | uint64(r.words[word+1]) }

// Finish ends a command. Result is its immediate answer, or nil. The driver may want the
// event that comes back.
func (r *Register) Finish(status int, result *uint64) (event [EventSize]byte, wanted bool) {
	value := r.pair(wordOut)
	if result != nil {
		value = *result
		r.words[wordOut], r.words[wordOut+1] = uint32(value>>32), uint32(value)
	}
	v := r.words[wordGo]
	r.words[wordGo] = v&^uint32(goBit|statusBits) | uint32(status)<<24
	event[1] = EventCommand
	be.PutUint16(event[6:], uint16(r.words[wordToken]>>16))
	event[15] = byte(status)
	be.PutUint64(event[16:], value)
	return event, v&eventBit != 0
}
