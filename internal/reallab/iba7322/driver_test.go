//go:build linux

package iba7322

import (
	"fmt"
	"log"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// driver is a machine with a card: it does what the kernel's driver does.
type driver struct {
	testing.TB
	*Card
	log strings.Builder
}

// Places in the machine's memory.
const (
	guestSize   = 16 << 20
	atAvail     = 0x1000
	atRing      = 0x2000
	atHead      = 0x3000
	atPacket    = 0x4000
	atHeaders   = 0x10000 // of the first context; the second has them behind
	headersSize = 0x10000
	atEager     = 0x100000
	nodeGUID    = 0x0011750000791fec
	entryWords  = 32
	entryCount  = 8
)

func newDriver(t testing.TB, w *wire.World, ports int) *driver {
	t.Helper()
	model, err := card.New(card.Config{Chip: card.Chip{PCIDevice: device, Ports: ports},
		Fixed: &card.Firmware{Loaded: true, VPI: true, GUIDs: [4]uint64{nodeGUID}}})
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{TB: t}
	d.Card = New(w, Config{Name: "card", Model: model, Board: registers.Board{SerialNumber: "AIB1109A0001"},
		Log: log.New(&d.log, "", 0)})
	fd, err := unix.MemfdCreate("guest", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Ftruncate(fd, guestSize); err != nil {
		t.Fatal(err)
	}
	if err := d.bus.Map(0, guestSize, 0, fd); err != nil {
		t.Fatal(err)
	}
	return d
}

// get and set reach a register, put and take the machine's memory.
func (d *driver) get(reg uint32) uint64 {
	b := make([]byte, 8)
	d.ReadRegion(vfiouser.BAR0, uint64(reg), b)
	return le.Uint64(b)
}

func (d *driver) set(reg uint32, v uint64) {
	d.WriteRegion(vfiouser.BAR0, uint64(reg), le.AppendUint64(nil, v))
}

func (d *driver) put(addr uint64, p []byte) {
	d.Helper()
	if err := d.bus.Write(addr, p); err != nil {
		d.Fatal(err)
	}
}

func (d *driver) take(addr uint64, n int) []byte {
	p := make([]byte, n)
	_ = d.bus.Read(addr, p)
	return p
}

// reg is a register of a port.
func reg(port int, r uint32) uint32 { return uint32(portRegs+port*portStride) + r }

// start enables sends and the context of each port, and has it look for a link.
func (d *driver) start() {
	d.set(regIntMask, ^uint64(0))
	d.set(regEntries, entryCount)
	d.set(regEntrySize, entryWords)
	d.set(regAvailAddress, atAvail)
	d.set(regSendControl, sendUpdate)
	d.set(regReceiveControl, 3<<20)
	for i := range kernelBuffers {
		d.set(eagerTable+8*uint32(i), 2<<37|uint64(atEager+i*4096)>>11)
	}
	for i := range d.ports {
		d.set(regHeaderAddress+8*uint32(i), atHeaders+uint64(i)*headersSize)
		d.set(reg(i, portReceiveControl), 1<<39|1<<i)
		page := contextRegs + uint32(i)*contextStride
		d.set(page+ctxEagerHead, d.get(page+ctxEagerTail))
		d.set(page+ctxHead, d.get(page+ctxTail)|16<<32)
		d.set(reg(i, portErrorMask), ^uint64(0))
		d.set(reg(i, portLinkOptions), 7<<2|1<<5) // all speeds, 4X
		d.set(reg(i, portLinkControl), linkEnabled|2<<16)
	}
}

// state is the logical state of a link.
func (d *driver) state(port int) uint64 { return d.get(reg(port, portLinkStatus)) >> 5 & 7 }

// await waits for what a port's training brings.
func (d *driver) await(port int, state uint64) {
	d.Helper()
	for end := time.Now().Add(10 * time.Second); d.state(port) != state; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			d.Fatalf("the link is in state %d", d.state(port))
		}
	}
}

// command changes the state of a link.
func (d *driver) command(port int, command uint64) {
	d.set(reg(port, portLinkControl), linkEnabled|command<<19)
}

// sendBy writes a packet to a send buffer as the driver does, eight bytes at a time.
func (d *driver) sendBy(addr uint32, control uint64, packet []byte) {
	d.set(addr, control|uint64(len(packet)/4+1))
	at := uint64(addr) + controlSize
	for ; len(packet) >= 8; packet, at = packet[8:], at+8 {
		d.WriteRegion(vfiouser.BAR0, at, packet[:8])
	}
	if len(packet) > 0 {
		d.WriteRegion(vfiouser.BAR0, at, packet)
	}
}

// flags are the last words of an entry of a context's header queue.
func (d *driver) flags(port, entry int) (low, high uint32) {
	b := d.take(uint64(atHeaders+port*headersSize+entry*entryWords*4+(entryWords-2)*4), 8)
	return le.Uint32(b), le.Uint32(b[4:])
}

// received is the packet that an entry tells of; with no data if it does not.
func (d *driver) received(port, entry int) *wire.Packet {
	d.Helper()
	low, _ := d.flags(port, entry)
	header := d.take(uint64(atHeaders+port*headersSize+entry*entryWords*4), (entryWords-2)*4)
	all := int(low&0x7ff)*4 - checksum
	k, err := decode(header)
	if err != nil {
		d.Fatal(err)
	}
	h, _ := encode(&wire.Packet{GRH: k.GRH, Opcode: k.Opcode})
	packet := header[:len(h)]
	if low&flagBuffered != 0 {
		n := int(low>>flagBuffer&0xfff) + port*kernelBuffers/len(d.ports)
		packet = append(packet[:len(h):len(h)], d.take(uint64(atEager+n*4096), all-len(h))...)
	}
	if k, err = decode(packet); err != nil {
		d.Fatal(fmt.Errorf("%w: % x", err, packet))
	}
	return k
}
