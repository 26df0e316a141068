package hca

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Adopt closes what earlier runs began on the card: it waits for jobs that run,
// reads the card, records what it finds, and settles them. It writes nothing to the
// card: whoever has changed it by hand since wins. What a burn took from the card is
// given back by ApplyFirmware alone, and its job stays open until then; see loss.
//
// It gives sentences on what it found. A job that failed or was interrupted is no
// error here as long as the card holds one whole image; the caller goes on from what
// the card is now.
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
	if err == nil {
		out, err = o.leaveToOwner(ctx, c, record, out)
	}
	if err != nil || out.absent || out.settled {
		return nil, err
	}
	text, how, err := o.readAfter(ctx, c, record, out)
	if err != nil {
		return nil, err
	}
	if how != "" {
		err = o.settle(ctx, c, out.id, how)
	}
	return []string{"Found job " + record.ID + " of an earlier run (" + record.Operator + ").", text}, err
}

// readAfter reads the card after a job of an earlier run and says what it found, and
// how the job is settled by that; empty if it has to stay open.
func (o *Ops) readAfter(ctx context.Context, c Card, record *inventory.Job, out outcome) (text, how string, err error) {
	c.Host.Invalidate()
	s, card, err := snapshotCard(ctx, c)
	if err != nil {
		return "", "", err
	}
	if like, why := ib.Compare(cardOf(record), s.Identity(card)); like == ib.Other {
		return "It was for another card than the one that is in the slot now: " + why + ".", "another card is in the slot: " + why, nil
	}
	if !out.wrote() {
		return "It had not succeeded and wrote nothing: " + orNothing(out.reason) + ".", "nothing was written", nil
	}
	facts, err := o.readCard(ctx, c, readTries)
	if err != nil {
		return "", "", withBackup(o.unread(c, out, err), record.Request["backup_path"])
	}
	done := out.ended && out.exit == 0 && out.last() != "failed"
	if !whole(facts) {
		e := o.failed(c, out, ending(out))
		e.Facts = append(e.Facts, Fact{"Flash", orNothing(facts.FlashError + facts.VerifyError)})
		return "", "", withBackup(e, record.Request["backup_path"])
	}
	want := expectationOf(record)
	text = flashText(c, facts, want) + identityText(facts.GUIDs, want)
	if !done {
		text = "It had not succeeded. " + ending(out) + " " + text
	}
	if s, card, err = snapshotCard(ctx, c); err != nil {
		return "", "", err
	}
	if l := lossOf(s, card); l != nil && l.job == record.ID {
		return text + " " + l.String(), "", nil
	}
	return text, text, nil
}

// cardOf is the card that a job was for; empty if it does not say.
func cardOf(j *inventory.Job) ib.Identity {
	id, err := ib.ParseIdentity(j.Request["card_identity"])
	if err != nil {
		return ib.Identity{}
	}
	return id
}

// identityText says what became of the identity after a job; empty if it is as the
// job left it.
func identityText(now ib.GUIDSet, want expectation) string {
	switch {
	case now == want.guids, want.blank:
		return ""
	case want.kind == KindGUIDs && now == want.oldGUIDs:
		return " It has the GUIDs and MACs from before."
	}
	return fmt.Sprintf(" It has %s, and the job left %s. They were set since, or lost; nothing was written.", describeIdentity(now), describeIdentity(want.guids))
}

// loss is an identity that a burn took from a card and that nobody has replaced
// since: of each value that was there before, the card now has none or that of a
// file for distribution.
type loss struct {
	job    string
	before ib.GUIDSet
	guids  bool // which halves were there before
	macs   bool
}

// String is the announcement in a plan.
func (l *loss) String() string {
	var parts []string
	if l.guids {
		parts = append(parts, "GUIDs "+guidWords(l.before))
	}
	if l.macs {
		parts = append(parts, fmt.Sprintf("MACs %s %s", l.before.MAC1, l.before.MAC2))
	}
	return "The burn took the identity of the card, or somebody has cleared it since. Planned write: " + strings.Join(parts, ", ") +
		", as before the job. The infiniband_firmware resource of the card writes it, with a backup before, and closes the job then; no other resource does. " +
		"If other values are wanted, set them before with an infiniband_guids resource or by hand."
}

