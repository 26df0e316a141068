//go:build linux

package umad

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

func TestSegments_are_assembled(t *testing.T) {
	for _, size := range []int{1, segmentData, segmentData + 1, 313*segmentData - 7} {
		whole := make(mad, dataAt+size)
		for i := range whole {
			whole[i] = byte(i * 7)
		}
		list := newMAD(whole).segments(whole)
		if want := (size + segmentData - 1) / segmentData; len(list) != want {
			t.Errorf("%d bytes in %d segments, expected %d", size, len(list), want)
		}
		last := list[len(list)-1]
		if list[0][atFlags]&(flagActive|flagFirst) != flagActive|flagFirst || last[atFlags]&flagLast == 0 ||
			int(binary.BigEndian.Uint32(last[atSegment:])) != len(list) {
			t.Errorf("%d bytes: flags %x to %x, last segment %x", size, list[0][atFlags], last[atFlags],
				last[atSegment:atPayload])
		}
		if got := assemble(list); !bytes.Equal(got[dataAt:], whole[dataAt:]) {
			t.Errorf("%d bytes became %d", size, len(got)-dataAt)
		}
	}
}

// newHCA is an adapter whose first port is on.
func newHCA(w *wire.World, node uint64) *HCA {
	h := New(w, 2)
	h.Boot(fabric.Node{Description: fmt.Sprintf("node %x", node), GUID: node, System: node + 3, Ports: 2, Device: 0x1003},
		[]uint64{node + 1, node + 2})
	h.Port(1).Enable(true)
	return h
}

// pair is two adapters on one switch.
func pair(w *wire.World) (one, other *HCA, cable *wire.Cable) {
	one, other = newHCA(w, 0x10), newHCA(w, 0x20)
	s := fabric.NewSwitch(w, "a switch", 0x30, 8)
	wire.Connect(one.Port(1).Wire(), s.Port(1))
	return one, other, wire.Connect(other.Port(1).Wire(), s.Port(2))
}

// A port shows what its fabric says, loses it with its cable, and gets it back.
func TestPort_follows_the_fabric(t *testing.T) {
	_, h, cable := pair(&wire.World{})
	expect := func(when, want string) {
		t.Helper()
		if p := h.Port(1).Info(); fmt.Sprintf("%d %d %x", p.State(), p.Physical(), p.CapMask()&isSM) != want {
			t.Errorf("%s: %d %d %x", when, p.State(), p.Physical(), p.CapMask()&isSM)
		}
	}
	expect("plugged in", "2 5 0")
	cable.Pull()
	expect("pulled out", "1 2 0")
	cable.Plug()
	if err := h.Port(1).Manage(); err != nil {
		t.Fatal(err)
	}
	expect("managed", "2 5 2")
	h.Boot(fabric.Node{GUID: 0x20, Ports: 2}, []uint64{0x21, 0x22})
	expect("after a reset", "1 2 2")
	h.Port(1).Unmanage()
	expect("left", "1 2 0")
	if key := h.Port(1).PKey(0); key != 0xffff {
		t.Errorf("P_Key %x", key)
	}
}

// program is one that has a file open and is registered.
type program struct {
	t    *testing.T
	file *File
	id   uint32
}

// open registers a program for a class and, if there are such, for requests of methods.
func open(t *testing.T, p *Port, class byte, methods ...byte) program {
	t.Helper()
	f := p.Open()
	t.Cleanup(f.Close)
	b := make([]byte, regSize)
	b[20], b[21], b[22] = 1, class, 1
	if class == classDirected || class == classLID {
		b[20] = 0
	}
	for _, m := range methods {
		b[4+m/8] |= 1 << (m % 8)
	}
	out := make([]byte, regSize)
	if errno := f.Ioctl(ioctlRegister, b, out); errno != 0 {
		t.Fatal(errno)
	}
	return program{t, f, binary.NativeEndian.Uint32(out)}
}

// ask sends a Get along a route and returns what comes back, with its status.
func (p program) ask(class byte, attribute uint16, lid uint16, route ...byte) (mad, uint32) {
	p.t.Helper()
	p.send(class, attribute, lid, route...)
	return p.read()
}

// send sends a Get along a route, which is to be answered within 50 ms.
func (p program) send(class byte, attribute uint16, lid uint16, route ...byte) {
	p.t.Helper()
	b := make([]byte, headerSize+fabric.MADSize)
	binary.NativeEndian.PutUint32(b[atAgent:], p.id)
	binary.NativeEndian.PutUint32(b[atTimeout:], 50)
	binary.BigEndian.PutUint16(b[atLID:], lid)
	m := mad(b[headerSize:])
	copy(m, []byte{1, class, 1, methodGet})
	m[atHops] = byte(len(route))
	binary.BigEndian.PutUint32(m[atTransaction+4:], 7)
	binary.BigEndian.PutUint16(m[atAttribute:], attribute)
	copy(m[32:], []byte{0xff, 0xff, 0xff, 0xff})
	copy(m[atWay+1:], route)
	if errno := p.file.Write(b); errno != 0 {
		p.t.Fatal(errno)
	}
}

