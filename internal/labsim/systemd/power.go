package systemd

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

// Install puts systemd's programs on a machine, and units that every boot starts.
func Install(m *labsim.Machine, builtins map[string]string) {
	for name, program := range map[string]labsim.Program{
		"/usr/bin/systemctl":       systemctl,
		"/usr/bin/systemd-run":     systemdRun,
		"/usr/bin/systemd-inhibit": systemdInhibit,
		"/usr/bin/journalctl":      journalctl,
		"/usr/bin/udevadm":         udevadm,
		"/usr/sbin/reboot":         rebootProgram,
		"/usr/sbin/shutdown":       shutdownProgram,
	} {
		m.Install(name, program)
	}
	Of(m).Builtins(builtins)
}
