//go:build linux

package umad

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Port is a port of an adapter, with the programs that use it.
type Port struct {
	world    *wire.World
	firmware *fabric.HCAPort // touched in the world only
	number   byte

	mu      sync.Mutex
	agents  map[uint32]*agent
	last    uint32
	managed bool // a program holds the file which says that an SM is here
}

// Wire is where the cable goes.
func (p *Port) Wire() *wire.Port { return p.firmware.Wire() }

// Enable switches the port on, or off.
func (p *Port) Enable(on bool) { p.world.Do(func() { p.firmware.Enable(on) }) }

// ErrManaged says that another program holds the file.
var ErrManaged = errors.New("the port has a subnet manager already")

// Manage is the opening of the file issmN, which one program can at a time.
func (p *Port) Manage() error {
	if !p.setManaged(true) {
		return ErrManaged
	}
	p.world.Do(p.tellSM)
	return nil
}

// Unmanage is the closing of the file.
func (p *Port) Unmanage() {
	p.setManaged(false)
	p.world.Do(p.tellSM)
}

// setManaged reports whether that is a change.
func (p *Port) setManaged(is bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.managed
	p.managed = is
	return was != is
}

// tellSM sets the bit of the port that tells everybody where subnet managers are. It
// is called in the world.
func (p *Port) tellSM() {
	p.mu.Lock()
	managed := p.managed
	p.mu.Unlock()
	mask := PortInfo(p.ask(methodGet, attrPortInfo, uint32(p.number), [dataSize]byte{})).CapMask() &^ isSM
	if managed {
		mask |= isSM
	}
	p.firmware.SetCapabilities(mask)
}

// Info is what the port says of itself.
func (p *Port) Info() PortInfo {
	var info PortInfo
	p.world.Do(func() { info = p.ask(methodGet, attrPortInfo, uint32(p.number), [dataSize]byte{}) })
	return info
}

// PKeys is the size of the table of P_Keys, and PKey an entry of it.
const PKeys = 128

// PKey is an entry of the table of P_Keys.
func (p *Port) PKey(index int) uint16 {
	const block = dataSize / 2
	var keys [dataSize]byte
	p.world.Do(func() { keys = p.ask(methodGet, attrPKeys, uint32(index/block), [dataSize]byte{}) })
	return binary.BigEndian.Uint16(keys[index%block*2:])
}

// ask is a question of the driver to the firmware, which no M_Key stops. It is called
// in the world.
func (p *Port) ask(method byte, attribute uint16, modifier uint32, data [dataSize]byte) (answer [dataSize]byte) {
	m := make([]byte, fabric.MADSize)
	copy(m, []byte{1, classLID, 1, method})
	binary.BigEndian.PutUint16(m[atAttribute:], attribute)
	binary.BigEndian.PutUint32(m[atModifier:], modifier)
	copy(m[atData:], data[:])
	if out, ok := p.firmware.MAD(m, true); ok {
		copy(answer[:], out[atData:])
	}
	return answer
}
