package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"golang.org/x/sync/errgroup"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// collecting is how many hosts are asked at the same time. Logins cost this machine CPU
// time: hundreds at once would time out.
const collecting = 64

// Lab returns the identities of the cards of all configured hosts that answer
// and of those that this plan changes, for the checks of one card. Hosts that do
// not answer are named in one warning of the walk, and cards whose flash was not read in
// another of the card: they are not compared.
func (d *Data) Lab(ctx context.Context, card attribute.CardRef, diags *diag.Diagnostics) clash.Facts {
	if missing := d.noteUnseen(d.identify(ctx)); len(missing) > 0 {
		d.warnMissing(diags, missing)
	}
	lab := clash.Facts{Lab: d.Planned.Lab(), SameMachine: d.sameMachine,
		Apart: func(want ib.GUIDSet, other clash.Holder) string { return d.cardsApart(ctx, card, want, other) }}
	if unread := lab.Unread(card.Host, card.PCI); len(unread) > 0 {
		warnUnread(diags, card, unread)
	}
	return lab
}

// warnMissing names the hosts that do not answer, if that was not said yet.
func (d *Data) warnMissing(diags *diag.Diagnostics, missing map[string]error) {
	names := slices.Sorted(maps.Keys(missing))
	d.known.mu.Lock()
	all := strings.Join(names, " ")
	told := d.known.told == all
	d.known.told = all
	d.known.mu.Unlock()
	if told {
		return
	}
	diags.AddWarning("GUIDs of "+NameList("host", names)+" are not compared",
		"A host that does not answer may have a card with the same GUID or MAC, and two cards with one GUID make a "+
			"fabric unusable. Start the host and plan again before you write GUIDs, or compare them by hand.\n\n"+
			diagnostic.Reason(missing[names[0]]))
}

// warnUnread names the cards whose flash was not read, each with the reason.
func warnUnread(diags *diag.Diagnostics, card attribute.CardRef, unread []clash.Holder) {
	var names, reasons []string
	for _, c := range unread {
		names = append(names, c.ID())
		if len(reasons) < namesListed {
			reasons = append(reasons, c.ID()+": "+c.Unread)
		}
	}
	diags.AddWarning(fmt.Sprintf("Card %s: GUIDs of %s are not compared", card, NameList("card", names)),
		"A card whose flash could not be read may have the same GUID or MAC there, and two cards with one GUID make a "+
			"fabric unusable. Its driver shows no GUIDs of Ethernet ports, and the old ones until a restart. Fix what is "+
			"named below and plan again before you write GUIDs, or compare them by hand.\n\n"+strings.Join(reasons, "\n"))
}

// sameMachine compares two hosts by what was found on them last.
func (d *Data) sameMachine(a, b string) fact.Bool {
	d.known.mu.Lock()
	defer d.known.mu.Unlock()
	one, two := d.known.from[a], d.known.from[b]
	if one == nil || two == nil {
		return fact.Unknown[bool]("one of them does not answer")
	}
	return inventory.SameMachine(one, two)
}

// identify updates the index of identities. It is called for every card, so it asks no
// host if none has changed: a walk over all hosts for each card would grow with the
// square of their number.
func (d *Data) identify(ctx context.Context) (missing map[string]error) {
	changes := d.Set.Changes()
	d.known.mu.Lock()
	whole, missing := d.known.whole && d.known.changes == changes, d.known.missing
	d.known.mu.Unlock()
	if whole {
		return missing
	}
	found, missing := d.Snapshots(ctx)
	d.known.mu.Lock()
	defer d.known.mu.Unlock()
	if d.known.from == nil {
		d.known.from = map[string]*inventory.Snapshot{}
	}
	for name, snap := range found {
		if d.known.from[name] != snap {
			d.known.from[name] = snap
			d.Planned.Lab().Found(name, cards.Identities(snap))
		}
	}
	d.known.changes, d.known.missing = changes, missing
	d.known.whole = true
	for _, err := range missing {
		d.known.whole = d.known.whole && hosts.IsDown(err)
	}
	return missing
}

