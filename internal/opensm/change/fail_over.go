package change

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/saquery"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/sminfo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// CheckFailOver asks the fabric of a port for a standby. It gives the master, that of the port, and the one that
// would take over. What speaks against it is an error, and what would keep the master from starting again is
// *safety.RefusedError.
func CheckFailOver(ctx context.Context, h *hosts.Host, l *found.Look) (master, next saquery.Manager, err error) {
	if err = refuse(l, judge.CheckMasked(l, judge.PlanFacts{})); err != nil {
		return master, next, err
	}
	view, err := Survey(ctx, h, l)
	if err != nil {
		return master, next, err
	}
	if against := judge.AgainstFailOver(l, view); against != "" {
		return master, next, errors.New(against)
	}
	next, _ = judge.Standby(view, l.Port)
	return view.Master, next, nil
}

// FailOver stops the master on a port until its standby rules the fabric, and starts it again; l is the last look at
// the port. The priorities say who rules then. All ports of the fabric have to keep their LIDs. Whatever fails, the
// former master is started again.
func FailOver(ctx context.Context, h *hosts.Host, l *found.Look, o Options, tell func(string)) (Result, error) {
	o = o.withDefaults()
	l, err := renew(ctx, h, l)
	if err != nil {
		return Result{}, err
	}
	master, next, err := CheckFailOver(ctx, h, l)
	if err != nil {
		return Result{}, err
	}
	f := failOver{h: h, l: l, o: o, tell: tell, master: master}
	// Before the stop: LIDs that change break connections, and are what this action proves.
	if f.lids, err = fabric.LIDs(ctx, h, f.through()); err != nil {
		return Result{}, err
	}
	return withHistory(ctx, h, l, fmt.Sprintf("stopped until port %s rules, and started again", next.GUID),
		func(ctx context.Context) (Result, error) { return Result{Changed: true}, f.do(ctx, next) })
}

type failOver struct {
	h      *hosts.Host
	l      *found.Look
	o      Options
	tell   func(string)
	master saquery.Manager
	lids   map[ib.GUID]int // of the whole fabric before
}

func (f failOver) through() fabric.Through {
	return fabric.Through{Device: f.l.Device, Port: f.l.Number}
}

func (f failOver) do(ctx context.Context, next saquery.Manager) error {
	wait := time.Duration(f.l.Tuning.HandOver()) * time.Millisecond
	f.tell(fmt.Sprintf("stopping %s of %s; the standby on port %s, priority %d, takes over within %s if it has the same "+
		"options", f.l.Unit, f.l.Host, next.GUID, next.Priority, wait))
	err := run(ctx, f.h, systemctl.Stop(f.l.Unit))
	ruler := saquery.Manager{}
	if err == nil {
		// opensm hands nothing over when it ends; the standby waits for all its looks (3.3.23).
		ruler, err = f.awaitMaster(ctx, wait+f.o.ProofTimeout, "no standby has taken over the fabric",
			func(g ib.GUID) bool { return g != f.l.Port })
	}
	// The former master starts again also if nobody took over, and if the action was interrupted.
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), putBackTime)
	defer cancel()
	if again := run(back, f.h, systemctl.Start(f.l.Unit)); again != nil {
		return errors.Join(err, fmt.Errorf("%s of %s was stopped, and may not run again. Start it with systemctl start "+
			"%s: %w", f.l.Unit, f.l.Host, f.l.Unit, again))
	}
	f.tell("started " + f.l.Unit + " of " + f.l.Host + " again")
	if err != nil {
		return fmt.Errorf("%s of %s was started again. %w", f.l.Unit, f.l.Host, err)
	}
	// A standby of a lower priority keeps the role until the former master is back.
	rules := judge.Beats(f.master, ruler)
	if _, err = f.awaitMaster(ctx, f.o.ProofTimeout, "the fabric does not have the master that the priorities ask for",
		func(g ib.GUID) bool { return (g == f.l.Port) == rules }); err != nil {
		return err
	}
	if last, watched := watch(ctx, f.h, f.l, f.o); watched != nil || !isServed(last) {
		return errors.Join(watched, fmt.Errorf("%s of %s was started again and does not serve port %s", f.l.Unit, f.l.Host,
			f.l.Port))
	}
	return nil
}

// awaitMaster waits until a wanted subnet manager rules the fabric. Then the LIDs have to be those of before.
func (f failOver) awaitMaster(ctx context.Context, limit time.Duration, lacks string,
	wanted func(ib.GUID) bool) (saquery.Manager, error) {
	begin, deadline := time.Now(), proofEnd(ctx, limit)
	for {
		var v found.View
		status, out, err := ask(ctx, f.h, sminfo.Query(f.l.Device, f.l.Number))
		if err != nil {
			return v.Master, err
		}
		readMaster(&v, status, out, f.l.PortState)
		m, passed := v.Master, time.Since(begin).Round(time.Second)
		switch {
		case fact.Yes(v.Ruled) && wanted(m.GUID):
			f.tell(fmt.Sprintf("the subnet manager on port %s, priority %d, is the master after %s", m.GUID, m.Priority, passed))
			return m, f.keepsLIDs(ctx)
		case time.Now().After(deadline):
			return m, fmt.Errorf("after %s %s. Asked at port %s of %s, sminfo says: %s", passed, lacks, f.l.Port, f.l.Host,
				strings.TrimSpace(out))
		}
		if err = poll.Pause(ctx, f.o.Poll); err != nil {
			return m, err
		}
	}
}

// keepsLIDs compares the LIDs of the fabric with those of before. A port that has gone or come does not count.
func (f failOver) keepsLIDs(ctx context.Context) error {
	now, err := fabric.LIDs(ctx, f.h, f.through())
	if err != nil {
		return err
	}
	if changed := changedLIDs(f.lids, now); len(changed) > 0 {
		return fmt.Errorf("LIDs of the fabric have changed: %s. Connections to these ports break. Look for "+
			"reassign_lids in the options of both subnet managers", strings.Join(changed, "; "))
	}
	f.tell(fmt.Sprintf("all %d LIDs of the fabric are as before", len(f.lids)))
	return nil
}

func changedLIDs(before, now map[ib.GUID]int) (changed []string) {
	for _, guid := range slices.Sorted(maps.Keys(before)) {
		// A port without a LID before has one now because somebody rules: that is no change.
		if lid, there := now[guid]; there && before[guid] != 0 && lid != before[guid] {
			changed = append(changed, fmt.Sprintf("%s had %d and has %d", guid, before[guid], lid))
		}
	}
	return changed
}