func (p program) read() (mad, uint32) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Second)
	defer cancel()
	b, errno := p.file.Read(ctx, 4096)
	if errno != 0 {
		p.t.Fatal(errno)
	}
	return mad(b[headerSize:]), binary.NativeEndian.Uint32(b[atResult:])
}

// A directed route ends at the own port, at the switch and at the other adapter, and
// one that leaves by another port or ends in the air is not answered.
func TestFile_directed_routes(t *testing.T) {
	one, _, _ := pair(&wire.World{})
	p := open(t, one.Port(1), classDirected)
	for _, c := range []struct {
		route []byte
		want  string
	}{{nil, "node 10"}, {[]byte{1}, "a switch"}, {[]byte{1, 2}, "node 20"}, {[]byte{1, 1}, "node 10"}} {
		m, status := p.ask(classDirected, attrDescription, wire.Permissive, c.route...)
		if status != 0 || !bytes.HasPrefix(m[atData:], []byte(c.want+"\x00")) || !m.isReturning() || m.transaction() != 1<<32|7 {
			t.Errorf("%v: status %d, % x", c.route, status, m)
		}
	}
	for _, route := range [][]byte{{2}, {1, 3}, {1, 2, 1}} {
		if m, status := p.ask(classDirected, attrDescription, wire.Permissive, route...); status != statusTimedOut || len(m) != answered {
			t.Errorf("%v: status %d, % x", route, status, m)
		}
	}
}

// What the firmware leaves to programs goes to the one that wants it, here and there,
// and its answer finds the way back. Where there is none the other kernel says so, and
// the own one nothing.
func TestFile_requests_of_others(t *testing.T) {
	one, other, _ := pair(&wire.World{})
	asks := open(t, one.Port(1), classDirected)
	m, status := asks.ask(classDirected, attrSMInfo, wire.Permissive, 1, 2)
	if status != 0 || m[atStatus+1] != unsupportedAttribute {
		t.Errorf("without a subnet manager there: status %d, % x", status, m[:24])
	}
	asks.send(classDirected, attrSMInfo, wire.Permissive)
	if b, errno := asks.file.Read(t.Context(), 4096); errno != syscall.ETIMEDOUT {
		t.Errorf("without one here the kernel says nothing, and the wait ends: %v, % x", errno, b)
	}
	for i, h := range []*HCA{other, one} {
		manager := open(t, h.Port(1), classDirected, methodGet)
		go func() {
			request, _ := manager.read()
			reply := make([]byte, headerSize, headerSize+fabric.MADSize)
			binary.NativeEndian.PutUint32(reply[atAgent:], manager.id)
			copy(reply[atLID:], []byte{0xff, 0xff})
			request[atMethod] |= methodResponse
			request[atStatus] |= returning
			request[atData] = 0x42
			if errno := manager.file.Write(append(reply, request...)); errno != 0 {
				t.Error(errno)
			}
		}()
		route := []byte{1, 2}[:2-2*i]
		if m, status := asks.ask(classDirected, attrSMInfo, wire.Permissive, route...); status != 0 || m[atData] != 0x42 {
			t.Errorf("with a subnet manager at %v: status %d, % x", route, status, m)
		}
	}
}

// By LID a port reaches itself without a cable, and nobody reaches a LID that there is not.
func TestFile_LIDs(t *testing.T) {
	h := newHCA(&wire.World{}, 0x10)
	port := h.Port(1)
	port.world.Do(func() { port.ask(methodSet, attrPortInfo, 1, [dataSize]byte{17: 5}) })
	p := open(t, port, classLID)
	if m, status := p.ask(classLID, attrDescription, 5); status != 0 || !bytes.HasPrefix(m[atData:], []byte("node 10")) {
		t.Errorf("status %d, % x", status, m)
	}
	if _, status := p.ask(classLID, attrDescription, 6); status != statusTimedOut {
		t.Errorf("status %d", status)
	}
}

// One subnet manager at a time holds a port, and a second program cannot ask for
// the same requests.
func TestPort_has_room_for_one_manager(t *testing.T) {
	p := newHCA(&wire.World{}, 0x10).Port(1)
	if err := p.Manage(); err != nil {
		t.Fatal(err)
	}
	if err := p.Manage(); !errors.Is(err, ErrManaged) {
		t.Errorf("a second one: %v", err)
	}
	p.Unmanage()
	if err := p.Manage(); err != nil {
		t.Errorf("after the first: %v", err)
	}
	one := open(t, p, classDirected, methodGet)
	wants := make([]byte, regSize)
	wants[21], wants[4] = classDirected, 1<<methodGet
	two := p.Open()
	if errno := two.Ioctl(ioctlRegister, wants, make([]byte, regSize)); errno != syscall.EINVAL {
		t.Errorf("a second agent for the same requests: %v", errno)
	}
	one.file.Close()
	if errno := two.Ioctl(ioctlRegister, wants, make([]byte, regSize)); errno != 0 {
		t.Errorf("after the first: %v", errno)
	}
}

// A program that waits can be interrupted.
func TestFile_read_is_interrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, errno := newHCA(&wire.World{}, 0x10).Port(1).Open().Read(ctx, 320); errno != syscall.EINTR {
		t.Error(errno)
	}
}