// namesListed is how many hosts or cards a list names before it only counts.
const namesListed = 5

// NameList is a kind of thing with names: "hosts a, b", or of many "hosts a, b, c, d, e and 7 more".
func NameList(kind string, names []string) string {
	switch n := len(names); {
	case n == 1:
		return kind + " " + names[0]
	case n > namesListed:
		return fmt.Sprintf("%ss %s and %d more", kind, strings.Join(names[:namesListed], ", "), n-namesListed)
	}
	return kind + "s " + strings.Join(names, ", ")
}

// Snapshots returns what is on every configured host that answers, by name; it
// is what duplicates of GUIDs are searched in. Hosts that do not answer are
// named in missing with the reason.
func (d *Data) Snapshots(ctx context.Context) (found map[string]*inventory.Snapshot, missing map[string]error) {
	return d.SnapshotsOf(ctx, d.HostNames())
}

// Machines is Snapshots with each machine once, under its first name; names gives all names of
// each. The GUIDs of a host with two names are those of one card.
func (d *Data) Machines(ctx context.Context) (found map[string]*inventory.Snapshot, names map[string][]string) {
	all, _ := d.Snapshots(ctx)
	found, names = map[string]*inventory.Snapshot{}, map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		first := d.Planned.Machine(name, all[name])
		found[first], names[first] = all[name], append(names[first], name)
	}
	return found, names
}

// SnapshotsOf is Snapshots for some hosts. What asks for them can do without those that do
// not answer.
func (d *Data) SnapshotsOf(ctx context.Context,
	names []string) (found map[string]*inventory.Snapshot, missing map[string]error) {
	ctx = hosts.WithoutLosses(ctx)
	found, missing = make(map[string]*inventory.Snapshot, len(names)), map[string]error{}
	var mu sync.Mutex
	var ask errgroup.Group
	ask.SetLimit(collecting)
	for _, name := range names {
		ask.Go(func() error {
			_, _, snap, err := d.Look(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				missing[name] = err
			} else {
				found[name] = snap
			}
			return nil
		})
	}
	_ = ask.Wait() // every error is in missing
	d.noteUnseen(missing)
	return found, missing
}

// lookedThrough is how many hosts in observe mode are read again before a burn.
const lookedThrough = 32

// ForgetObserved has some hosts in observe mode read again. Other configurations write these, and mark all of
// theirs after a burn that failed. Of many, some all over the list are asked.
func (d *Data) ForgetObserved() {
	names := slices.DeleteFunc(d.HostNames(), func(name string) bool { return !d.Hosts[name].Observe })
	for i := range min(len(names), lookedThrough) {
		if h, err := d.Set.Host(names[i*len(names)/min(len(names), lookedThrough)]); err == nil {
			h.Invalidate()
		}
	}
}

// StopsFor gives the marks that hold for a burn of a card, as a function of the present snapshot of its host. The
// marks on other hosts are those that Lab has found. A mark of this root module stops only applies that ran at that
// time: a later one is how that card is mended.
func (d *Data) StopsFor(at *CardAt) func(*inventory.Snapshot) []inventory.Stop {
	from := d.found()
	return func(own *inventory.Snapshot) (hold []inventory.Stop) {
		from[at.Ref.Host] = own
		all := map[string]inventory.Stop{}
		for _, snap := range from {
			for _, s := range snap.Stops {
				all[s.ID] = s
			}
		}
		for _, id := range slices.Sorted(maps.Keys(all)) {
			s := all[id]
			if _, ours := d.marked.Load(id); ours {
				continue // HO018 stops the others of this process
			}
			now := s.At >= d.Began.UTC().Format(inventory.StopTime)
			if !s.Of(at.Ref.Host, at.Ref.PCI, at.Who) && (now || !d.mends(from, s)) {
				hold = append(hold, s)
			}
		}
		return hold
	}
}

