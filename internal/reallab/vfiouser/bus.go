//go:build linux

// Package vfiouser puts a PCI function on the bus of a virtual machine: it is the server
// of the vfio-user protocol 0.0, as QEMU since 10.1 speaks it (docs/interop/vfio-user.rst
// of QEMU). It must not know what the function does.
package vfiouser

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrNoMemory is an access to a bus address at which the machine has no memory.
var ErrNoMemory = errors.New("vfiouser: no memory at this bus address")

// window is a piece of the machine's memory.
type window struct {
	addr, size uint64
	mem        []byte // nil if it cannot be mapped
}

// Bus is the way of a function to its machine: memory and interrupts. It is safe for
// concurrent use.
type Bus struct {
	mu      sync.Mutex
	windows []window
	vectors map[uint32]int // eventfd by vector
	// late are vectors that were raised while they had no eventfd: QEMU takes it away
	// while a vector changes, and the driver would wait for ever.
	late map[uint32]bool
}

// at gives the memory at an address, up to the end of its window.
func (b *Bus) at(addr uint64) []byte {
	for _, w := range b.windows {
		if addr >= w.addr && addr-w.addr < w.size && w.mem != nil {
			return w.mem[addr-w.addr:]
		}
	}
	return nil
}

// copy moves p to or from memory. It may cross windows. The file of a window can be
// shorter than it, which the processor notices only now.
func (b *Bus) copy(addr uint64, p []byte, write bool) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: %v", ErrNoMemory, fault)
		}
	}()
	for len(p) > 0 {
		mem := b.at(addr)
		if mem == nil {
			return ErrNoMemory
		}
		var n int
		if write {
			n = copy(mem, p)
		} else {
			n = copy(p, mem)
		}
		p, addr = p[n:], addr+uint64(n)
	}
	return nil
}

// Read fills p with memory at a bus address.
func (b *Bus) Read(addr uint64, p []byte) error { return b.copy(addr, p, false) }

// Write stores p at a bus address.
func (b *Bus) Write(addr uint64, p []byte) error { return b.copy(addr, p, true) }

// one is what an eventfd counts.
var one = []byte{1, 0, 0, 0, 0, 0, 0, 0}

// Interrupt raises an MSI-X vector, now or as soon as the machine listens to it.
func (b *Bus) Interrupt(vector uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if fd, ok := b.vectors[vector]; ok {
		_, _ = unix.Write(fd, one) // full only if nobody has read 2^64 of them
		return
	}
	if b.late == nil {
		b.late = map[uint32]bool{}
	}
	b.late[vector] = true
}

// setEventFD gives a vector its eventfd. A file that is none must not stop the world.
func (b *Bus) setEventFD(vector uint32, fd int) {
	_ = unix.SetNonblock(fd, true)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clearEventFD(vector)
	if b.vectors == nil {
		b.vectors = map[uint32]int{}
	}
	b.vectors[vector] = fd
	if b.late[vector] {
		delete(b.late, vector)
		_, _ = unix.Write(fd, one)
	}
}

// clearEventFD takes the eventfd of a vector away. The caller holds the lock.
func (b *Bus) clearEventFD(vector uint32) {
	if fd, ok := b.vectors[vector]; ok {
		_ = unix.Close(fd)
		delete(b.vectors, vector)
	}
}

// clearEventFDs takes all eventfds away.
func (b *Bus) clearEventFDs() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for v := range b.vectors {
		b.clearEventFD(v)
	}
}

// Bounds of what a machine may map: all cards share one address space with room for 2^47
// bytes and 65530 windows.
const (
	maxWindows = 512
	maxMapped  = 1 << 40
)

var errTooMuch = errors.New("vfiouser: the machine maps too much")

// Map puts size bytes of a file at a bus address; a file of -1 is a window without memory.
func (b *Bus) Map(addr, size, offset uint64, fd int) error {
	w := window{addr: addr, size: size}
	if !b.fits(size) {
		return errTooMuch
	}
	if fd >= 0 {
		mem, err := unix.Mmap(fd, int64(offset), int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		w.mem = mem
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.windows = append(b.windows, w)
	return nil
}

func (b *Bus) fits(size uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.windows {
		size += w.size
	}
	return len(b.windows) < maxWindows && size <= maxMapped
}

// remove unmaps the windows within a range.
func (b *Bus) remove(inside func(addr, size uint64) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var keep []window
	for _, w := range b.windows {
		switch {
		case !inside(w.addr, w.size):
			keep = append(keep, w)
		case w.mem != nil:
			_ = unix.Munmap(w.mem)
		}
	}
	b.windows = keep
}

// Unmap forgets the memory of the machine.
func (b *Bus) Unmap() { b.remove(func(uint64, uint64) bool { return true }) }

// clear forgets the machine.
func (b *Bus) clear() {
	b.Unmap()
	b.clearEventFDs()
	b.mu.Lock()
	b.late = nil
	b.mu.Unlock()
}
