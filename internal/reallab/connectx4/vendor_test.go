//go:build linux

package connectx4

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Offsets of the capability, and address spaces behind it.
const (
	vendorControl, vendorCounter, vendorAddress, vendorData = 0x04, 0x08, 0x10, 0x14
	vendorFlag                                              = 1 << 31
	spaceCommandsIn, spaceRegisters, spaceSemaphores        = 0x3, 0x2, 0xa
)

// config reads or writes a word of the vendor's capability.
func (d *driver) vendor(at uint64) uint32 {
	b := make([]byte, 4)
	d.ReadRegion(vfiouser.Config, capVendor+at, b)
	return le.Uint32(b)
}

func (d *driver) setVendor(at uint64, v uint32) {
	d.WriteRegion(vfiouser.Config, capVendor+at, le.AppendUint32(nil, v))
}

// read and write reach a word of a space as tools do.
func (d *driver) read(space, addr uint32) uint32 {
	d.setVendor(vendorControl, space)
	d.setVendor(vendorAddress, addr)
	if d.vendor(vendorAddress)&vendorFlag == 0 {
		d.Fatalf("the read of %#x does not end", addr)
	}
	return d.vendor(vendorData)
}

func (d *driver) write(space, addr, v uint32) {
	d.setVendor(vendorControl, space)
	d.setVendor(vendorData, v)
	d.setVendor(vendorAddress, addr|vendorFlag)
	if d.vendor(vendorAddress)&vendorFlag != 0 {
		d.Fatalf("the write of %#x does not end", addr)
	}
}

// tool has the firmware read or write a register, and gives status and data.
func (d *driver) tool(id, method uint32, body ...uint32) (status uint32, out []uint32) {
	const box = 0x100000
	words := append([]uint32{1<<27 | 4<<16, id<<16 | method<<8 | 1, 0, 0, 3<<27 | uint32(len(body)+1)<<16}, body...)
	for i, v := range words {
		d.write(spaceCommandsIn, box+uint32(4*i), v)
	}
	d.write(spaceCommandsIn, 0, 0x9001<<16|1)
	if v := d.read(spaceCommandsIn, 0); v&1 != 0 || v>>8&0xff != 0 {
		d.Fatalf("control %#x", v)
	}
	for i := range words {
		words[i] = d.read(spaceCommandsIn, box+uint32(4*i))
	}
	return words[0] >> 8 & 0x7f, words[5:]
}

// Tools reach the registers of the chip, and its semaphores, through the capability.
func TestVendor_spaces(t *testing.T) {
	d := newDriver(t, &wire.World{}, newModel(t, image(oldVersion), 0, card.NV{}))
	if v := d.read(spaceRegisters, 0xf0014); v&0xffff != 0x209 {
		t.Errorf("hardware id %#x", v)
	}
	d.setVendor(vendorControl, 0x99)
	if d.vendor(vendorControl)>>29 != 0 {
		t.Error("a space that is not there")
	}
	d.write(spaceSemaphores, 0, 77)
	d.write(spaceSemaphores, 0, 78)
	if v := d.read(spaceSemaphores, 0); v != 77 {
		t.Errorf("the semaphore is %d's", v)
	}
	d.write(spaceSemaphores, 0, 0)
	if v := d.read(spaceSemaphores, 0); v != 0 {
		t.Errorf("the semaphore is still %d's", v)
	}
	if a, b := d.vendor(vendorCounter), d.vendor(vendorCounter); a == b {
		t.Error("two runs of a tool get the same ticket")
	}
}

// A link type that a tool stores is that of the next boot, and can be forgotten.
func TestVendor_link_type(t *testing.T) {
	const (
		group          = 1<<24 | 1<<16 | 0x12
		get, set       = 1, 2
		current        = 1 << 22
		nvda, nvdi, qc = 0x9024, 0x9025, 0x9030
	)
	d := newDriver(t, &wire.World{}, newModel(t, image(oldVersion), 0, card.NV{}))
	if s, out := d.tool(qc, get, group, 0); s != 0 || out[1]&3 != 3 {
		t.Errorf("status %d, %#x", s, out)
	}
	if s, out := d.tool(qc, get, group+1<<16, 0); s != 0 || out[1]&3 != 0 {
		t.Errorf("port 2, which there is not: status %d, %#x", s, out)
	}
	if s, out := d.tool(nvda, get, 256, group, 0, 0); s != 0 || out[3] != card.LinkIB<<2 {
		t.Errorf("never configured: status %d, %#x", s, out)
	}
	if s, _ := d.tool(nvda, set, 4, group, 0, card.LinkETH<<2); s != 0 {
		t.Errorf("set: status %d", s)
	}
	if _, out := d.tool(nvda, get, 256, group, 0, 0); out[3] != card.LinkETH<<2 {
		t.Errorf("next boot: %#x", out)
	}
	if _, out := d.tool(nvda, get, 256|current, group, 0, 0); out[3] != card.LinkIB<<2 || !d.infiniBand() {
		t.Errorf("now: %#x", out)
	}
	d.Reset()
	if d.infiniBand() {
		t.Error("after a reset the port is of InfiniBand")
	}
	if s, _ := d.tool(nvdi, set, 0, group, 0); s != 0 || d.Model.NextNV() != (card.NV{}) {
		t.Errorf("forgotten: status %d, %v", s, d.Model.NextNV())
	}
	if s, _ := d.tool(0x9999, get, 0); s != 4 {
		t.Errorf("a register that there is not: status %d", s)
	}
}

// A card with two ports is two functions: each a node, with a type of its own. They share
// flash, configuration and the semaphores of tools.
func TestCard_two_functions(t *testing.T) {
	const group, set = 1<<24 | 2<<16 | 0x12, 2
	guid := uint64(baseGUID)
	model, err := card.New(card.Config{Chip: card.ConnectX4, Image: image(oldVersion), Functions: 2, GUIDs: [4]uint64{guid},
		MACs: [2]uint64{0xec0d9a76eae0}})
	if err != nil {
		t.Fatal(err)
	}
	w := &wire.World{}
	c := New(w, Config{Name: "card", Model: model})
	first, second := drive(t, w, c.functions[0]), drive(t, w, c.functions[1])
	if c.Ports() != 2 || c.Port(1) == c.Port(2) {
		t.Errorf("%d ports", c.Ports())
	}
	node := func(d *driver) uint64 {
		return be.Uint64(d.must(opHCAVport, 0, make([]byte, 8), 0x210)[vportAt+vportNode:])
	}
	if a, b := node(first), node(second); a != guid || b != guid+1 {
		t.Errorf("nodes %#x and %#x", a, b)
	}
	first.write(spaceSemaphores, 0, 77)
	second.write(spaceSemaphores, 0, 78)
	if v := second.read(spaceSemaphores, 0); v != 77 {
		t.Errorf("the semaphore is %d's", v)
	}
	if s, _ := second.tool(0x9024, set, 4, group, 0, card.LinkETH<<2); s != 0 {
		t.Errorf("set: status %d", s)
	}
	first.Reset()
	if !first.infiniBand() || second.infiniBand() {
		t.Error("the type of the second port alone has changed")
	}
	if _, err := card.New(card.Config{Chip: card.ConnectX4, Image: image(oldVersion), Functions: 3}); err == nil {
		t.Error("a card of three functions is made")
	}
}
