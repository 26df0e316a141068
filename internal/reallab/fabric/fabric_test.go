package fabric

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// card is a card with one port that keeps what comes in.
type card struct {
	port   *HCAPort
	got    []*wire.Packet
	states []bool
}

func (c *card) StateChanged(_ int, active bool) { c.states = append(c.states, active) }
func (c *card) Deliver(_ int, k *wire.Packet)   { c.got = append(c.got, k) }

func newCard(w *wire.World, guid uint64) *card {
	c := &card{}
	c.port = NewHCAPorts(w, 1, c)[0]
	w.Do(func() {
		c.port.Reset(Node{Description: "a card", GUID: guid, System: guid + 3, Ports: 1, Device: 0x1007}, guid+1)
		c.port.Enable(true)
	})
	return c
}

// take gives the last packet and forgets all.
func (c *card) take(t *testing.T) mad {
	t.Helper()
	if len(c.got) == 0 {
		t.Fatal("nothing came back")
	}
	m := mad(c.got[len(c.got)-1].Payload)
	c.got = nil
	return m
}

// newMAD is a request; path is a directed route, without its first entry.
func newMAD(method byte, attribute uint16, modifier uint32, path ...byte) mad {
	m := make(mad, MADSize)
	m[0], m[1], m[2], m[3] = 1, classDirected, 1, method
	m[7] = byte(len(path))
	be.PutUint16(m[16:], attribute)
	be.PutUint32(m[20:], modifier)
	be.PutUint16(m[32:], wire.Permissive)
	be.PutUint16(m[34:], wire.Permissive)
	copy(m.initialPath()[1:], path)
	return m
}

// send sends a directed-route datagram as a host does: its first hop is the host's own. It
// comes from a LID, as one of ib_qib does.
func (c *card) send(w *wire.World, m mad) {
	m[6]++
	w.Do(func() {
		c.port.Send(&wire.Packet{SLID: 7, DLID: wire.Permissive, Opcode: wire.UDSend, Payload: m})
	})
}

// reply answers the directed datagram that came last, as a host and its firmware do: to the
// LID that it came from.
func (c *card) reply(t *testing.T, w *wire.World) {
	t.Helper()
	var source uint16
	if len(c.got) > 0 {
		source = c.got[len(c.got)-1].SLID
	}
	m := c.take(t)
	m = append(mad(nil), m...)
	m.returnPath()[m[6]] = 1
	out, _ := c.port.MAD(m, 0, true)
	mad(out).setStatus(directionBit)
	w.Do(func() {
		c.port.Send(&wire.Packet{SLID: wire.Permissive, DLID: source, Opcode: wire.UDSend, Payload: out})
	})
}

// lab is two cards behind two switches in a row.
func lab(t *testing.T) (*wire.World, []*card, []*Switch, []*wire.Cable) {
	t.Helper()
	w := &wire.World{}
	cards := []*card{newCard(w, 0x100), newCard(w, 0x200)}
	switches := []*Switch{NewSwitch(w, "first", 0x10, 4), NewSwitch(w, "second", 0x20, 4)}
	return w, cards, switches, []*wire.Cable{
		wire.Connect(cards[0].port.Wire(), switches[0].Port(1)),
		wire.Connect(switches[0].Port(2), switches[1].Port(3)),
		wire.Connect(switches[1].Port(4), cards[1].port.Wire()),
	}
}

// A datagram finds its way over two switches and back, by a directed route.
func TestSwitch_directed(t *testing.T) {
	w, cards, _, _ := lab(t)
	for _, tt := range []struct {
		path []byte
		kind byte
		guid uint64
		in   byte
	}{{[]byte{1}, 2, 0x10, 1}, {[]byte{1, 2}, 2, 0x20, 3}} {
		cards[0].send(w, newMAD(methodGet, attrNodeInfo, 0, tt.path...))
		d := cards[0].take(t).data()
		if d[2] != tt.kind || be.Uint64(d[4:]) != tt.guid || d[36] != tt.in {
			t.Errorf("path %v: type %d GUID %#x port %d", tt.path, d[2], be.Uint64(d[4:]), d[36])
		}
	}
	cards[0].send(w, newMAD(methodGet, attrNodeInfo, 0, 1, 2, 4))
	cards[1].reply(t, w)
	if d := cards[0].take(t).data(); d[2] != 1 || be.Uint64(d[12:]) != 0x200 || be.Uint64(d[20:]) != 0x201 {
		t.Errorf("the far card: % x", d[:40])
	}
}

