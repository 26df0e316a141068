//go:build linux

package connectx4

// Registers that the driver reads and writes by ACCESS_REG.
const (
	regPMTU, regPTYS, regPAOS = 0x5003, 0x5004, 0x5006
	regPPCNT, regPVLC         = 0x5008, 0x500f
	regPMLP, regPFCC          = 0x5002, 0x5007
	regDescription            = 0x6001
	regEndianness             = 0x7004
	registerAt, registerID    = 0x10, 0x0a // in a command
	descriptionBytes          = 64
	registerRead              = 1 // as modifier of the command
	portRegisterBytes         = 0x40
)

// accessRegister reads or writes a register.
func (h *hca) accessRegister(r *request) byte {
	id, read := be.Uint16(r.in[registerID:]), r.opMod == registerRead
	in, o := r.in[registerAt:], r.out[registerAt:]
	switch id {
	case regEndianness:
	case regDescription:
		if !read {
			h.c.port.SetDescription(string(in[:descriptionBytes]))
		}
		copy(o[:descriptionBytes], h.c.port.Description())
	case regPMTU, regPTYS, regPVLC, regPAOS, regPMLP, regPFCC:
		copy(o[:portRegisterBytes], in)
		if read {
			h.portRegister(id, o)
		} else if id == regPAOS {
			h.c.port.Enable(in[2]&0xf == 1 && h.c.infiniBand())
		}
	case regPPCNT:
		copy(o[:8], in) // all counters are zero
	default:
		return h.updateRegister(id, r)
	}
	return ok
}

// portRegister fills a register of the port.
func (h *hca) portRegister(id uint16, o []byte) {
	i := h.c.port.Info()
	switch id {
	case regPMTU:
		for _, at := range []int{0x04, 0x08, 0x0c} {
			be.PutUint16(o[at:], h.largestPacket())
		}
	case regPTYS:
		if !h.c.infiniBand() {
			h.ethernetSpeeds(o)
			return
		}
		be.PutUint16(o[0x10:], widths)
		be.PutUint16(o[0x12:], speeds)
		be.PutUint16(o[0x1c:], widths)
		be.PutUint16(o[0x1e:], speeds)
		be.PutUint16(o[0x28:], widthOf(i))
		be.PutUint16(o[0x2a:], speedOf(i))
	case regPVLC:
		for _, at := range []int{0x07, 0x0b, 0x0f} {
			o[at] = 4 // eight virtual lanes
		}
	case regPAOS:
		o[2], o[3] = 1, 2-byte(flag(h.c.port.Wire().Up()))
	case regPMLP:
		o[3] = 4 // lanes
	}
}

// Widths and speeds of PTYS, by bits: 1X and 4X; from SDR to EDR.
const (
	widths   = 1<<0 | 1<<2
	speeds   = 0x3f
	speedFDR = 1 << 4
)

// widthOf is the width of the link as PTYS has it.
func widthOf(info []byte) uint16 {
	const fourLanes = 2 // as PortInfo numbers widths
	if info[infoWidth] == fourLanes {
		return 1 << 2
	}
	return 1 << 0
}

// speedOf is the speed of the link as PTYS has it.
func speedOf(info []byte) uint16 {
	if e := info[infoExtended] >> 4; e != 0 {
		return uint16(e) * speedFDR
	}
	return uint16(info[infoSpeed] >> 4)
}

// largestPacket is the longest packet of the port's network, in bytes.
func (h *hca) largestPacket() uint16 {
	if h.c.infiniBand() {
		return maxDatagram
	}
	return 9600
}

// ethernetSpeeds says that the port can do 100 GbE, and has no link.
func (h *hca) ethernetSpeeds(o []byte) {
	const copper100G = 1 << 20 // 100GBASE-CR4
	be.PutUint32(o[0x0c:], copper100G)
	be.PutUint32(o[0x18:], copper100G)
}
