package packages

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

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

// dracut knows --force with --regenerate-all.
func dracut(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "f force", "regenerate-all")
	if bad != "" || len(o.Args) > 0 || !o.Has("f") {
		return p.Unknown("form of dracut " + bad)
	}
	if p.UID != 0 {
		p.Errorf("dracut: can't write to /boot: Permission denied\n")
		return 1
	}
	p.Machine.UpdateInitramfs()
	return 0
}

// mkinitcpio knows -P.
func mkinitcpio(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "P allpresets")
	if bad != "" || len(o.Args) > 0 || !o.Has("P") {
		return p.Unknown("form of mkinitcpio " + bad)
	}
	if p.UID != 0 {
		p.Errorf("==> ERROR: Unable to write to path: '/boot/initramfs-linux.img'\n")
		return 1
	}
	p.Machine.UpdateInitramfs()
	p.Printf("==> Building image from preset: /etc/mkinitcpio.d/linux-lts.preset: 'default'\n"+
		"==> Using default configuration file: '/etc/mkinitcpio.conf'\n  -> -k %s -g /boot/initramfs-linux-lts.img\n"+
		"==> Starting build: '%s'\n==> Initcpio image generation successful\n", p.Machine.Kernel, p.Machine.Kernel)
	return 0
}