// set sends a Set along a path and holds that it succeeded.
func set(t *testing.T, w *wire.World, c *card, attribute uint16, modifier uint32, data []byte, path ...byte) {
	t.Helper()
	m := newMAD(methodSet, attribute, modifier, path...)
	copy(m.data(), data)
	c.send(w, m)
	if status := be.Uint16(c.take(t)[4:]) &^ directionBit; status != 0 {
		t.Fatalf("attribute %#x: status %#x", attribute, status)
	}
}

// state sets logical states, as opensm does.
func state(lid uint16, logical byte) []byte {
	d := make([]byte, 64)
	be.PutUint16(d[atLID:], lid)
	be.PutUint16(d[atMasterLID:], 1)
	d[atState] = logical
	return d
}

// activate brings the way from one card to the other up.
func activate(t *testing.T, w *wire.World, cards []*card) {
	t.Helper()
	for _, s := range []byte{0, Armed, Active} {
		for i, c := range cards {
			m := newMAD(methodSet, attrPortInfo, 1)
			copy(m.data(), state(uint16(i+1), s))
			w.Do(func() { c.port.MAD(m, 0, true) })
		}
		for _, p := range []struct {
			modifier uint32
			path     []byte
		}{{1, []byte{1}}, {2, []byte{1}}, {3, []byte{1, 2}}, {4, []byte{1, 2}}} {
			set(t, w, cards[0], attrPortInfo, p.modifier, state(0, s), p.path...)
		}
	}
	for i, path := range [][]byte{{1}, {1, 2}} {
		set(t, w, cards[0], attrPortInfo, 0, state(uint16(10+i), 0), path...)
		block := make([]byte, 64)
		copy(block, []byte{noPort, []byte{1, 3}[i], []byte{2, 4}[i]})
		block[10], block[11] = []byte{0, 3}[i], []byte{2, 0}[i]
		set(t, w, cards[0], attrLinear, 0, block, path...)
		top := make([]byte, 64)
		top[7] = 11
		set(t, w, cards[0], attrSwitchInfo, 0, top, path...)
	}
}

// Packets pass by LID when the tables say so, in the partitions of their ports, and to
// the members of a group.
func TestSwitch_forwards(t *testing.T) {
	w, cards, _, _ := lab(t)
	data := func(dlid, key uint16) {
		w.Do(func() {
			cards[0].port.Send(&wire.Packet{SLID: 1, DLID: dlid, DestQP: 5, PKey: key, Opcode: wire.UDSend, Payload: make([]byte, 8)})
		})
	}
	data(2, 0xffff)
	if len(cards[1].got) != 0 {
		t.Error("a packet passed before the ports were active")
	}
	activate(t, w, cards)
	if !slices.Equal(cards[1].states, []bool{true}) || cards[1].port.LID() != 2 {
		t.Errorf("states %v, LID %d", cards[1].states, cards[1].port.LID())
	}
	data(2, 0xffff)
	if len(cards[1].got) != 1 {
		t.Fatalf("%d packets", len(cards[1].got))
	}
	group := make([]byte, 64)
	be.PutUint16(group[2:], 1<<2)
	set(t, w, cards[0], attrMulticast, 0, group, 1)
	be.PutUint16(group[2:], 1<<4)
	set(t, w, cards[0], attrMulticast, 0, group, 1, 2)
	cards[1].got = nil
	data(0xc001, 0xffff)
	data(0xc002, 0xffff)
	if len(cards[1].got) != 1 {
		t.Errorf("%d packets of a group", len(cards[1].got))
	}
	enforce := state(0, 0)
	enforce[atOperational] = 4<<4 | 1<<3
	set(t, w, cards[0], attrPortInfo, 1, enforce, 1)
	cards[1].got = nil
	data(2, 0x8001)
	data(2, 0xffff)
	if len(cards[1].got) != 1 {
		t.Errorf("%d packets past a port that enforces its P_Keys", len(cards[1].got))
	}
}

