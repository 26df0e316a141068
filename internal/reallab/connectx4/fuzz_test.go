//go:build linux

package connectx4

import (
	"bytes"
	"sync"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// fuzzedModel is the flash of all cards of the fuzz tests: none of them writes it.
func fuzzedModel(f *testing.F) *card.Card { return newModel(f, image(oldVersion), 0, card.NV{}) }

// FuzzCommands holds that no command of a hostile machine does the card harm, and that it
// answers the next one.
func FuzzCommands(f *testing.F) {
	for op := range handlers {
		f.Add(op, uint16(1), []byte{0, 0, 0, 1, 0, 0, 0, 2}, uint32(16), uint32(16))
		f.Add(op, uint16(0), bytes.Repeat([]byte{0xff}, 0x400), uint32(0x408), uint32(0x200))
	}
	f.Add(uint16(opManagePages), uint16(2), bytes.Repeat([]byte{0xff}, 8), uint32(maxLength), uint32(maxLength))
	f.Add(uint16(opCreateMkey), uint16(0), bytes.Repeat([]byte{0xff}, 0x110), uint32(0xffffffff), uint32(0))
	model := fuzzedModel(f)
	f.Fuzz(func(t *testing.T, op, opMod uint16, in []byte, inLength, outLength uint32) {
		d := newDriver(t, &wire.World{}, model)
		d.pair(d.open(), 2, 0, 0)
		whole := be.AppendUint16(be.AppendUint64(be.AppendUint16(nil, op), 0)[:6], opMod)
		whole = append(whole, in...)
		d.raw(whole, inLength, outLength)
		d.raw(whole, inLength, outLength)
		d.must(opNop, 0, make([]byte, 8), 16)
	})
}

// FuzzRequests holds the same of work requests, doorbells, and registers.
func FuzzRequests(f *testing.F) {
	for op := range operations {
		f.Add(op, byte(3), bytes.Repeat([]byte{0x80, 0, 0x03, 0xff}, 60), uint32(1), uint64(bellSend))
	}
	f.Add(byte(opChangeKey), byte(8), bytes.Repeat([]byte{0xff}, 240), uint32(8), uint64(bellSend))
	f.Add(byte(opSegments), byte(0x3f), bytes.Repeat([]byte{0x01}, 240), uint32(0xffff), uint64(bellArmEQ))
	model := fuzzedModel(f)
	f.Fuzz(func(t *testing.T, op, size byte, rest []byte, posted uint32, bell uint64) {
		d := newDriver(t, &wire.World{}, model)
		q := d.open()
		d.activate(1)
		rings := []*ring{d.pair(q, 0, 0x48, 1), d.pair(q, 2, 0, 0), d.pair(q, serviceRegister, 0, 0), d.accelerate(q).ring}
		names := []uint32{rings[0].number, rings[1].number, rings[2].number, 0x200000}
		w := append([]byte{0, 0, 0, op, 0, 0, 0, size, 0, 0, 0, flagCompleted, 0, 0, 0x10, 0}, rest...)
		for i, r := range rings {
			r.offer(256)
			r.put(r.sendAt, w[:min(len(w), 1<<logSends*blockBytes)])
			r.put32(r.record+recordSend, posted)
			r.WriteRegion(vfiouser.BAR0, firstUAR*pageSize+bellSend, append(make([]byte, 4), be.AppendUint32(nil, names[i]<<8)...))
		}
		for _, n := range []int{4, 8} {
			d.WriteRegion(vfiouser.BAR0, firstUAR*pageSize+bell%pageSize, append(rest, make([]byte, n)...)[:n])
			d.WriteRegion(vfiouser.Config, capVendor+bell%registers.VendorSize, append(rest, make([]byte, n)...)[:n])
		}
		d.must(opNop, 0, make([]byte, 8), 16)
	})
}

// A machine that posts requests without end, while they are done, does not keep the lab
// for itself.
func TestRequests_without_end(t *testing.T) {
	d, _, q, _ := twoCards(t)
	accelerated := d.accelerate(q)
	for _, r := range []struct {
		*ring
		name uint32
	}{{d.pair(q, serviceRegister, 0, 0), 0}, {accelerated.ring, accelerated.sender}} {
		nothing := make([]byte, blockBytes)
		nothing[wqePieces] = 1
		for i := range uint64(1) << logSends {
			r.put(r.sendAt+i*blockBytes, nothing)
		}
		ended := make(chan bool)
		var posting sync.WaitGroup
		posting.Go(func() {
			for n := uint32(1); ; n++ {
				select {
				case <-ended:
					return
				default:
					_ = d.bus.Write(r.record+recordSend, be.AppendUint32(nil, n))
				}
			}
		})
		name := r.number
		if r.name != 0 {
			name = r.name
		}
		d.WriteRegion(vfiouser.BAR0, firstUAR*pageSize+bellSend, append(make([]byte, 4), be.AppendUint32(nil, name<<8)...))
		d.must(opNop, 0, make([]byte, 8), 16)
		close(ended)
		posting.Wait()
	}
}
