package history

import (
	"cmp"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// change is one write of a card.
type change struct {
	Time     string `json:"time"`
	Card     string `json:"card"`
	Identity string `json:"identity,omitempty"`
	What     string `json:"what"` // burn, restore or guids
	From     string `json:"from"`
	To       string `json:"to"`
	Result   string `json:"result"`
	Text     string `json:"text,omitempty"`
	By       string `json:"by"`
	Backup   string `json:"backup,omitempty"` // on the machine that ran the apply
	Job      string `json:"job"`
}

// unknown stands for what the journal does not say.
const unknown = "unknown"

// changeOf says in words what a job was to do. A host may have written parts of it, which
// must not act on a terminal.
func changeOf(j *record.Job) change {
	e := journal.Read(&j.Job)
	c := change{Time: cmp.Or(j.Since(), unknown), Card: e.PCI.String(), What: cmp.Or(e.Kind, unknown), From: unknown,
		To: unknown, Result: string(j.Ending()), Text: j.Text(),
		Identity: j.Request["card_identity"], By: cmp.Or(e.Operator, unknown), Backup: e.Backup,
		Job: j.ID}
	if e.Restore {
		c.What = "restore"
	}
	switch {
	case j.OtherVersion() != "" || j.Lost: // what another version means by its words is not known
	case e.Kind == journal.Burn:
		c.From, c.To = firmware(e.Before), firmware(e.After)
	case e.Kind == journal.GUIDs:
		c.From, c.To = guids(e.GUIDsBefore, e.Blank), guids(e.GUIDsAfter, false)
	}
	for _, text := range []*string{&c.Time, &c.Card, &c.Identity, &c.What, &c.From, &c.To, &c.Result, &c.Text, &c.By,
		&c.Backup, &c.Job} {
		*text = diagnostic.Line(*text)
	}
	return c
}

// ending is how it ended, with the reason where that is not as asked.
func (c change) ending() string {
	if c.Text == "" || c.Result == string(record.Verified) {
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
