//go:build testbed && linux

package ibsim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"
)

func TestSegments_are_assembled(t *testing.T) {
	for _, size := range []int{1, segmentData, segmentData + 1, 313*segmentData - 7} {
		mad := make([]byte, dataAt+size)
		for i := range mad {
			mad[i] = byte(i * 7)
		}
		p := &packet{}
		copy(p.mad[:], mad)
		list := p.segments(mad)
		if want := (size + segmentData - 1) / segmentData; len(list) != want {
			t.Errorf("%d bytes in %d segments, expected %d", size, len(list), want)
		}
		last := list[len(list)-1].mad
		if list[0].mad[atFlags]&(flagActive|flagFirst) != flagActive|flagFirst || last[atFlags]&flagLast == 0 ||
			int(binary.BigEndian.Uint32(last[atSegment:])) != len(list) {
			t.Errorf("%d bytes: flags %x to %x, last segment %x", size, list[0].mad[atFlags], last[atFlags],
				last[atSegment:atPayload])
		}
		if got := assemble(list); !bytes.Equal(got[dataAt:], mad[dataAt:]) {
			t.Errorf("%d bytes became %d", size, len(got)-dataAt)
		}
	}
}

const twoHosts = `speed=7
width=3
vendid=0x2c9
devid=0x1003
sysimgguid=0x13
caguid=0x10
Ca	2 "H-one"		# "one mlx4_0"
[1](11)	"H-two"[1]		# "x" lid 0 4xQDR

vendid=0x2c9
devid=0x1003
sysimgguid=0x23
caguid=0x20
Ca	2 "H-two"		# "two mlx4_0"
[1](21)	"H-one"[1]		# "x" lid 0 4xQDR
`

// A port shows what its fabric says, loses it with its cable, and gets it back.
func TestHCA_follows_the_fabric(t *testing.T) {
	f, err := Start(t.TempDir(), twoHosts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
	}()
	h := &HCA{}
	state := func(port int) string {
		p, err := h.Port(port)
		return fmt.Sprintf("%d %d %v", p.State(), p.Physical(), err)
	}
	if got := state(1); got != "0 0 connection timed out" {
		t.Errorf("without a fabric: %s", got)
	}
	if err := h.Attach(f, "H-three"); err == nil {
		t.Error("attached to a node that is not there")
	}
	if err := h.Attach(f, "H-one"); err != nil {
		t.Fatal(err)
	}
	if got := state(1) + ", " + state(2); got != "2 5 <nil>, 1 2 <nil>" {
		t.Errorf("plugged in: %s", got)
	}
	if err := f.Console(`Unlink "H-two"[1]`); err != nil {
		t.Fatal(err)
	}
	if got := state(1); got != "1 2 <nil>" {
		t.Errorf("pulled out: %s", got)
	}
	if err := f.Console(`Unlink "H-three"[1]`); err == nil {
		t.Error("ibsim did not complain, or was not heard")
	}
}

// One subnet manager at a time holds a port, and a second program cannot ask for
// the same requests.
func TestHCA_has_room_for_one_manager(t *testing.T) {
	h := &HCA{}
	if err := h.Manage(); err != nil {
		t.Fatal(err)
	}
	if err := h.Manage(); !errors.Is(err, ErrManaged) {
		t.Errorf("a second one: %v", err)
	}
	h.Unmanage()
	if err := h.Manage(); err != nil {
		t.Errorf("after the first: %v", err)
	}
	wants := ownAgent()
	wants[4] = 2 // SubnGet
	one, two := h.Open(), h.Open()
	if errno := one.Ioctl(ioctlRegister, wants, make([]byte, regSize)); errno != 0 {
		t.Error(errno)
	}
	if errno := two.Ioctl(ioctlRegister, wants, make([]byte, regSize)); errno != syscall.EINVAL {
		t.Errorf("a second agent for the same requests: %v", errno)
	}
	one.Close()
	if errno := two.Ioctl(ioctlRegister, wants, make([]byte, regSize)); errno != 0 {
		t.Errorf("after the first: %v", errno)
	}
}

// A program that waits can be interrupted.
func TestFile_read_is_interrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, errno := (&HCA{}).Open().Read(ctx, 320); errno != syscall.EINTR {
		t.Error(errno)
	}
}
