// Package transport is what InfiniBand does between two queue pairs, whatever chip has
// them: datagrams, reliable connections, checks of keys, the error state (InfiniBand
// Architecture, chapters 9 and 10). A chip embeds a QueuePair in its own and gives it two
// things: Rings, which read work requests and write completions in the formats of the
// chip, and Chip, the rest of the card.
//
// There are no unreliable connections, atomics, memory windows, path migration and loopback of
// multicast, and no events for a shared receive queue that runs low, a send queue that is
// drained, and a completion or event queue that overruns. What a partner may do is said by
// keys alone: a queue pair's own remote access flags and protection domains are not looked
// at. No driver of the lab has been seen to need them. It must not know the layout of
// anything in a machine's memory.
package transport

import (
	"encoding/binary"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
)

var be = binary.BigEndian

// Access is what is done with memory, and so the right that a key must give.
type Access int

// Accesses of the card's own work requests, and of a partner's.
const (
	LocalRead Access = iota
	LocalWrite
	RemoteRead
	RemoteWrite
)

// Writes reports whether memory is changed.
func (a Access) Writes() bool { return a == LocalWrite || a == RemoteWrite }

// Chip is what the transport asks of a card. All of it happens in the world.
type Chip interface {
	// Port is a port of the card. The first is 1, which every card has; nil if there is none.
	Port(n int) *fabric.HCAPort
	// Find is the queue pair that a packet at a port is for, 0 and 1 those of management;
	// nil if there is none.
	Find(port int, number uint32) *QueuePair
	// Members calls f for each queue pair that is attached to a multicast group.
	Members(gid []byte, f func(*QueuePair))
	// Copy moves p to or from the memory that a key and an address name. It reports
	// whether there is such memory and the key allows the access.
	Copy(key uint32, addr uint64, p []byte, a Access) bool
	// After runs f in the world, unless the card has been reset by then.
	After(d time.Duration, f func())
	// Logf writes a line to the card's log.
	Logf(format string, args ...any)
	holder
}

// holder is a card that embeds a Held.
type holder interface{ held() *Held }

// Held is what the connections of a card have sent and not seen acknowledged, in bytes. A
// Chip embeds it.
type Held struct{ bytes int }

func (h *Held) held() *Held { return h }

// Rings are the work queues of one queue pair and the completion queues that they end in.
type Rings interface {
	// NextSend takes the next send request; nil if there is none. It must take one at most: a
	// driver can post while they are taken, and so without end.
	NextSend() *Send
	// NextReceive takes the next receive request, of the queue pair's own queue or of the
	// one that it shares; nil if there is none.
	NextReceive() *Receive
	// Sent completes a send request.
	Sent(*Send, Status)
	// Received completes a receive request that a message went into, or one with an error,
	// of which only the status counts.
	Received(*Receive, Arrival)
	// LastWQEReached tells the driver that a queue pair in error takes nothing more from the
	// receive queue that it shares.
	LastWQEReached()
}

// MaxMessage is the longest message, in bytes.
const MaxMessage = 1 << 24

// Status is how a work request ended, as all chips of the maker number it in their
// completions (of Linux: mlx4_cqe syndromes in include/linux/mlx4/cq.h, mthca_cq.c,
// include/linux/mlx5/cq.h).
type Status uint8

// Ends of a work request.
const (
	Success         Status = 0x00
	LocalLength     Status = 0x01
	LocalOperation  Status = 0x02
	LocalProtection Status = 0x04
	Flushed         Status = 0x05
	RemoteInvalid   Status = 0x12
	RemoteAccess    Status = 0x13
	RemoteOperation Status = 0x14
	NoAnswer        Status = 0x15
	NotReady        Status = 0x16
)
