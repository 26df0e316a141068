package cardprog

import (
	"context"
	"errors"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// Install puts the programs into a machine: mstflint only if the machine has it.
func Install(m *labsim.Machine) {
	if m.Tools["mstflint"] != "" {
		InstallMstflint(m)
	}
	m.Install("/usr/sbin/modprobe", labsim.WithFlags(modprobe, false, "q", "n", "a", "r"))
	m.Install("/usr/sbin/modinfo", labsim.WithFlags(modinfo, false, "n"))
	m.Install("/usr/bin/lspci", labsim.WithFlags(lspci, false, "D", "n", "v", "s=", "d="))
	m.Install("/usr/sbin/devlink", devlink)
	m.FS.PutDir("/lib/firmware", 0o755, 0, 0)
	// Only mstfwreset runs it, inside of what is simulated.
	m.Install("/usr/bin/setpci", func(_ context.Context, p *labsim.Proc) int { return p.Unknown("setpci") })
}

// InstallMstflint puts the programs of the mstflint package into a machine, as
// its package does; the version is that of Machine.Tools.
func InstallMstflint(m *labsim.Machine) {
	m.Install("/usr/bin/mstflint", mstflint)
	m.Install("/usr/bin/mstconfig", mstconfig)
	m.Install("/usr/bin/mstreg", labsim.WithFlags(mstreg, false, "d=", "reg_id=", "reg_len=", "reg_name=", "get"))
	m.Install("/usr/bin/mstfwreset", labsim.WithFlags(mstfwreset, false, "d=", "l=", "y"))
}

// modprobe knows modprobe [-q] [-n] NAME, modprobe -a NAME... and -r NAME...
func modprobe(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if p.UID != 0 && !f.Has("n") {
		return p.Fail(1, "ERROR: could not insert '%s': Operation not permitted", strings.Join(f.Args, " "))
	}
	if len(f.Args) == 0 || len(f.Args) > 1 && !f.Has("a") && !f.Has("r") {
		return p.Unknown("modprobe operands")
	}
	status := 0
	for _, name := range f.Args {
		name = strings.ReplaceAll(name, "-", "_")
		if f.Has("r") {
			status = max(status, unload(p, name))
			continue
		}
		if !p.Machine.ModuleKnown(name) {
			status = 1
			if !f.Has("q") {
				p.Fail(1, "FATAL: Module %s not found in directory /lib/modules/%s", name, p.Machine.Kernel)
			}
			continue
		}
		if !f.Has("n") {
			status = max(status, load(p, name))
		}
	}
	return status
}

func load(p *labsim.Proc, name string) int {
	if err := p.Machine.LoadModule(name); errors.Is(err, syscall.EINVAL) {
		return p.Fail(1, "ERROR: could not insert '%s': Invalid argument", name)
	}
	return 0
}

func unload(p *labsim.Proc, name string) int {
	err := p.Machine.UnloadModule(name)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, syscall.EBUSY):
		return p.Fail(1, "FATAL: Module %s is in use.", name)
	}
	return p.Fail(1, "FATAL: Module %s is not currently loaded", name)
}

// modinfo knows modinfo -n NAME...
func modinfo(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if len(f.Args) == 0 || !f.Has("n") {
		return p.Unknown("modinfo operands")
	}
	status := 0
	for _, name := range f.Args {
		if name = strings.ReplaceAll(name, "-", "_"); !p.Machine.ModuleKnown(name) {
			status = p.Fail(1, "ERROR: Module %s not found.", name)
			continue
		}
		p.Printf("%s\n", strings.TrimPrefix(p.Machine.ModuleFile(name), "/usr"))
	}
	return status
}
