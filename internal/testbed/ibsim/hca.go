//go:build testbed && linux

package ibsim

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"syscall"
)

// HCA is the adapter of a host: the driver's side of a node of a fabric. It
// outlives fabrics. The zero value has no cable.
type HCA struct {
	mu       sync.Mutex
	fabric   *Fabric
	client   *client
	node     string
	managed  bool // a program holds the file which says that an SM is here
	disabled bool // the first port
	agents   map[uint16]*agent
	last     uint16

	asking sync.Mutex
	own    *File // of the driver itself
	asked  uint32
}

// Attach plugs the adapter in where a fabric has the node of that name.
// Management datagrams pass its first port only: ibsim attaches clients there.
func (h *HCA) Attach(f *Fabric, node string) error {
	h.Detach()
	c, err := f.connect(node)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.fabric, h.client, h.node = f, c, node
	managed := h.managed
	h.mu.Unlock()
	go c.receive(h.arrive)
	if managed {
		return c.setIsSM(true)
	}
	return nil
}

// Detach pulls it out.
func (h *HCA) Detach() {
	h.mu.Lock()
	c := h.client
	h.fabric, h.client, h.node = nil, nil, ""
	h.mu.Unlock()
	if c != nil {
		c.close()
	}
}

// Node is the name of the adapter's node, and the fabric; "" without one.
func (h *HCA) Node() (*Fabric, string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fabric, h.node
}

func (h *HCA) attachment() (*Fabric, *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fabric, h.client
}

// setIsSM sets the bit of the port that tells everybody where subnet managers are,
// and has ibsim hand requests to this client.
func (c *client) setIsSM(on bool) error {
	data := make([]byte, ctlData)
	if on {
		data[0] = 1
	}
	_, err := c.control(ctlSetIsSM, data)
	return err
}

// ErrManaged says that another program holds the file.
var ErrManaged = errors.New("the port has a subnet manager already")

// Manage is the opening of the file issmN, which one program can at a time.
func (h *HCA) Manage() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.managed {
		return ErrManaged
	}
	h.managed = true
	if h.client == nil {
		return nil
	}
	return h.client.setIsSM(true)
}

// Unmanage is the closing of the file.
func (h *HCA) Unmanage() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.managed = false
	if h.client != nil {
		_ = h.client.setIsSM(false)
	}
}

// PortInfo is the attribute of a port by that name (InfiniBand Architecture,
// 14.2.5.6), of which a driver shows a part.
type PortInfo [ctlData]byte

// Port asks for a port of the adapter, counted from one, as its own host would.
func (h *HCA) Port(number int) (PortInfo, error) {
	h.asking.Lock()
	defer h.asking.Unlock()
	if h.own == nil {
		h.own = h.Open()
		if errno := h.own.Ioctl(ioctlRegister, ownAgent(), make([]byte, regSize)); errno != 0 {
			return PortInfo{}, errno
		}
	}
	h.asked++
	m := make([]byte, headerSize+madSize)
	binary.NativeEndian.PutUint32(m[atTimeout:], uint32(patience.Milliseconds()))
	copy(m[atLID:], []byte{0xff, 0xff})
	// SubnGet(PortInfo) along a route of no hops.
	mad := m[headerSize:]
	copy(mad, []byte{1, directedRouteClass, 1, 1})
	binary.BigEndian.PutUint32(mad[atTransaction+4:], h.asked)
	binary.BigEndian.PutUint16(mad[16:], 0x15)
	mad[23] = byte(number)
	copy(mad[32:], []byte{0xff, 0xff, 0xff, 0xff})
	if errno := h.own.Write(m); errno != 0 {
		return PortInfo{}, errno
	}
	answer, errno := h.own.Read(context.Background(), len(m))
	switch {
	case errno != 0:
		return PortInfo{}, errno
	case binary.NativeEndian.Uint32(answer[atStatus:]) != 0:
		return PortInfo{}, syscall.Errno(binary.NativeEndian.Uint32(answer[atStatus:]))
	}
	return PortInfo(answer[headerSize+smpData:]), nil
}

// smpData is where a subnet management packet has its attribute.
const smpData = 64

// ownAgent is the registration of the driver itself, which wants no requests.
func ownAgent() []byte {
	b := make([]byte, regSize)
	b[21], b[22] = directedRouteClass, 1
	return b
}

// PKeys is the begin of the table of the first port.
func (h *HCA) PKeys() []uint16 {
	_, c := h.attachment()
	if c == nil {
		return nil
	}
	answer, err := c.control(ctlGetPKeys, make([]byte, ctlData))
	if err != nil {
		return nil
	}
	keys := make([]uint16, len(answer)/2)
	for i := range keys {
		keys[i] = binary.BigEndian.Uint16(answer[2*i:])
	}
	return keys
}

// GIDPrefix to ExtendedSpeed are fields of the attribute.
func (p PortInfo) GIDPrefix() uint64 { return binary.BigEndian.Uint64(p[8:]) }

// LID is 0 before a subnet manager has given one.
func (p PortInfo) LID() uint16 { return binary.BigEndian.Uint16(p[16:]) }

// SMLID is where the master is.
func (p PortInfo) SMLID() uint16 { return binary.BigEndian.Uint16(p[18:]) }

// CapMask are the capabilities; bit 1 is IsSM.
func (p PortInfo) CapMask() uint32 { return binary.BigEndian.Uint32(p[20:]) }

// State is 1 down, 2 initialize, 3 armed, 4 active.
func (p PortInfo) State() int { return int(p[32] & 0xf) }

// Physical is 2 polling, 3 disabled, 5 link up.
func (p PortInfo) Physical() int { return int(p[33] >> 4) }

// LMC is how many LIDs the port has, as a power of two.
func (p PortInfo) LMC() int { return int(p[34] & 7) }

// SMSL is the service level to the master.
func (p PortInfo) SMSL() int { return int(p[36] & 0xf) }

// Lanes that are in use: 1, 2, 4, 8, 12, or 0.
func (p PortInfo) Lanes() int { return map[byte]int{1: 1, 2: 4, 4: 8, 8: 12, 16: 2}[p[31]] }

// Speed in use is 1 SDR, 2 DDR, 4 QDR; ExtendedSpeed, if it is not 0, counts
// instead: 1 FDR, 2 EDR, 4 HDR.
func (p PortInfo) Speed() int { return int(p[35] >> 4) }

// ExtendedSpeed is described at Speed.
func (p PortInfo) ExtendedSpeed() int { return int(p[62] >> 4) }
