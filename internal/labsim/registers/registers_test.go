package registers

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

func newRegisters(t *testing.T) *Registers {
	t.Helper()
	c, err := card.New(card.Config{Chip: card.ConnectX3Pro, Image: card.OldVPI(), GUIDs: card.BlankGUIDs})
	if err != nil {
		t.Fatal(err)
	}
	r := Of(c)
	r.Reset()
	return r
}

// A guest that writes without end does not take the memory of the lab: neither with a page
// that never ends, nor all over the address space.
func TestRegisters_bounded(t *testing.T) {
	r := newRegisters(t)
	write := func(addr, v uint32) {
		t.Helper()
		if err := r.Write(addr, v); err != nil {
			t.Fatal(err)
		}
	}
	write(regGateway, gwBusy|gwCommand|gwData|gwHold|opPageProgram<<16|4<<8)
	for range 100 {
		write(regGateway, gwBusy|gwData|gwHold|4<<8)
	}
	if len(r.spi.page) > pageSize+gatewayData {
		t.Errorf("a page of %d bytes", len(r.spi.page))
	}
	before := len(r.regs)
	for i := range uint32(100) {
		write(space+i*4096, 1)
	}
	if len(r.regs) != before || r.Read(space) != 0 {
		t.Errorf("%d registers behind the end", len(r.regs)-before)
	}
	write(space-4, 5)
	if r.Read(space-4) != 5 {
		t.Error("the last register keeps nothing")
	}
}

// Burns are counted by what they changed.
func TestRegisters_written(t *testing.T) {
	r := newRegisters(t)
	burn := func(image []byte, guids [4]uint64) {
		t.Helper()
		c, err := card.New(card.Config{Chip: card.ConnectX3Pro, Image: image, GUIDs: guids})
		if err != nil {
			t.Fatal(err)
		}
		r.card.Flash = c.Flash
		r.noteBurn(0)
	}
	burn(card.VPI(), card.BlankGUIDs)
	burn(card.VPI(), card.GUIDsFromBase(0x100))
	burn(card.VPI(), card.GUIDsFromBase(0x100))
	if images, guids := r.Written(); images != 2 || guids != 1 {
		t.Errorf("%d images, %d changes of GUIDs", images, guids)
	}
}
