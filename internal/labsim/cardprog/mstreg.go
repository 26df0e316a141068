package cardprog

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

const registerRule = "=======================\n"

// mstreg knows the questions for the registers of updates and of resets, which it only reads.
func mstreg(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	updates := f.Get("reg_id") == "0x9062" && f.Get("reg_len") == "0x20" && !f.Has("reg_name")
	resets := f.Get("reg_name") == "MFRL" && !f.Has("reg_id") && !f.Has("reg_len")
	if updates == resets || !f.Has("get") || len(f.Args) > 0 {
		return p.Unknown("question of mstreg")
	}
	c, found := findCard(p, f.Get("d"))
	switch {
	case !found:
		return refuseRegister(p, "Failed to open device: %q, No such file or directory", f.Get("d"))
	case p.UID != 0, lockedDown(p):
		return refuseRegister(p, "Failed to open device: %q, Permission denied", f.Get("d"))
	case c.Chip.Format == card.FS2:
		return refuseRegister(p, "Device is not supported")
	}
	u := c.Update()
	if u == nil {
		return refuseRegister(p, "FW burnt on device does not support generic access register")
	}
	if resets {
		return mstregMFRL(p, c)
	}
	v := u.View()
	p.Printf("Sending access register...\n\nAddress    | Data\n%s", registerRule)
	state := uint32(v.Owner)<<28 | v.Progress<<16 | uint32(v.Refusal)<<8 | uint32(v.State)
	for i, word := range []uint32{0, 0, v.Handle, state, 0, 0, 0, 0} {
		p.Printf("0x%08x | 0x%08x\n", 4*i, word)
	}
	p.Printf("%s", registerRule)
	return 0
}

func refuseRegister(p *labsim.Proc, format string, args ...any) int {
	p.Errorf("-E- "+format+"\n", args...)
	return 1
}
