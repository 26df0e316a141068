package change

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sysfs"
)

// renew is the look at the host as it is known now: the same one as long as the host was not read again.
// A snapshot is the same object until a change makes it stale, so that this costs nothing in between.
func renew(ctx context.Context, h *hosts.Host, l *found.Look) (*found.Look, error) {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if s == l.Snapshot {
		return l, nil
	}
	return found.Of(s, l.Port), nil
}

// run runs commands one after the other, up to the first that fails.
func run(ctx context.Context, h *hosts.Host, commands ...shellcmd.Command) error {
	for _, cmd := range commands {
		if _, err := h.Run(ctx, cmd); err != nil {
			return err
		}
	}
	return nil
}

// outputOf is what a command printed, also if it ended with another status than 0.
func outputOf(r host.Result, err error) string {
	var exit *host.ExitError
	switch {
	case errors.As(err, &exit):
		return strings.TrimSpace(exit.Stdout + exit.Stderr)
	case err != nil:
		return "unknown: " + err.Error()
	}
	return strings.TrimSpace(string(r.Stdout))
}

// readPort reads the port from sysfs, which shows a change at once; the snapshot would need a collection for each look.
func readPort(ctx context.Context, h host.Host, device string, number int) (sysfs.Port, error) {
	cmd := sysfs.ReadPort(device, number)
	r, err := h.Run(ctx, cmd)
	if err != nil {
		return sysfs.Port{}, err
	}
	p, err := sysfs.ParsePort(r.Stdout)
	if err != nil {
		return sysfs.Port{}, &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(),
			Output: string(r.Stdout)}
	}
	return p, nil
}

// proofEnd is when a proof gives up: after its time, or earlier, so that a quarter of what the
// operator's timeout leaves is there to find the cause.
func proofEnd(ctx context.Context, limit time.Duration) time.Time {
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)*3/4)
	}
	return time.Now().Add(limit)
}

// logLines are enough for one start of opensm up to its failure.
const logLines = 40
