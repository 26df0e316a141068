package hca

import (
	"context"
	"errors"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Adopt finishes what earlier runs began on the card: it waits for jobs that
// run, reads the card, and settles them. It gives sentences on what it found.
// A job that failed or was interrupted is no error here as long as the card
// holds one whole image; the caller goes on from what the card is now.
func (o *Ops) Adopt(ctx context.Context, c Card) ([]string, error) {
	s, _, err := snapshotCard(ctx, c)
	if err != nil {
		return nil, err
	}
	var did []string
	for _, pending := range PendingJobs(s, c.PCI) {
		record, ok := s.Job(pending.ID)
		if !ok || c.Host.Observe() || foreign(record) != "" {
			continue // a journal of another version is for the verdict to refuse
		}
		text, err := o.adoptOne(ctx, c, record)
		did = append(did, text...)
		if err != nil {
			return did, err
		}
	}
	return did, nil
}

func (o *Ops) adoptOne(ctx context.Context, c Card, record *inventory.Job) ([]string, error) {
	o.cfg.Progress(ctx, report(record).String())
	out, err := o.watch(ctx, c, record.ID, 2*o.cfg.Poll)
	if err != nil {
		return nil, err
	}
	if out.absent || out.settled {
		return nil, nil
	}
	want := expectationOf(record)
	did, err := o.conclude(ctx, c, out, want)
	if err == nil {
		return append([]string{"Found job " + record.ID + " of an earlier run (" + record.Operator + ")."}, did...), nil
	}
	// Read again: a settled job leaves a card that is whole, and this run can
	// go on from there.
	after, lookErr := o.look(ctx, c.Host, record.ID)
	if lookErr == nil && after.settled {
		var e *Error
		if errors.As(err, &e) {
			did = append(did, "Job "+record.ID+" of an earlier run had not succeeded: "+e.What)
		}
		return did, nil
	}
	return did, err
}

// expectationOf reads from a job's request what the card should hold.
func expectationOf(j *inventory.Job) expectation {
	want := expectation{kind: j.Kind, before: flashFrom(j, "from_psid", "from_fw")}
	from, hasFrom := identityFrom(j.Request["from_guids"], j.Request["from_macs"])
	if j.Kind == KindGUIDs {
		want.flash, want.oldGUIDs, want.ownROM = want.before, from, true
		want.guids, _ = identityFrom(j.Request["to_guids"], j.Request["to_macs"])
		return want
	}
	want.flash, want.guids, want.blank = flashFrom(j, "to_psid", "to_fw"), from, !hasFrom
	return want
}

func flashFrom(j *inventory.Job, psid, fw string) safety.Flash {
	f := safety.Flash{PSID: ib.PSID(j.Request[psid])}
	if v, err := ib.ParseFWVersion(j.Request[fw]); err == nil {
		f.FW = v
	}
	return f
}

func identityFrom(guids, macs string) (ib.GUIDSet, bool) {
	g, m := strings.Fields(guids), strings.Fields(macs)
	if len(g) != 4 || len(m) != 2 {
		return ib.GUIDSet{}, false
	}
	var set ib.GUIDSet
	for i, to := range []*ib.GUID{&set.Node, &set.Port1, &set.Port2, &set.SystemImage} {
		v, err := ib.ParseGUID(g[i])
		if err != nil {
			return ib.GUIDSet{}, false
		}
		*to = v
	}
	for i, to := range []*ib.MAC{&set.MAC1, &set.MAC2} {
		v, err := ib.ParseMAC(m[i])
		if err != nil {
			return ib.GUIDSet{}, false
		}
		*to = v
	}
	return set, true
}
