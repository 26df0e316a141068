package cards

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// ReadAgain reads host and card anew just before flash is written: the first verdict is
// minutes old by then. The result of the inspection is kept. The backup has read and
// verified the whole flash since, and any other difference leads to another verdict.
func (o *Session) ReadAgain(ctx context.Context, c Card, first Assessment) (*Look, Assessment, error) {
	l, err := o.ReadFree(ctx, c, BusyTries)
	if err != nil {
		return nil, Assessment{}, err
	}
	now := o.Assess(c, l)
	now.Card = withInspection(now.Card, first.Card)
	return l, now, nil
}

// ReadFree reads a card anew, most times at most, a second apart, while another
// program has its flash semaphore, or an operation of ours the lock.
func (o *Session) ReadFree(ctx context.Context, c Card, most int) (*Look, error) {
	for try := 1; ; try++ {
		c.Host.Invalidate()
		l, err := c.Look(ctx)
		again := MayPass(err) && try < lostTries || err == nil && l.Card.FlashTaken && try < most
		if !again {
			return l, err
		}
		if err := poll.Pause(ctx, min(time.Second, o.Poll)); err != nil {
			return nil, err
		}
	}
}

// RefuseOvertaken refuses because of what was found just before a write. A job of
// another apply is named first: all other differences follow from it.
func RefuseOvertaken(c Card, before, now *Look, what string, first, final safety.Verdict) error {
	refused := &safety.RefusedError{What: what, Findings: slices.Clone(final.Findings)}
	var ended []string
	for _, j := range newJobs(before.Snap, now.Snap, c.PCI) {
		r := journal.ReportOf(j)
		name := j.What()
		if r.Running {
			refused.Findings = []finding.Finding{finding.FlashJobRunning.Find("%s, is changing this card. "+
				"It belongs to another apply, which began while the backup was taken.", name)}
			return refused
		}
		ended = append(ended, name+", has written the card meanwhile. It belongs to another apply.")
	}
	if len(refused.Blockers()) == 0 || len(ended) > 0 {
		said := append([]string{"While the backup was taken, the card or its host changed."}, differences(first, final)...)
		refused.Findings = append(refused.Findings,
			finding.ChangedSincePlan.Find("%s", strings.Join(append(said, ended...), " ")))
	}
	return refused
}

// newJobs gives the jobs of a card that began since the earlier look.
func newJobs(before, now *inventory.Snapshot, pci ib.PCIAddress) []*inventory.Job {
	known := map[string]bool{}
	for _, j := range before.JobsOf(pci) {
		known[j.ID] = true
	}
	return slices.DeleteFunc(now.JobsOf(pci), func(j *inventory.Job) bool { return known[j.ID] })
}

// differences names, in sentences, what changed since an earlier verdict. A value that
// one of the two lacks is left out.
func differences(first, final safety.Verdict) []string {
	var all []string
	switch {
	case final.Action == safety.ActionNone && first.Action != final.Action:
		all = append(all, "The card already has what the configuration asks for. Nothing is left to write.")
	case final.Action == safety.ActionWait:
		all = append(all, "A flash job of this card is running.")
	}
	changed := func(format, was, is string) {
		if was != is && was != "" && is != "" {
			all = append(all, fmt.Sprintf(format, was, is))
		}
	}
	changed("The flash held %s, and now holds %s.", flashWords(first.From), flashWords(final.From))
	changed("The flash would have held %s afterwards, and now would hold %s.", flashWords(first.To), flashWords(final.To))
	changed("The card would have got %s, and now would get %s.", identityWords(first.GUIDs), identityWords(final.GUIDs))
	if final.Action == first.Action {
		changed("The activation was %s, and now is %s.", string(first.Activation), string(final.Activation))
	}
	for _, q := range final.Answers {
		if !slices.Contains(first.Answers, q) {
			all = append(all, fmt.Sprintf("mstflint would now ask for a consent that was not needed before: %s.", q))
		}
	}
	return all
}

// flashWords is empty for a flash of which nothing is known.
func flashWords(f ib.Firmware) string {
	if f.FW.IsZero() {
		return string(f.PSID)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s", f.PSID, f.FW))
}

func identityWords(g ib.GUIDSet) string {
	if g == (ib.GUIDSet{}) {
		return ""
	}
	return g.Text()
}