// lossOf finds what the last job that wrote to a card took from it: a burn that
// nobody has settled, of this very card.
func lossOf(s *inventory.Snapshot, card *inventory.Card) *loss {
	if card.Flash == nil || card.Flash.ImageType != "FS2" {
		return nil
	}
	last := lastWriter(s, card.PCI)
	if last == nil || last.Kind != KindBurn || last.Settled || !fact.No(last.Running) || foreign(last) != "" {
		return nil
	}
	before, known := identityFrom(last.Request["from_guids"], last.Request["from_macs"])
	if like, _ := ib.Compare(cardOf(last), s.Identity(card)); !known || like != ib.Same || !cleared(before, card.Flash.GUIDs) {
		return nil
	}
	return &loss{job: last.ID, before: before, guids: ib.UniqueGUID(before.Node), macs: ib.UniqueMAC(before.MAC1)}
}

// lastWriter is the last job that began to write to a card.
func lastWriter(s *inventory.Snapshot, pci ib.PCIAddress) *inventory.Job {
	var last *inventory.Job
	for _, j := range s.JobsOf(pci) {
		if slices.ContainsFunc(j.States, func(state inventory.JobState) bool { return state.Name == "burning" }) {
			last = j
		}
	}
	return last
}

// cleared reports whether a value that was there before is there no more, and
// somebody has set none.
func cleared(before, now ib.GUIDSet) bool {
	gone := false
	for _, v := range [][2]ib.GUID{{before.Node, now.Node}, {before.Port1, now.Port1}, {before.Port2, now.Port2}, {before.SystemImage, now.SystemImage}} {
		if v[0] != v[1] && ib.UniqueGUID(v[1]) {
			return false
		}
		gone = gone || v[0] != v[1] && ib.UniqueGUID(v[0])
	}
	for _, v := range [][2]ib.MAC{{before.MAC1, now.MAC1}, {before.MAC2, now.MAC2}} {
		if v[0] != v[1] && ib.UniqueMAC(v[1]) {
			return false
		}
		gone = gone || v[0] != v[1] && ib.UniqueMAC(v[0])
	}
	return gone
}

// giveBack writes what a burn of an earlier run took from the card, as the plan has
// announced, with all that a change of GUIDs needs. It reports whether it did.
func (o *Ops) giveBack(ctx context.Context, f Firmware, did *[]string) (bool, error) {
	s, card, err := snapshotCard(ctx, f.Card)
	if err != nil {
		return false, err
	}
	l := lossOf(s, card)
	if l == nil {
		return false, nil
	}
	// They are the card's own: the fabric had them with this card until the burn, and
	// is not asked whether it has them.
	lab := f.Lab
	lab.Fabric = fact.Known[[]safety.FabricNode](nil)
	g := GUIDs{Card: f.Card, Lab: lab, Request: safety.GUIDRequest{
		Want: l.before, HasGUIDs: l.guids, HasMACs: l.macs, ManagementPath: f.Request.ManagementPath, Activation: safety.ActivationNone,
	}}
	a, err := o.AssessGUIDs(ctx, g)
	if err != nil {
		return false, err
	}
	if a.Verdict.Blocked() {
		return false, &safety.RefusedError{What: "write back the identity of card " + f.Card.ID(), Findings: a.Verdict.Findings}
	}
	var state GUIDState
	if err = o.programGUIDs(ctx, g, a, &state); err != nil {
		return false, err
	}
	*did = append(append(*did, state.Did...), "Wrote back what job "+l.job+" had taken from card "+f.Card.ID()+": "+describeIdentity(a.Verdict.GUIDs)+".")
	return true, o.settle(ctx, f.Card, l.job, "its loss was written back by job "+state.JobID)
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