// A limited member sends with a P_Key without the bit of full members, and so does the port of
// its switch know it. Full members of the partition receive that, limited ones do not.
func TestSwitch_limited_members(t *testing.T) {
	const limited, full = 0x0001, 0x8001
	w, cards, _, _ := lab(t)
	activate(t, w, cards)
	enforce := state(0, 0)
	enforce[atOperational] = 4<<4 | 1<<inbound | 1<<outbound
	keys := func(port uint32, key uint16, path ...byte) {
		table := make([]byte, 64)
		be.PutUint16(table, key)
		set(t, w, cards[0], attrPortInfo, port, enforce, path...)
		set(t, w, cards[0], attrPKeyTable, port<<16, table, path...)
	}
	for _, tt := range []struct {
		from, sent, to uint16
		passes         bool
	}{
		{limited, limited, full, true},
		{limited, limited, limited, false},
		{full, full, limited, true},
		{full, full, full, true},
		{limited, 0x0002, full, false},
	} {
		keys(1, tt.from, 1)
		keys(4, tt.to, 1, 2)
		cards[1].got = nil
		w.Do(func() {
			cards[0].port.Send(&wire.Packet{SLID: 1, DLID: 2, DestQP: 5, PKey: tt.sent, Opcode: wire.UDSend, Payload: make([]byte, 8)})
		})
		if (len(cards[1].got) == 1) != tt.passes {
			t.Errorf("from %#x with %#x to %#x: %d packets", tt.from, tt.sent, tt.to, len(cards[1].got))
		}
	}
	// The switch answers with its own P_Key.
	keys(1, limited, 1)
	table := make([]byte, 64)
	be.PutUint16(table, full)
	set(t, w, cards[0], attrPKeyTable, 0, table, 1)
	m := newMAD(methodGet, 1, 0)
	m[1] = classPerformance
	w.Do(func() {
		cards[0].port.Send(&wire.Packet{SLID: 1, DLID: 10, DestQP: 1, SrcQP: 1, PKey: limited, Opcode: wire.UDSend, Payload: m})
	})
	if len(cards[0].got) != 1 || cards[0].got[0].PKey != full {
		t.Errorf("%d answers of the switch", len(cards[0].got))
	}
}

// A group that the table does not reach goes to the default ports, and a LID beyond the top
// nowhere.
func TestSwitch_tops(t *testing.T) {
	w, cards, switches, _ := lab(t)
	activate(t, w, cards)
	info := make([]byte, 64)
	info[7], info[9], info[10] = 11, 4, 1
	be.PutUint16(info[18:], 0xc000)
	set(t, w, cards[0], attrSwitchInfo, 0, info, 1, 2)
	switches[0].multicast[1][0] = 1 << 2
	switches[0].linear[11], switches[0].linear[12] = 2, 2
	switches[1].linear[11], switches[1].linear[12] = 4, 4
	info = make([]byte, 64)
	info[7] = 12
	set(t, w, cards[0], attrSwitchInfo, 0, info, 1)
	for _, tt := range []struct {
		lid  uint16
		want int
	}{{0xc001, 1}, {0xc000, 0}, {12, 0}} {
		cards[1].got = nil
		w.Do(func() {
			cards[0].port.Send(&wire.Packet{SLID: 1, DLID: tt.lid, DestQP: 5, PKey: 0xffff, Opcode: wire.UDSend})
		})
		if len(cards[1].got) != tt.want {
			t.Errorf("LID %#x: %d packets", tt.lid, len(cards[1].got))
		}
	}
	if n := switches[1].ports[3].counters.RelayErrors; n != 1 {
		t.Errorf("%d relay errors", n)
	}
}

// A trap that nobody represses is sent again; one that is, is not.
func TestSwitch_traps(t *testing.T) {
	w, cards, switches, cables := lab(t)
	activate(t, w, cards)
	cards[0].got = nil
	traps := func(wait time.Duration) (all []mad) {
		time.Sleep(wait)
		w.Do(func() {
			for _, k := range cards[0].got {
				all = append(all, mad(k.Payload))
			}
			cards[0].got = nil
		})
		return all
	}
	cables[2].Pull()
	first := traps(0)
	if len(first) != 1 {
		t.Fatalf("%d traps", len(first))
	}
	again := traps(700 * time.Millisecond)
	if len(again) != 1 || !bytes.Equal(again[0], first[0]) {
		t.Fatalf("again: %d traps", len(again))
	}
	stop := append(mad(nil), first[0]...)
	stop[3] = methodStop
	w.Do(func() {
		cards[0].port.Send(&wire.Packet{SLID: 1, DLID: 11, Opcode: wire.UDSend, Payload: stop})
	})
	if more := traps(700 * time.Millisecond); len(more) != 0 || len(switches[1].notify.open) != 0 {
		t.Errorf("after it was repressed: %d traps", len(more))
	}
}

