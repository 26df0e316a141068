package osprog

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// rebootNow asks the machine to restart. systemd's programs return before the
// shutdown reaches the SSH session.
func rebootNow(p *labsim.Proc) int {
	if p.UID != 0 {
		p.Errorf("Call to Reboot failed: Interactive authentication required.\n")
		return 1
	}
	p.Machine.Reboot()
	return 0
}

func rebootVerb(_ context.Context, p *labsim.Proc, _ *labsim.Flags, names []string) int {
	if len(names) > 0 {
		return p.Unknown("reboot with an argument")
	}
	return rebootNow(p)
}

func rebootProgram(_ context.Context, p *labsim.Proc) int {
	if len(p.Args) > 1 {
		return p.Unknown("reboot " + p.Args[1])
	}
	return rebootNow(p)
}

// shutdownProgram knows "shutdown -r now" and "shutdown -r +0".
func shutdownProgram(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "r reboot")
	if bad != "" || !o.Has("r") || len(o.Args) == 0 || o.Args[0] != "now" && o.Args[0] != "+0" {
		return p.Unknown("form of shutdown")
	}
	return rebootNow(p)
}

// updateInitramfs takes the copy of /etc/modprobe.d that the next boot uses.
func updateInitramfs(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "u", "k=", "v")
	if bad != "" || !o.Has("u") || len(o.Args) > 0 {
		return p.Unknown("form of update-initramfs")
	}
	k := o.Or("k", p.Machine.Kernel)
	if k != "all" && k != p.Machine.Kernel {
		return p.Unknown("kernel " + k)
	}
	if p.UID != 0 {
		p.Errorf("update-initramfs: permission denied\n")
		return 1
	}
	if p.Machine.OS == labsim.TrueNAS {
		return p.Unknown("update-initramfs on TrueNAS")
	}
	p.Machine.UpdateInitramfs()
	p.Printf("update-initramfs: Generating /boot/initrd.img-%s\n", p.Machine.Kernel)
	return 0
}
