package cards

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// ReadAgain reads host and card anew just before flash is written: the first verdict is
// minutes old by then. The result of the inspection is kept. The backup has read and
// verified the whole flash since, and any other difference leads to another verdict. A card
// that was written meanwhile is *safety.RefusedError: the inspection is not of what is in
// flash now, and the apply that wrote it may not have read it back.
func (o *Session) ReadAgain(ctx context.Context, c Card, first Assessment) (*Look, Assessment, error) {
	l, err := o.ReadFree(ctx, c, BusyTries)
	if err == nil {
		err = refuseWritten(c, first, l)
	}
	if err != nil {
		return nil, Assessment{}, err
	}
	now := o.Assess(c, l)
	// An inspection takes minutes, and whatever would make it stale is refused above.
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

// refuseWritten refuses because of a write of the card since its first verdict.
func refuseWritten(c Card, first Assessment, now *Look) error {
	what := "write the flash of card " + c.ID()
	if first.Verdict.Action == safety.ActionBackup {
		what = "back up firmware of card " + c.ID()
	}
	before := &Look{Snap: &first.Host.Snapshot}
	was, is := first.Card.InFlash(), now.Card.InFlash()
	if len(newJobs(before.Snap, now.Snap, c.PCI)) == 0 && (!now.Card.FlashKnown() || is.Firmware == was.Firmware) {
		return nil
	}
	return RefuseOvertaken(c, before, now, what, safety.Verdict{From: was.Firmware}, safety.Verdict{From: is.Firmware})
}

// RefuseOvertaken refuses because of what was found just before a write. A job of
// another apply is the only reason then: all other differences follow from it.
func RefuseOvertaken(c Card, before, now *Look, what string, first, final safety.Verdict) error {
	refused := &safety.RefusedError{What: what, Findings: slices.Clone(final.Findings)}
	said := append([]string{"While the backup was taken, the card or its host changed."}, differences(first, final)...)
	written := false
	for _, j := range newJobs(before.Snap, now.Snap, c.PCI) {
		// It may write at this moment: nothing else that was found means anything.
		if j.MayRun() {
			refused.Findings = []finding.Finding{finding.FlashJobRunning.Find("%s, is changing this card. "+
				"It belongs to another apply, which began while the backup was taken.", j.What())}
			return refused
		}
		written, refused.Findings = true, nil
		said = append(said, j.What()+", has written the card meanwhile. It belongs to another apply.")
	}
	if len(refused.Blockers()) == 0 || written {
		refused.Findings = append(refused.Findings, finding.ChangedSincePlan.Find("%s", strings.Join(said, " ")))
	}
	return refused
}

// newJobs gives the jobs of a card that began since the earlier look, and that run or may have
// written it.
func newJobs(before, now *inventory.Snapshot, pci ib.PCIAddress) []*inventory.Job {
	known := map[string]bool{}
	for _, j := range before.JobsOf(pci) {
		known[j.ID] = true
	}
	return slices.DeleteFunc(now.JobsOf(pci), func(j *inventory.Job) bool {
		return known[j.ID] || !j.MayRun() && !inventory.MayHaveWritten(j.States)
	})
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
