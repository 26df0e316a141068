//go:build linux

package connectx4

import (
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// A queue keeps the pages that it needs of the list that a driver gives, and all queues of a
// function together keep so many.
func TestObjects_lists_of_pages(t *testing.T) {
	d := newDriver(t, &wire.World{}, newModel(t, image(oldVersion), 0, card.NV{}))
	const long = 2000
	create := func(op uint16, fill func([]byte)) []byte {
		return d.command(op, 0, input(make([]uint64, long), fill), 16)
	}
	cq := func(log byte) func([]byte) { return func(in []byte) { in[contextAt+queueLog] = log } }
	for _, c := range []struct {
		op, drop uint16
		want     int
		fill     func([]byte)
	}{
		{opCreateEQ, opDestroyEQ, 3, cq(7)},
		{opCreateCQ, opDestroyCQ, 3, cq(7)},
		{opCreateCQ, opDestroyCQ, 1, func(in []byte) { cq(5)(in); in[contextAt+queuePage] = 4 }},
		{opCreateQP, opDestroyQP, 4, func(in []byte) {
			in[qpContextAt+ctxReceive], in[qpContextAt+ctxSend] = 6<<3|3, 6<<3 // 64 of 128 and of 64 bytes
		}},
		{opCreateRQ, opDestroyRQ, 3, func(in []byte) { in[rawAt+wqStride], in[rawAt+wqSize] = 6, 7 }},
		{opCreateRMP, opDestroyRMP, 3, func(in []byte) { in[rawAt+wqStride], in[rawAt+wqSize] = 6, 7 }},
		{opCreateSQ, opDestroySQ, 3, func(in []byte) { in[rawAt+wqSize] = 7 }},
	} {
		out := create(c.op, c.fill)
		if out[0] != ok || int(*d.hca.lists) != c.want {
			t.Errorf("command %#x: status %#x, %d pages kept, want %d", c.op, out[0], *d.hca.lists, c.want)
		}
		d.must(c.drop, 0, out[8:16], 16)
		if *d.hca.lists != 0 {
			t.Errorf("command %#x leaves %d pages", c.drop, *d.hca.lists)
		}
	}
	*d.hca.lists = maxListed - 5
	number := d.made(opCreateCQ, input(make([]uint64, long), cq(7)))
	if out := create(opCreateCQ, cq(7)); out[0] != limitReached {
		t.Errorf("more than the bound: status %#x", out[0])
	}
	resize := func(log byte) []byte {
		return d.command(opModifyCQ, 1, input(make([]uint64, long), func(in []byte) {
			be.PutUint32(in[8:], number)
			cq(log)(in)
		}), 16)
	}
	if out := resize(10); out[0] != limitReached {
		t.Errorf("a queue that grows beyond it: status %#x", out[0])
	}
	if out := resize(5); out[0] != ok || *d.hca.lists != maxListed-4 {
		t.Errorf("a queue that shrinks: status %#x, %d pages", out[0], *d.hca.lists)
	}
}

// Groups and entries of flow tables are bounded for a function, however many tables it has.
func TestFlows_bounded(t *testing.T) {
	d := newDriver(t, &wire.World{}, newModel(t, image(oldVersion), 0, card.NV{}))
	table := func() []byte { return d.must(opCreateFlows, 0, make([]byte, 0x40), 16)[8:12] }
	first, second := table(), table()
	of := func(table []byte, at int, index uint32) []byte {
		in := make([]byte, flowList+0x40)
		copy(in[flowTableID:], table)
		be.PutUint32(in[at:], index)
		return in[8:]
	}
	d.must(opCreateGroup, 0, of(first, groupFirst, 0), 16)
	d.must(opCreateGroup, 0, of(first, groupFirst, 0), 16)
	d.must(opSetFlow, 0, of(first, flowIndex, 1), 16)
	d.must(opSetFlow, 0, of(first, flowIndex, 1), 16)
	if d.hca.flowGroups != 1 || d.hca.flows != 1 {
		t.Fatalf("%d groups, %d entries", d.hca.flowGroups, d.hca.flows)
	}
	d.must(opCreateGroup, 0, of(second, groupFirst, 0), 16)
	d.hca.flowGroups, d.hca.flows = maxFlowGroups, maxFlows
	if out := d.command(opCreateGroup, 0, of(second, groupFirst, 8), 16); out[0] != limitReached {
		t.Errorf("another group: status %#x", out[0])
	}
	if out := d.command(opSetFlow, 0, of(second, flowIndex, 8), 16); out[0] != limitReached {
		t.Errorf("another entry: status %#x", out[0])
	}
	d.must(opDropFlow, 0, of(first, flowIndex, 1), 16)
	d.must(opDestroyGroup, 0, of(first, flowTableID+4, 0), 16)
	d.must(opDestroyFlows, 0, of(second, 0, 0), 16)
	if d.hca.flowGroups != maxFlowGroups-2 || d.hca.flows != maxFlows-1 {
		t.Errorf("%d groups, %d entries", d.hca.flowGroups, d.hca.flows)
	}
}

// A packet is compared with so many entries, although a table may name itself as the next.
func TestFlows_compared(t *testing.T) {
	t1 := &flowTable{miss: 1, flows: map[uint32]*flow{}}
	h := &hca{tables: newObjects[*flowTable](1, lastNumber, new(budget))}
	h.tables.all[1] = t1
	no := &flow{mask: []byte{0xff}, value: []byte{1}}
	for i := range uint32(maxCompared) {
		t1.flows[i], t1.indices = no, append(t1.indices, i)
	}
	last := uint32(maxCompared - 1)
	t1.flows[last] = &flow{mask: []byte{0xff}, value: []byte{0}, destinations: []destination{{destinationTIR, 5}}}
	if tir, found := h.follow(1, &headers{}); !found || tir != 5 {
		t.Errorf("the last one that is compared: %v, %d", found, tir)
	}
	t1.flows[last], t1.flows[last+1], t1.indices = no, t1.flows[last], append(t1.indices, last+1)
	if _, found := h.follow(1, &headers{}); found {
		t.Error("one more is compared")
	}
}

// A driver that takes a queue pair into the error state again and again gets one timer.
func TestQueuePair_flushes_once(t *testing.T) {
	d, _, q, _ := twoCards(t)
	r := d.pair(q, 0, 0x48, 2)
	pair := d.hca.qps.at(r.number)
	in := append(be.AppendUint32(nil, r.number), 0, 0, 0, 0)
	d.world.Do(pair.Fail) // by the other end
	begin := time.Now()
	for range 20 {
		d.must(opToError, 0, in, 16)
	}
	time.Sleep(3 * flushPause)
	d.world.Do(func() {
		tries, most := flushTries-pair.flushes, 1+int(time.Since(begin)/flushPause)
		if !pair.flushing || tries > most {
			t.Errorf("flushing %v, %d tries, at most %d", pair.flushing, tries, most)
		}
	})
	d.must(opToReset, 0, in, 16)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(flushPause) {
		var flushing bool
		d.world.Do(func() { flushing = pair.flushing })
		if !flushing {
			return
		}
		if time.Now().After(end) {
			t.Fatal("flushes in reset")
		}
	}
}
