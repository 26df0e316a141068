//go:build linux

package connectx4

import (
	"encoding/binary"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Registers of an update, as the driver numbers them.
const (
	regKnown, regComponents, regControl, regData = 0x907f, 0x9060, 0x9062, 0x9063
)

// controlled is firmware that writes its own flash.
func controlled(version uint16) *card.TOCSpec {
	s := card.CX4Spec(card.PSIDCX4, [3]uint16{12, 28, version})
	s.Signed, s.Flags = true, card.FlagControlled
	return &s
}

// access has the driver read or write a register of some words, of which the input may have more.
func (d *driver) access(id, modifier uint16, words ...uint32) (status byte, out []uint32) {
	d.Helper()
	in := binary.BigEndian.AppendUint32(nil, uint32(id))
	in = append(in, 0, 0, 0, 0)
	for _, w := range words {
		in = be.AppendUint32(in, w)
	}
	answer := d.command(opRegister, modifier, in, registerAt+4*len(words))
	for i := range words {
		out = append(out, be.Uint32(answer[registerAt+4*i:]))
	}
	return answer[0], out
}

// control sends an instruction of an update, and gives the state and the reason of a refusal that
// a driver reads afterwards.
func (d *driver) control(what card.Instruction, handle, size uint32) (status byte, state card.State, refusal card.Refusal) {
	d.Helper()
	status, _ = d.access(regControl, 0, uint32(what), 0, handle, 0, size, 0, 0, 0)
	_, out := d.access(regControl, registerRead, 0, 0, 0, 0, 0, 0, 0, 0)
	return status, card.State(out[3] & 0xf), card.Refusal(out[3] >> 8 & 0xff)
}

// send transfers an image as the driver does, up to the verification.
func (d *driver) send(component []byte) (handle uint32, refusal card.Refusal) {
	d.Helper()
	_, out := d.access(regControl, registerRead, 0, 0, 0, 0, 0, 0, 0, 0)
	handle = out[2] & 0xffffff
	if s, state, _ := d.control(card.InstructionLock, handle, 0); s != ok || state != card.UpdateLocked {
		d.Fatalf("lock: status %#x, state %d", s, state)
	}
	if s, state, _ := d.control(card.InstructionUpdate, handle, uint32(len(component))); s != ok || state != card.UpdateDownload {
		d.Fatalf("update: status %#x, state %d", s, state)
	}
	const most = 128
	for at := 0; at < len(component); at += most {
		part := component[at:min(len(component), at+most)]
		words := []uint32{handle, uint32(at), uint32(len(part)), 0}
		for ; len(part) > 0; part = part[4:] {
			words = append(words, le.Uint32(part))
		}
		if s, _ := d.access(regData, 0, words...); s != ok {
			d.Fatalf("data at %#x: status %#x", at, s)
		}
	}
	s, state, refusal := d.control(card.InstructionVerify, handle, 0)
	if s != ok || state != card.UpdateLocked {
		d.Errorf("verify: status %#x, state %d", s, state)
	}
	return handle, refusal
}

// The driver has firmware that writes its own flash take an image, which boots at the next reset.
// The reason of a refusal is read afterwards, and the old image stays.
func TestDriver_update(t *testing.T) {
	const newVersion = 4706
	d := newDriver(t, &wire.World{}, newModel(t, card.BuildTOC(*controlled(oldVersion)), 0, card.NV{}))
	if capManagement.get(d.hca.capabilities) != 1 {
		t.Error("the driver is not told of the registers")
	}
	if s, out := d.access(regKnown, registerRead, 0, 0, 0, 0, 0, 0); s != ok || out[2]&0xf != 0xf {
		t.Errorf("which registers there are: status %#x, %#x", s, out)
	}
	component := func(s *card.TOCSpec) []byte {
		img, err := card.Parse(card.BuildTOC(*s))
		if err != nil {
			t.Fatal(err)
		}
		return img.Component()
	}
	other := controlled(newVersion)
	other.PSID = card.PSIDCX4B
	handle, refusal := d.send(component(other))
	if refusal != card.RefusalNotApplicable {
		t.Errorf("another board's image is refused for %d", refusal)
	}
	if s, _, _ := d.control(card.InstructionActivate, handle, 0); s != badParam {
		t.Errorf("activate what was refused: status %#x", s)
	}
	d.control(card.InstructionRelease, handle, 0)

	if handle, refusal = d.send(component(controlled(newVersion))); refusal != card.RefusalNone {
		t.Fatalf("refused for %d", refusal)
	}
	if v := d.Model.Update().View(); v.Owner != card.OwnerDriver {
		t.Errorf("the update belongs to %d", v.Owner)
	}
	if s, _, why := d.control(card.InstructionActivate, handle, 0); s != ok || why != card.RefusalNone {
		t.Errorf("activate: status %#x, refusal %d", s, why)
	}
	d.control(card.InstructionRelease, handle, 0)
	if _, out := d.access(regComponents, registerRead, 1, 0, 0, 0); out[2]&0xf != card.UpdatePending {
		t.Errorf("components %#x", out)
	}
	if v := d.Model.Running().Version[2]; v != oldVersion {
		t.Errorf("before a reset %d runs", v)
	}
	d.Reset()
	if v := d.Model.Running().Version[2]; v != newVersion {
		t.Errorf("after a reset %d runs", v)
	}
}

// Firmware whose flash tools write has none of these registers.
func TestDriver_no_update(t *testing.T) {
	d := newDriver(t, &wire.World{}, newModel(t, image(oldVersion), 0, card.NV{}))
	if capManagement.get(d.hca.capabilities) != 0 {
		t.Error("the driver is told of registers that there are not")
	}
	if s, _ := d.access(regControl, registerRead, 0, 0, 0, 0, 0, 0, 0, 0); s != badParam {
		t.Errorf("status %#x", s)
	}
}
