//go:build linux

package connectx4

func (f *Function) readVendor(at uint32) uint32 {
	if v, ok := f.tools.Read(at); ok {
		return v
	}
	return f.space.Word(capVendor + int(at))
}

// writeVendor passes on what a tool writes. A flash whose hook has cut the power is the
// machine's end; its owner ends it.
func (f *Function) writeVendor(at, v uint32) { _ = f.tools.Write(at, v) }

// updateRegister reads or writes a register by which firmware that writes its own flash tells
// what it is and takes an image. Other firmware knows no such register. As with tools, a flash
// whose hook has cut the power is the machine's end.
func (h *hca) updateRegister(id uint16, r *request) byte {
	body := r.out[registerAt:]
	copy(body, r.in[registerAt:])
	status, known, _ := h.c.regs.DriverRegister(id, body, r.opMod != registerRead)
	switch {
	case !known:
		h.c.logf("register %#x is not known", id)
		return badParam
	case status != 0:
		return badParam
	}
	return ok
}