// A packet that is longer than the link carries, or whose service level has no virtual
// lane, is discarded.
func TestSwitch_discards(t *testing.T) {
	w, cards, switches, _ := lab(t)
	activate(t, w, cards)
	send := func(k wire.Packet) int {
		cards[1].got = nil
		k.SLID, k.DLID, k.DestQP, k.PKey, k.Opcode = 1, 2, 5, 0xffff, wire.UDSend
		w.Do(func() { cards[0].port.Send(&k) })
		return len(cards[1].got)
	}
	lane := make([]byte, 64)
	lane[1] = 0x0f // service level 3
	set(t, w, cards[0], attrSLToVL, 3<<8|4, lane, 1, 2)
	if send(wire.Packet{SL: 2}) != 1 || send(wire.Packet{SL: 3}) != 0 {
		t.Error("SLtoVL does not count")
	}
	switches[1].ports[4].info[atMTU] = 4 << 4
	if send(wire.Packet{Payload: make([]byte, 2048)}) != 1 || send(wire.Packet{Payload: make([]byte, 2049)}) != 0 {
		t.Error("the MTU does not count")
	}
	if n := switches[1].ports[4].counters.XmitDiscards; n != 2 {
		t.Errorf("%d discards", n)
	}
}

// A cable that is pulled takes the link down at both ends, and the switch tells the
// subnet manager.
func TestSwitch_cable(t *testing.T) {
	w, cards, switches, cables := lab(t)
	activate(t, w, cards)
	cards[0].got = nil
	cables[2].Pull()
	trap := cards[0].take(t)
	if trap.method() != methodTrap || be.Uint16(trap.data()[4:]) != 128 || be.Uint16(trap.data()[10:]) != 11 {
		t.Errorf("trap % x", trap[:80])
	}
	if cards[1].port.State() != Down || switches[1].ports[4].state != Down || !slices.Equal(cards[1].states, []bool{true, false}) {
		t.Errorf("states %d, %d, %v", cards[1].port.State(), switches[1].ports[4].state, cards[1].states)
	}
	cables[2].Plug()
	if cards[1].port.State() != Init || switches[1].info[11]&portStateChange == 0 {
		t.Errorf("state %d", cards[1].port.State())
	}
}

// A link agrees on what both ends and the cable can do.
func TestPort_speeds(t *testing.T) {
	_, cards, _, cables := lab(t)
	active := func() [3]byte {
		i := cards[0].port.portInfo()
		return [3]byte{i[atWidthActive], i[atSpeed] >> 4, i[atExtended] >> 4}
	}
	if got := active(); got != [3]byte{2, 4, 1} {
		t.Errorf("4X FDR: %v", got)
	}
	cables[0].Degrade(1, wire.Speeds{Basic: 3})
	if got := active(); got != [3]byte{1, 2, 0} {
		t.Errorf("1X DDR: %v", got)
	}
}

// A port that management disables stays down until management enables it.
func TestPort_disabled(t *testing.T) {
	w, cards, _, _ := lab(t)
	physical := func(p byte) byte {
		m := newMAD(methodSet, attrPortInfo, 1)
		copy(m.data(), state(0, 0))
		m.data()[atPhysical] = p << 4
		var out []byte
		w.Do(func() { out, _ = cards[0].port.MAD(m, 0, true) })
		return mad(out).data()[atPhysical] >> 4
	}
	if got := physical(disabled); got != disabled || cards[0].port.State() != Down {
		t.Errorf("disabled: physical state %d, state %d", got, cards[0].port.State())
	}
	w.Do(func() { cards[0].port.Enable(true) })
	if cards[0].port.State() != Down {
		t.Error("the driver switched a disabled port on")
	}
	if got := physical(polling); got != linkUp {
		t.Errorf("enabled: physical state %d", got)
	}
}

