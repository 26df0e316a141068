package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/benchmark"
	"github.com/ibfabric/terraform-provider-infiniband/internal/changes"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/check"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// lab is all that one run has read.
type lab struct {
	Hosts   []*machine
	Fabrics []*seenFabric
	// Unseen says of ports with a link why nobody has looked at their fabric.
	Unseen []problem
	// Backups is whether a directory of backups was named.
	Backups bool
}

// machine is one host.
type machine struct {
	*check.Report
	Snap    *inventory.Snapshot // nil if the host was not read
	Failure string              // why it was not read, in one line
	Advice  string              // what to do about that
	Changes []record.Change     // newest first
	Results []benchmark.Noted   // newest first
	Unsure  string              // why changes may be missing
	Backups map[ib.PCIAddress]time.Time
	on      *hosts.Host
}

// problem is something that is to be looked at and that is no finding of the catalogue.
type problem struct{ Where, Text string }

// look reads all hosts, and then the fabrics that they are on.
func look(ctx context.Context, targets []*target.Target, backupDir string) *lab {
	l := &lab{Backups: backupDir != ""}
	store := backup.NewStore(cards.New(cards.Config{BackupDir: backupDir}))
	one := func(t *target.Target) *machine { return lookAt(ctx, t) }
	for m := range target.Each(targets, target.AtOnce, one) {
		if l.Hosts = append(l.Hosts, m); l.Backups && m.Snap != nil {
			m.findBackups(store)
		}
	}
	if ctx.Err() == nil {
		l.lookAtFabrics(ctx)
	}
	return l
}

func lookAt(ctx context.Context, t *target.Target) *machine {
	m := &machine{on: t.Host}
	m.Report, m.Snap = check.Look(ctx, t)
	if m.Snap == nil {
		m.explain()
		return m
	}
	past, err := record.Read(ctx, t.Host)
	switch {
	case err != nil:
		m.Unsure = diagnostic.Line(err.Error())
	case past.Unread != "":
		m.Unsure = diagnostic.Line(past.Unread)
	case past.Damaged > 0:
		m.Unsure = fmt.Sprintf("%d of its notes cannot be understood", past.Damaged)
	}
	m.remember(past, past.Changes(diagnostic.Line))
	return m
}

// mostResults bounds the results of one host: a host that lies may have any number.
const mostResults = 200

// remember takes what is noted on a host, newest first: its changes and, by themselves, its benchmarks.
func (m *machine) remember(past record.Look, all []record.Change) {
	slices.Reverse(all)
	m.Changes = slices.DeleteFunc(all, func(c record.Change) bool { return c.What == changes.Benchmark })
	for _, c := range slices.Backward(past.Noted) {
		if n, ok := benchmark.Read(c); ok && len(m.Results) < mostResults {
			m.Results = append(m.Results, n)
		}
	}
	slices.SortStableFunc(m.Results, func(a, b benchmark.Noted) int { return b.Time.Compare(a.Time) })
}

// explain notes why the host was not read: the step that looking at it has ended with.
func (m *machine) explain() {
	m.Failure = m.Outcome
	for _, s := range m.Steps {
		if s.Status == check.Failed || s.Status == check.Missing {
			m.Failure, m.Advice = s.Step+": "+s.Text, s.Detail
			if s.Step == "config" { // its text is the same for every reason
				m.Failure, m.Advice = s.Step+": "+diagnostic.Line(s.Detail), ""
			}
		}
	}
}

// findBackups notes when each card was backed up last; only what verifies counts.
func (m *machine) findBackups(store *backup.Store) {
	m.Backups = map[ib.PCIAddress]time.Time{}
	for _, c := range m.cards() {
		found, err := cards.LookAt(m.Snap, c.PCI)
		if err != nil {
			continue
		}
		if kept, none := store.Newest(found); none == nil {
			m.Backups[c.PCI] = kept.Record.Taken
		}
	}
}

// cards are the cards of a host that was read, without virtual functions.
func (m *machine) cards() []*inventory.Card {
	var all []*inventory.Card
	if m.Snap == nil {
		return nil
	}
	for i := range m.Snap.Cards {
		if c := &m.Snap.Cards[i]; !c.Virtual {
			all = append(all, c)
		}
	}
	return all
}

// named puts its board behind the PCI address of a card; other objects stay as they are.
func (m *machine) named(object string) string {
	for _, c := range m.cards() {
		if c.PCI.String() == object {
			return strings.TrimSpace(object + " " + c.PartNumber)
		}
	}
	return object
}

// running is what a card runs; known is false if nobody knows.
func (m *machine) running(c *inventory.Card) (fw ib.Firmware, known bool) {
	found, err := cards.LookAt(m.Snap, c.PCI)
	if err != nil {
		return fw, false
	}
	return found.Facts.Running.Get()
}

// waits reports whether the card runs other firmware than its flash holds.
func (m *machine) waits(c *inventory.Card) (pending, known bool) {
	fw, known := m.running(c)
	if !known || c.Flash == nil {
		return false, false
	}
	return fw.FW != c.Flash.FW || fw.PSID != "" && fw.PSID != c.Flash.PSID, true
}

// status is the exit status of what was read.
func (l *lab) status() int {
	worst := 0
	for _, m := range l.Hosts {
		if m.Snap == nil {
			worst = max(worst, m.ExitStatus())
		}
	}
	return worst
}

// snapshots are those of the hosts that were read, by name.
func (l *lab) snapshots() map[string]*inventory.Snapshot {
	all := map[string]*inventory.Snapshot{}
	for _, m := range l.Hosts {
		if m.Snap != nil {
			all[m.Name] = m.Snap
		}
	}
	return all
}

// adapter names a card for people.
func adapter(c *inventory.Card) string {
	return cmp.Or(c.Model(), fmt.Sprintf("%04x:%04x", c.VendorID, c.DeviceID))
}
