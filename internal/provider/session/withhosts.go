package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
)

// WithHost runs do while nobody else in this process writes to the machine, under any of
// its names: two resources may share a file there. It forgets the facts of the host before:
// the wait may have been long.
func (d *Data) WithHost(ctx context.Context, name string, do func(*hosts.Host) error) error {
	return d.WithHosts(ctx, []string{name}, func(open []*hosts.Host) error { return do(open[0]) })
}

// WithHosts is WithHost for several hosts at once, which may be one machine. The locks are
// taken in an order that is the same for all, so that two never wait for each other.
func (d *Data) WithHosts(ctx context.Context, names []string, do func([]*hosts.Host) error) error {
	open, machines := make([]*hosts.Host, len(names)), make([]string, len(names))
	for i, name := range names {
		var err error
		if open[i], _, err = d.Host(name); err != nil {
			return err
		}
		if machines[i], err = d.machineToLock(ctx, open[i], name); err != nil {
			return err
		}
	}
	slices.Sort(machines)
	machines = slices.Compact(machines)
	for _, machine := range machines {
		unlock, err := d.Lock(ctx, machine)
		if err != nil {
			return fmt.Errorf("wait for other changes of host %s: %w", machine, err)
		}
		defer unlock()
	}
	for _, h := range open {
		h.Invalidate()
	}
	d.forgetOtherNames(names, machines)
	defer d.forgetOtherNames(names, machines)
	return do(open)
}

// machineToLock names the machine of a host, and reads the host if that is not known yet.
// A host that another one writes to is not read before that has ended: it may be starting.
func (d *Data) machineToLock(ctx context.Context, h *hosts.Host, name string) (string, error) {
	if len(d.Hosts) == 1 {
		return name, nil
	}
	if machine, met := d.Planned.Met(name); met {
		return machine, nil
	}
	unlock, err := d.Lock(ctx, name)
	if err != nil {
		return "", fmt.Errorf("wait for other changes of host %s: %w", name, err)
	}
	defer unlock()
	snap, err := h.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	return d.Planned.Machine(name, snap), nil
}

// forgetOtherNames forgets what was found on machines under other names than these.
func (d *Data) forgetOtherNames(names, machines []string) {
	for name := range d.Hosts {
		machine, met := d.Planned.Met(name)
		if !met {
			machine = d.machineOf(name)
		}
		if slices.Contains(names, name) || !slices.Contains(machines, machine) {
			continue
		}
		// Also where nothing is remembered: somebody may be reading the host now.
		if h, _, err := d.Host(name); err == nil {
			h.Invalidate()
		}
	}
}
