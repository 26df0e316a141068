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

// Install puts systemd's programs on a machine, and units that every boot starts.
func Install(m *labsim.Machine, builtins map[string]string) {
	for name, program := range map[string]labsim.Program{
		"/usr/bin/systemctl": systemctl,
		"/usr/bin/systemd-run": labsim.WithFlags(systemdRun, true, "unit u=", "collect G", "property p=", "description=",
			"on-active=", "timer-property=", "quiet q"),
		"/usr/bin/systemd-inhibit": labsim.WithFlags(systemdInhibit, true, "what=", "who=", "why=", "mode="),
		"/usr/bin/journalctl": labsim.WithFlags(journalctl, false, "unit u=", "lines n=", "output o=", "no-pager",
			"boot b", "quiet q"),
		"/usr/bin/udevadm": udevadm,
		"/usr/sbin/reboot": rebootProgram,
	} {
		m.Install(name, program)
	}
	Of(m).Builtins(builtins)
}
