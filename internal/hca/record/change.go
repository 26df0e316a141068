package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Change is one change of a host, as it is shown to people.
type Change struct {
	Time     string `json:"time"`
	Object   string `json:"object"` // card, port or interface
	Identity string `json:"identity,omitempty"`
	What     string `json:"what"`
	From     string `json:"from"`
	To       string `json:"to"`
	Result   string `json:"result"`
	Failure  string `json:"failure,omitempty"` // "passing" or "lasting", of a job whose cause is known
	Text     string `json:"text,omitempty"`
	By       string `json:"by"`
	Backup   string `json:"backup,omitempty"` // on the machine that ran the apply
	Job      string `json:"job,omitempty"`
}

// unknown stands for what the notes of a host do not say.
const unknown = "unknown"

// Changes are all that is noted on the host, oldest first. clean gets each text: a host
// may have written parts of it.
func (l *Look) Changes(clean func(string) string) []Change {
	all := make([]Change, 0, len(l.Jobs)+len(l.Noted))
	for i := range l.Jobs {
		all = append(all, l.Jobs[i].change())
	}
	for _, c := range l.Noted {
		all = append(all, Change{Time: cmp.Or(c.Time, unknown), Object: cmp.Or(c.Object, unknown),
			What: cmp.Or(c.What, unknown), From: cmp.Or(c.From, unknown), To: cmp.Or(c.To, unknown),
			Result: string(c.Outcome), Text: c.Text, By: cmp.Or(c.Operator, unknown)})
	}
	// As texts, which is the order of times in one zone. One that is unknown comes last.
	slices.SortStableFunc(all, func(a, b Change) int { return strings.Compare(a.Time, b.Time) })
	for i := range all {
		c := &all[i]
		for _, text := range []*string{&c.Time, &c.Object, &c.Identity, &c.What, &c.From, &c.To, &c.Result, &c.Text,
			&c.By, &c.Backup, &c.Job} {
			*text = clean(*text)
		}
	}
	return all
}

// change says in words what a job was to do.
func (j *Job) change() Change {
	e := journal.Read(&j.Job)
	c := Change{Time: cmp.Or(j.Since(), unknown), Object: e.PCI.String(), What: cmp.Or(e.Kind, unknown), From: unknown,
		To: unknown, Result: string(j.Ending()), Failure: string(j.Class()), Text: j.Text(),
		Identity: j.Request["card_identity"], By: cmp.Or(e.Operator, unknown), Backup: e.Backup,
		Job: j.ID}
	if e.Restore {
		c.What = "restore"
	}
	switch {
	case j.Unreadable() != "" || j.Lost: // what another version means by its words is not known
	case e.Kind == journal.Burn:
		// As the job was asked for, not as it ended: the result says that.
		c.From, c.To = firmware(e.Before), firmware(e.After)
	case e.Kind == journal.GUIDs:
		c.From, c.To = guids(e.GUIDsBefore, e.Blank), guids(e.GUIDsAfter, false)
	}
	return c
}

// End is how it ended, with what is to be said of that.
func (c Change) End() string {
	if c.Text == "" || c.Result == string(Verified) && c.Job != "" {
		return c.Result
	}
	return c.Result + ": " + c.Text
}

func firmware(f ib.Firmware) string {
	if f.PSID == "" {
		return unknown
	}
	return fmt.Sprintf("%s %s", f.PSID, f.FW)
}

// guids names the values by which a card is known: the others follow from them.
func guids(set ib.GUIDSet, blank bool) string {
	switch {
	case blank:
		return "none"
	case set == (ib.GUIDSet{}):
		return unknown
	case set.MAC1 == 0:
		return set.Node.String()
	}
	return fmt.Sprintf("%s, MAC %s", set.Node, set.MAC1)
}
