package systemctl

import (
	"strconv"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

const jobTimeout = 2 * time.Minute

func change(args ...string) shellcmd.Command {
	return shellcmd.New("systemctl", args...).AsRoot().Changes().WithTimeout(jobTimeout)
}

// Start starts units.
func Start(units ...string) shellcmd.Command {
	return change(append([]string{"start", "--"}, units...)...)
}

// Restart restarts units, or starts those that do not run.
func Restart(units ...string) shellcmd.Command {
	return change(append([]string{"restart", "--"}, units...)...)
}

// Stop stops units. A unit that does not run is no error. One that systemd does not
// know is an error (status 5).
func Stop(units ...string) shellcmd.Command {
	return change(append([]string{"stop", "--"}, units...)...)
}

// Kill sends a signal to the main processes of units.
func Kill(signal string, units ...string) shellcmd.Command {
	return change(append([]string{"kill", "--kill-whom=main", "--signal=" + signal, "--"}, units...)...)
}

// Units is where units of a host are that come with no package.
const Units = "/etc/systemd/system/"

// BootLink is what Enable makes of a unit that multi-user.target wants.
func BootLink(unit string) string { return Units + "multi-user.target.wants/" + unit }

// Enable has units started at boot.
func Enable(units ...string) shellcmd.Command {
	return change(append([]string{"enable", "--quiet", "--"}, units...)...)
}

// Disable has units not started at boot.
func Disable(units ...string) shellcmd.Command {
	return change(append([]string{"disable", "--quiet", "--"}, units...)...)
}

// DaemonReload has systemd read its unit files again.
func DaemonReload() shellcmd.Command { return change("daemon-reload") }

// IsActive prints the state of each unit in a line; it exits 0 if one is "active".
func IsActive(units ...string) shellcmd.Command {
	return shellcmd.New("systemctl", append([]string{"is-active", "--"}, units...)...)
}

// IsSystemRunning prints the state of the whole system; it exits 0 only if that
// is "running".
func IsSystemRunning() shellcmd.Command { return shellcmd.New("systemctl", "is-system-running") }

// Journal prints the last lines of a unit's log, without times and names.
func Journal(unit string, lines int) shellcmd.Command {
	return shellcmd.New("journalctl", "-u", unit, "-n", strconv.Itoa(lines), "--no-pager", "-q", "-o", "cat").AsRoot()
}