// A question about a port that the card has not is refused. The port of arrival is 0.
func TestPort_asked_for(t *testing.T) {
	w, cards, _, _ := lab(t)
	for _, attribute := range []uint16{attrPortInfo, attrExtendedInfo} {
		for port, want := range map[uint32]uint16{0: 0, 1: 0, 2: statusValue, 7: statusValue} {
			m := newMAD(methodGet, attribute, port)
			be.PutUint16(m[4:], directionBit)
			var out []byte
			w.Do(func() { out, _ = cards[0].port.MAD(m, 0, true) })
			if got := be.Uint16(out[4:]); got != want|directionBit {
				t.Errorf("attribute %#x, port %d: status %#x", attribute, port, got)
			}
		}
	}
}

func TestPort_wrong_key(t *testing.T) {
	w, cards, _, _ := lab(t)
	m := newMAD(methodSet, attrPortInfo, 1)
	be.PutUint64(m.data(), 0x1234)
	w.Do(func() { cards[0].port.MAD(m, 0, false) })
	var answered bool
	w.Do(func() { _, answered = cards[0].port.MAD(m, 0, false) })
	if answered || be.Uint16(cards[0].port.info[atKeyViolations:]) != 1 {
		t.Error("a Set without the M_Key was answered")
	}
	be.PutUint64(m[24:], 0x1234)
	w.Do(func() { _, answered = cards[0].port.MAD(m, 0, false) })
	if !answered {
		t.Error("a Set with the M_Key was not answered")
	}
}

func TestPerformance(t *testing.T) {
	w, cards, _, _ := lab(t)
	activate(t, w, cards)
	ask := func(method byte, attribute uint16, mask uint16) mad {
		m := newMAD(method, attribute, 0)
		m[1], m[65] = classPerformance, 1
		be.PutUint16(m[66:], mask)
		out, _ := cards[0].port.MAD(m, 0, true)
		return out
	}
	before := be.Uint64(ask(methodGet, attrExtended, 0)[64+24:])
	w.Do(func() {
		cards[0].port.Send(&wire.Packet{SLID: 1, DLID: 2, DestQP: 5, PKey: 0xffff, Opcode: wire.UDSend, Payload: make([]byte, 100)})
	})
	if after := be.Uint64(ask(methodGet, attrExtended, 0)[64+24:]); after != before+1 {
		t.Errorf("packets sent: %d, then %d", before, after)
	}
	if n := be.Uint32(ask(methodGet, attrCounters, 0)[64+32:]); n == 0 {
		t.Error("PortCounters has no packets")
	}
	ask(methodSet, attrCounters, 0xffff)
	if n := be.Uint32(ask(methodGet, attrCounters, 0)[64+32:]); n != 0 {
		t.Errorf("%d packets after a reset", n)
	}
}

// Tables that send a packet in a circle do not keep it for ever.
func TestSwitch_circle(t *testing.T) {
	w, cards, switches, _ := lab(t)
	activate(t, w, cards)
	ring := wire.Connect(switches[0].Port(3), switches[1].Port(1))
	defer ring.Pull()
	switches[0].linear[7], switches[1].linear[7] = 2, 1
	switches[0].ports[3].state, switches[1].ports[1].state = Active, Active
	w.Do(func() {
		cards[0].port.Send(&wire.Packet{SLID: 1, DLID: 7, DestQP: 5, PKey: 0xffff, Opcode: wire.UDSend, Payload: make([]byte, 8)})
	})
	if n := switches[1].ports[3].counters.ReceivePackets; n < 10 || n > 2*wire.MaxHops {
		t.Errorf("%d packets", n)
	}
}

// FuzzMAD holds that no datagram does harm, and that each answer is one.
func FuzzMAD(f *testing.F) {
	f.Add([]byte(newMAD(methodGet, attrNodeInfo, 0, 1, 2)))
	f.Add([]byte(newMAD(methodSet, attrArbitration, 0xffffffff)))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := make([]byte, MADSize)
		copy(m, b)
		w := &wire.World{}
		c, s := newCard(w, 0x100), NewSwitch(w, "s", 0x10, 4)
		wire.Connect(c.port.Wire(), s.Port(1))
		w.Do(func() {
			if out, ok := c.port.MAD(m, 0, true); ok && len(out) != MADSize {
				t.Errorf("%d bytes", len(out))
			}
			for _, lid := range []uint16{wire.Permissive, 0, 0xc001} {
				c.port.Send(&wire.Packet{SLID: 1, DLID: lid, Opcode: wire.UDSend, Payload: m})
			}
		})
	})
}
