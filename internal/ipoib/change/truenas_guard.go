package change

import (
	"context"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
)

// guardComment is by which a later run finds the init script of a change that it did not make.
func guardComment(port ib.GUID) string {
	return "Terraform (ibfabric/infiniband): undo an unconfirmed change of " + port.String()
}

// notTakenBack is the error on a change that the middleware refused, and of which it then refused to
// take back what it had stored; guard is the comment of the init script that stays.
func notTakenBack(hostName, name, guard string, exit *host.ExitError) error {
	return &explain.Failure{Summary: hostName,
		What: fmt.Sprintf("The middleware of %s refused the change of %s. Then it did not take back what it had stored "+
			"(interface.rollback failed).", hostName, name),
		Means: fmt.Sprintf("The new configuration may still be stored, and pending. If the host restarts within %d minutes "+
			"of this change, an init script puts back the former configuration. After that a restart takes the new one.",
			int(midclt.GuardTime.Minutes())),
		Check: "Revert the pending changes in the TrueNAS web interface (Network: Revert Changes), or on the host: midclt " +
			"call interface.rollback. Then run apply again: it removes the init script. Until then every plan refuses (IP016).",
		Facts: []explain.Fact{{"Host", hostName}, {"Interface", name}, {"Init script", guard},
			{"Messages", midclt.Messages(exit.Stderr)}},
		Err: exit}
}

// bootGuard restores what the middleware has stored now, if the host restarts before
// the change is checked in.
func (c *change) bootGuard(ctx context.Context) (midclt.Guard, error) {
	back, err := c.back(ctx)
	if err != nil {
		return midclt.Guard{}, err
	}
	g, err := midclt.NewGuard(guardComment(c.d.PortGUID), back...)
	if err != nil {
		return midclt.Guard{}, fmt.Errorf("%s: no change of %s that a restart could not undo: %w", c.h.Name(), c.look.Name,
			err)
	}
	return g, nil
}

// back gives the steps that restore the stored state. An interface without a row, on a
// host that has others, gets an empty one, which means the same.
func (c *change) back(ctx context.Context) ([]midclt.Step, error) {
	all, err := c.look.Middleware().Interfaces, c.look.Middleware().InterfacesErr
	if err != nil {
		return nil, fmt.Errorf("%s: the middleware's interfaces are not understood: %w", c.h.Name(), err)
	}
	if midclt.NothingStored(all) {
		steps := []midclt.Step{midclt.Drop(c.look.Name)}
		// Both rows are of this change: before it there was none.
		if keep := c.d.Consent.KeepInterface; keep != "" {
			steps = append(steps, midclt.Drop(keep))
		}
		return steps, nil
	}
	for _, i := range all {
		if i.Name == c.rowName() {
			return c.backTo(ctx, i)
		}
	}
	return nil, fmt.Errorf("%s: the middleware does not list %s", c.h.Name(), c.rowName())
}

// backTo gives the steps that store a row as it was.
func (c *change) backTo(ctx context.Context, i midclt.Interface) ([]midclt.Step, error) {
	u := midclt.Update{Description: &i.Description, DHCP: i.DHCP, IPv6Auto: i.IPv6Auto, Aliases: &i.Aliases, MTU: i.MTU}
	if i.MTU == nil {
		// What is left out would stay as the change has it.
		now := min(i.State.MTU, midclt.MaxMTU)
		u.MTU = &now
	}
	if i.MTU == nil || *i.MTU <= midclt.MaxMTU {
		return []midclt.Step{midclt.Store(i.Name, u)}, nil
	}
	// The API refuses what the private method stored.
	row, err := c.rowOf(ctx, i.Name)
	if err != nil {
		return nil, err
	}
	u.MTU = nil
	return []midclt.Step{midclt.Store(i.Name, u), midclt.StoreRowMTU(row, *i.MTU)}, nil
}

// recover implements stack. The middleware undoes a commit that nobody checked
// in by itself, and until then Check refuses; after a restart the guard has
// undone it. What is left is the guard.
func (trueNASStack) recover(ctx context.Context, c *change) (string, error) {
	waiting, known := c.look.Snapshot().TrueNAS.CheckinWaiting.Get()
	if !fact.No(c.look.Snapshot().TrueNAS.PendingChanges) || !known || waiting > 0 {
		return "", nil // Check refuses
	}
	scripts, err := midclt.ParseInitScripts(c.look.Snapshot().TrueNAS.InitScripts)
	if err != nil {
		return "", fmt.Errorf("%s: the middleware's init scripts are not understood: %w", c.h.Name(), err)
	}
	undone := ""
	for _, s := range scripts {
		if s.Comment != guardComment(c.d.PortGUID) {
			continue
		}
		if _, err := c.h.Run(ctx, midclt.DeleteInitScript(s.ID)); err != nil {
			return "", fmt.Errorf("removing init script %d, which guarded an earlier change: %w", s.ID, err)
		}
		undone = "was never confirmed, so that the host went back to what it had before; its guard against a restart was " +
			"removed"
	}
	return undone, nil
}

// rows are the stored interfaces with their numbers in the database, which the public API does not
// show.
func (c *change) rows(ctx context.Context) ([]midclt.Row, error) {
	r, err := c.h.Run(ctx, midclt.QueryRows())
	if err != nil {
		return nil, fmt.Errorf("reading the stored interfaces by the middleware's private method: %w", err)
	}
	rows, err := midclt.ParseRows(r.Stdout)
	if err != nil {
		return nil, c.misread(midclt.QueryRows().String(), r, err)
	}
	return rows, nil
}

// rowOf is the number of an interface; 0 if nothing is stored for it.
func (c *change) rowOf(ctx context.Context, name string) (int, error) {
	rows, err := c.rows(ctx)
	for _, r := range rows {
		if r.Interface == name {
			return r.ID, nil
		}
	}
	return 0, err
}
