// Package systemdrun builds the commands that make transient systemd units.
//
// It must not run anything.
package systemdrun

import (
	"strconv"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// After returns the command that runs argv in a unit of its own after delay,
// whatever becomes of the connection that asked for it. The timer is
// UNIT.timer; stopping it before the delay has passed cancels the run.
//
// Timers are otherwise up to a minute late (AccuracySec of systemd.timer), which
// would make a promise of "in 90 seconds" wrong. No element of argv may hold a
// dollar sign or a percent sign: systemd expands them.
func After(delay time.Duration, unit string, argv ...string) shellcmd.Command {
	args := []string{
		"--quiet", "--collect", "--unit=" + unit,
		"--on-active=" + strconv.Itoa(int(delay.Seconds())) + "s",
		"--timer-property=AccuracySec=100ms",
		"--",
	}
	return shellcmd.New("systemd-run", append(args, argv...)...).AsRoot().Changes()
}

// WithLimit returns the command that runs argv now, in a unit of its own. systemd ends
// the unit after limit, even if the connection that asked for it is gone. If a unit of
// this name exists, the command fails. A unit that has ended leaves nothing behind. No
// element of argv may hold a dollar sign or a percent sign.
func WithLimit(limit time.Duration, unit string, argv ...string) shellcmd.Command {
	args := []string{
		"--quiet", "--collect", "--unit=" + unit,
		"--property=RuntimeMaxSec=" + strconv.Itoa(int(limit.Seconds())),
		"--",
	}
	return shellcmd.New("systemd-run", append(args, argv...)...).AsRoot().Changes()
}
