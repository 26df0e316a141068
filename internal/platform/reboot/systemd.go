package reboot

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemdrun"
)

// delay is the time between the request and the restart. The answer to the
// request must arrive before the connection dies, or it would look like a failed
// request.
const delay = 2 * time.Second

// prepared is the time from "systemctl reboot" until systemd says that it stops: logind
// waits for inhibitors first, five seconds unless logind.conf (InhibitDelayMaxSec) says otherwise.
const prepared = 10 * time.Second

// unit names the timer of a restart, and the service that it starts.
const unit = "infiniband-reboot"

// Systemd restarts a system by systemd: a timer asks for it, so that the answer to the request
// comes first.
func Systemd() Restart {
	return Restart{
		Request:  systemdrun.After(delay, unit, "systemctl", "reboot"),
		Withdraw: stopTimer,
		Started:  systemdStarted,
	}
}

// stopTimer stops the timer of a request that failed, and reports whether it is proven that it
// brings no restart. systemd-run fails, too, if the answer of systemd does not come in time;
// systemd has the timer then.
func stopTimer(ctx context.Context, h host.Host, asked time.Time, _ *host.ExitError) bool {
	units := []string{unit + ".timer", unit + ".service"}
	// That systemd does not know one of them is an error here. The states decide.
	_, _ = h.Run(ctx, systemctl.Stop(units...))
	if time.Since(asked) >= delay && poll.Pause(ctx, prepared) != nil {
		return false
	}
	states, err := StateOf(h.Run(ctx, systemctl.IsActive(units...)))
	each := strings.Fields(states)
	if err != nil || len(each) != len(units) || slices.ContainsFunc(each, func(s string) bool {
		return s != "inactive" && s != "failed" && s != "unknown"
	}) {
		return false
	}
	system, err := StateOf(h.Run(ctx, systemctl.IsSystemRunning()))
	goesOn := []string{"running", "degraded", "maintenance", "starting", "initializing"}
	return err == nil && slices.Contains(goesOn, system)
}

// StateOf is what systemctl says of a state. Its status is not 0 for every state but one.
func StateOf(r host.Result, err error) (string, error) {
	out := string(r.Stdout)
	var exit *host.ExitError
	if errors.As(err, &exit) {
		out, err = exit.Stdout, nil
	}
	return strings.TrimSpace(out), err
}

// systemdStarted asks systemd. "degraded" counts as started: some unit of the host
// failed, which is its owner's matter.
func systemdStarted(ctx context.Context, h host.Host) (bool, string, error) {
	state, err := StateOf(h.Run(ctx, systemctl.IsSystemRunning()))
	if err != nil {
		return false, "", err
	}
	return state == "running" || state == "degraded", "systemd says " + strconv.Quote(state), nil
}