// mends reports whether a mark is of this root module, and of a card on a host that it may change. Others may have
// the same hosts. Shards share a directory, and not their hosts.
func (d *Data) mends(from map[string]*inventory.Snapshot, s inventory.Stop) bool {
	if s.Root == "" || s.Root != d.Cards.Root {
		return false
	}
	for name, snap := range from {
		if _, has := snap.Job(s.ID); has {
			return !d.Hosts[name].Observe
		}
	}
	cfg, known := d.Hosts[s.Host] // it does not answer
	return known && !cfg.Observe && from[s.Host] == nil
}

// MarkStop marks a burn that failed on all hosts with cards that this configuration may change, and removes the
// marks of a card with which all is well. job is the one that this apply has started; without one nothing was burned.
func (d *Data) MarkStop(ctx context.Context, c cards.Card, started string, failed error, diags *diag.Diagnostics) {
	var refused *safety.RefusedError
	switch {
	case failed == nil:
		without := d.onMarked(ctx, func(ctx context.Context, h *hosts.Host, snap *inventory.Snapshot) error {
			over := slices.DeleteFunc(slices.Clone(snap.Stops),
				func(s inventory.Stop) bool { return !s.Of(c.Host.Name(), c.PCI, c.Recorded) })
			if len(over) == 0 {
				return nil
			}
			return job.Unmark(ctx, h, over)
		})
		if len(without) > 0 {
			diags.AddWarning("Card "+c.ID()+": the mark of its failed burn is still on "+NameList("host", without),
				"Burns of other cards are refused because of it (HO051). Remove the files of this card in "+
					inventory.StopDir+" there.")
		}
	case started != "" && !errors.As(failed, &refused):
		why, _, _ := strings.Cut(failed.Error(), "\n")
		d.marked.Store(started, nil)
		stop := inventory.Stop{ID: started, Host: c.Host.Name(), PCI: c.PCI.String(), Card: c.Recorded.String(),
			At: time.Now().UTC().Format(inventory.StopTime), Operator: d.Cards.Operator,
			Root: d.Cards.Root, Why: why}
		without := d.onMarked(ctx, func(ctx context.Context, h *hosts.Host, _ *inventory.Snapshot) error {
			return job.Mark(ctx, h, stop)
		})
		if len(without) > 0 {
			diags.AddWarning("Card "+c.ID()+": its failure could not be marked on "+NameList("host", without),
				"Another apply that burns cards at the same time may not be stopped by this failure. Stop it by hand.")
		}
	}
}

// onMarked does something on all hosts that hold marks of this configuration, and names those where it failed.
func (d *Data) onMarked(ctx context.Context,
	do func(context.Context, *hosts.Host, *inventory.Snapshot) error) (without []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var mu sync.Mutex
	var each errgroup.Group
	each.SetLimit(collecting)
	for name, snap := range d.found() {
		h, cfg, err := d.Host(name)
		if err != nil || cfg.Observe || len(snap.Cards) == 0 {
			continue
		}
		each.Go(func() error {
			if do(ctx, h, snap) != nil {
				mu.Lock()
				defer mu.Unlock()
				without = append(without, name)
			}
			return nil
		})
	}
	_ = each.Wait() // what failed is named
	slices.Sort(without)
	return without
}

// found is what Lab has found last.
func (d *Data) found() map[string]*inventory.Snapshot {
	d.known.mu.Lock()
	defer d.known.mu.Unlock()
	return maps.Clone(d.known.from)
}

// SnapshotsOf is Data.SnapshotsOf for a data source, see Look.
func (s *DataSource) SnapshotsOf(ctx context.Context,
	names []string) (found map[string]*inventory.Snapshot, missing map[string]error) {
	s.Set.ForgetOlder()
	return s.Data.SnapshotsOf(ctx, names)
}
