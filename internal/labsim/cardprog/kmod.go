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
	for name, program := range map[string]labsim.Program{"modprobe": modprobe, "lsmod": lsmod, "modinfo": modinfo, "rmmod": modprobe} {
		m.Install("/usr/sbin/"+name, program)
	}
	m.Install("/usr/bin/lspci", lspci)
}

// InstallMstflint puts the programs of the mstflint package into a machine, as
// its package does; the version is that of Machine.Tools.
func InstallMstflint(m *labsim.Machine) {
	m.Install("/usr/bin/mstflint", mstflint)
	m.Install("/usr/bin/mstconfig", mstconfig)
}

// modprobe knows modprobe [-q] [-n] NAME, modprobe -a NAME... and -r NAME..., and
// rmmod NAME.
func modprobe(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "q", "n", "a", "r", "b", "v")
	if !good {
		return 1
	}
	if p.UID != 0 && !f.Has("n") {
		return p.Fail(1, "ERROR: could not insert '%s': Operation not permitted", strings.Join(f.Args, " "))
	}
	remove := f.Has("r") || p.Name() == "rmmod"
	if len(f.Args) == 0 || len(f.Args) > 1 && !f.Has("a") && !remove {
		return p.Unknown("modprobe operands")
	}
	status := 0
	for _, name := range f.Args {
		name = strings.ReplaceAll(name, "-", "_")
		if remove {
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
			_ = p.Machine.LoadModule(name)
		}
	}
	return status
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

func lsmod(_ context.Context, p *labsim.Proc) int {
	if len(p.Args) > 1 {
		return p.Unknown("lsmod operands")
	}
	p.Printf("Module                  Size  Used by\n")
	for _, name := range p.Machine.Modules() {
		users := p.Machine.ModuleUsers(name)
		p.Printf("%-19s %8d  %d %s\n", name, 131072, len(users), strings.Join(users, ","))
	}
	return 0
}

// modinfo knows modinfo -n NAME... and modinfo [-F FIELD] NAME; fields filename,
// name, depends, vermagic.
func modinfo(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "F=", "n")
	if !good {
		return 1
	}
	if len(f.Args) == 0 || len(f.Args) > 1 && !f.Has("n") {
		return p.Unknown("modinfo operands")
	}
	field := f.Get("F")
	if f.Has("n") {
		field = "filename"
	}
	status := 0
	for _, name := range f.Args {
		status = max(status, moduleFields(p, strings.ReplaceAll(name, "-", "_"), field))
	}
	return status
}

func moduleFields(p *labsim.Proc, name, field string) int {
	if !p.Machine.ModuleKnown(name) {
		return p.Fail(1, "ERROR: Module %s not found.", name)
	}
	fields := [][2]string{{"filename", strings.TrimPrefix(p.Machine.ModuleFile(name), "/usr")}, {"name", name},
		{"depends", strings.Join(p.Machine.ModuleDeps(name), ",")}, {"vermagic", p.Machine.Kernel + " SMP preempt mod_unload modversions"}}
	shown := false
	for _, kv := range fields {
		switch field {
		case "":
			p.Printf("%-16s%s\n", kv[0]+":", kv[1])
			shown = true
		case kv[0]:
			p.Printf("%s\n", kv[1])
			shown = true
		}
	}
	if !shown {
		return p.Unknown("field " + field)
	}
	return 0
}
