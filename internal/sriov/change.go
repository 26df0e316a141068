package sriov

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/coreutils"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// Result is what Apply and Remove did.
type Result = managed.Result[Look]

// script makes $2 virtual functions of the card $1. The kernel goes from one number to another only over 0.
// Status 3 is a card without SR-IOV, 4 a driver that does not let its functions go.
const script = `file=/sys/bus/pci/devices/$1/sriov_numvfs
read -r now <"$file" || exit 3
[ "$now" = "$2" ] && exit 0
if [ "$now" != 0 ]; then
  echo 0 >"$file" || exit 4
fi
echo "$2" >"$file"
`

// setTimeout is for drivers that take a second or more for each function.
const setTimeout = 5 * time.Minute

func set(q Request, number int) shellcmd.Command {
	return shellcmd.Script("set-virtual-functions", script, q.Card.String(), strconv.Itoa(number)).AsRoot().Changes().
		WithTimeout(setTimeout)
}

// setPorts gives some functions their ports.
func setPorts(q Request, numbers []int) shellcmd.Command {
	args := []string{q.Card.String()}
	for _, number := range numbers {
		args = append(args, arguments(number, q.Ports[number])...)
	}
	return shellcmd.Script("set-virtual-ports", portsScript, args...).AsRoot().Changes().WithTimeout(setTimeout)
}

// Apply makes the card what q says, now and at boot. It is safe to repeat. What blocks is *safety.RefusedError.
func Apply(ctx context.Context, h *hosts.Host, l Look, q Request) (Result, error) {
	if err := safety.Refusal("set virtual functions of "+q.Name(), Check(l, q, false)); err != nil {
		return Result{}, err
	}
	if len(l.Differences(q)) == 0 {
		return Result{Look: l}, nil
	}
	note := changes.Change{What: changes.VFs, Object: q.Card.String(), From: words(len(l.Functions), l.Boot),
		To: words(q.Number, q.Number)}
	for _, number := range l.Stale(q) {
		note.From, note.To = note.From+"; "+l.portNow(number), note.To+"; "+told(number, q.Ports[number])
	}
	return managed.Noted(ctx, h, note, func(ctx context.Context) (r Result, err error) {
		// The unit comes first: if the run ends in between, the next boot is right.
		if r.Warnings, err = store(ctx, h, l, q); err != nil {
			return r, err
		}
		r.Changed = true
		if len(l.Functions) != q.Number {
			if _, err = h.Run(ctx, set(q, q.Number)); err != nil {
				return r, fmt.Errorf("setting %d virtual functions: %w", q.Number, err)
			}
			l.Ports = nil // new ones have none
		}
		if stale := l.Stale(q); len(stale) > 0 {
			if _, err = h.Run(ctx, setPorts(q, stale)); err != nil {
				return r, fmt.Errorf("setting GUIDs and link states of virtual functions: %w", err)
			}
		}
		s, err := h.Snapshot(ctx)
		if err != nil {
			return r, err
		}
		if r.Look = Find(s, &q); len(r.Look.Differences(q)) > 0 {
			err = fmt.Errorf("%d virtual functions were set, and %s shows something else: %s", q.Number, q.Name(),
				r.Look.Differences(q)[0])
		}
		return r, err
	})
}

// store writes and enables the unit. One that somebody has written into is kept.
func store(ctx context.Context, h *hosts.Host, l Look, q Request) (notes []string, err error) {
	if notes, err = platform.KeepEdited(ctx, h, l.edits, unitPath(q.Card)); err != nil {
		return notes, err
	}
	if err = platform.WriteFile(ctx, h, unitPath(q.Card), 0o644, unit(q.Card, q.Number, q.Ports)); err != nil {
		return notes, err
	}
	return notes, platform.EnableUnit(ctx, h, UnitName(q.Card))
}

// Remove takes away what makes virtual functions at boot. Those that are there stay: a guest may use them.
func Remove(ctx context.Context, h *hosts.Host, l Look, q Request) (Result, error) {
	if !l.Stored {
		return Result{}, nil
	}
	note := changes.Change{What: changes.VFs, Object: q.Card.String(), From: words(len(l.Functions), l.Boot),
		To: words(len(l.Functions), 0)}
	return managed.Noted(ctx, h, note, func(ctx context.Context) (r Result, err error) {
		if r.Left, err = platform.KeepEdited(ctx, h, l.edits, unitPath(q.Card)); err != nil {
			return r, err
		}
		for _, cmd := range []shellcmd.Command{systemctl.Disable(UnitName(q.Card)), coreutils.RemoveFile(unitPath(q.Card)),
			systemctl.DaemonReload()} {
			if _, err = h.Run(ctx, cmd); err != nil {
				return r, fmt.Errorf("removing %s: %w", UnitName(q.Card), err)
			}
		}
		return r, nil
	})
}
