package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// Remove stops the port's SM and takes away what Apply left, nothing else; l is the last look at the port.
func Remove(ctx context.Context, h *hosts.Host, l *found.Look) (Result, error) {
	l, err := renew(ctx, h, l)
	if err != nil {
		return Result{}, err
	}
	// A file that could not be read may be a person's.
	if len(l.Unread) > 0 {
		return Result{Look: l}, fmt.Errorf("%s: %s could not be read, so that it is not known what is ours", h.Name(),
			strings.Join(l.Unread, " and "))
	}
	if !l.Managed {
		left := fmt.Sprintf("%s was not set up by Terraform and is left as it is.", l.Unit)
		return Result{Look: l, Left: []string{left}}, nil
	}
	return withHistory(ctx, h, l, "none", func(ctx context.Context) (Result, error) { return stop(ctx, h, l) })
}

// stop ends an instance of ours and removes it.
func stop(ctx context.Context, h *hosts.Host, l *found.Look) (Result, error) {
	r := Result{Changed: true}
	// The boot comes first: a removal that fails half way leaves nothing that starts again.
	after, err := removeBoot(ctx, h, l)
	if err != nil {
		return r, err
	}
	failed := func(err error) error { return fmt.Errorf("stopping the subnet manager of port %s: %w", l.Port, err) }
	// systemctl stop fails for a unit without a file, unless it still runs.
	if !l.Absent {
		if err = run(ctx, h, systemctl.Stop(l.Unit)); err != nil {
			return r, failed(err)
		}
	}
	if r.Left, err = removeFiles(ctx, h, l); err != nil {
		return r, err
	}
	if err = run(ctx, h, append([]shellcmd.Command{systemctl.DaemonReload()}, after...)...); err != nil {
		return r, failed(err)
	}
	if r.Look, err = renew(ctx, h, l); err != nil {
		return r, err
	}
	r.Left = slices.Concat(r.Left, judge.FindStillMasked(l), judge.FindStaying(l), []string{describePackage(r.Look),
		"Ports keep their LIDs and state until they lose their link. Without another subnet manager no new port can join " +
			"the fabric."})
	return r, stillRuns(r.Look)
}

// describePackage says what is left alone: other programs may need the package and its module.
func describePackage(l *found.Look) string {
	if l.Installed == "" {
		return "The module ib_umad stays loaded, now and at boot."
	}
	return "The package opensm stays installed, and the module ib_umad stays loaded, now and at boot."
}

// stillRuns is the error of an instance that was stopped and may still run.
func stillRuns(l *found.Look) error {
	switch runs, known := l.Active.Get(); {
	case !known:
		return fmt.Errorf("%s: %s was stopped, and whether it still runs is not known: %s", l.Host, l.Unit, l.Active.Why())
	case runs:
		return errors.New(l.Host + ": " + l.Unit + " was stopped and still runs")
	}
	return nil
}
