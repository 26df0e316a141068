package nvconfig

import (
	"context"
	"errors"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/release"
)

// tool is the program that reads and writes the settings.
const tool = "mstconfig"

// Look is what one look at a host has found of the settings of a card.
type Look struct {
	at     *cards.Look
	Served fact.Bool
	Rows   fact.Of[map[string]inventory.CardSetting]
	Boot   string // the boot of the host
	// Left is true of a look after a change whose restart is left to another resource: that replaces what is read now.
	Left bool
	// since are, for a card that does not show its current values, the notes on what this provider has set.
	since map[string]saved
}

// Find finds the card; its settings are not asked yet.
func Find(s *inventory.Snapshot, pci ib.PCIAddress) Look {
	at, _ := cards.LookAt(s, pci) // without a card the look has none
	const why = "the card was not asked yet"
	return Look{at: at, Boot: s.BootID, Served: fact.Unknown[bool](why),
		Rows: fact.Unknown[map[string]inventory.CardSetting](why)}
}

// LookOf is a look at what was read before, such as a state has it.
func LookOf(rows map[string]inventory.CardSetting) Look { return Look{Rows: fact.Known(rows)} }

// Present reports whether the host has the card.
func (l Look) Present() bool { return l.at.Card != nil }

// Ask asks the card. It does not run a tool that is known not to support the chip any more.
func Ask(ctx context.Context, h cards.Host, pci ib.PCIAddress, l Look) (Look, error) {
	if !l.Present() {
		return l, nil
	}
	version := l.at.Snap.MSTFlint.Version
	// 4.26 and later have no configuration of ConnectX-3. They would say "Unsupported device", as of a broken one.
	if grade, why := release.Check(tool, version, l.at.Card.Chip.Format); grade == release.Removed {
		l.Served = fact.Known(false)
		l.Rows = fact.Unknown[map[string]inventory.CardSetting](tool + " " + version + ": " + why)
		return l, nil
	}
	said, err := h.CardSettings(ctx, pci)
	if l.Served, l.Rows = said.Served, said.Rows; err != nil {
		return l, err
	}
	// Whether current values are shown is the firmware's choice, for all of its settings at once.
	for _, row := range l.Rows.Or(nil) {
		if row.Current.Raw != "" {
			return l, nil
		}
	}
	if !l.Rows.Known() {
		return l, nil
	}
	noted, err := readSaved(ctx, h, l.at.Who)
	l.since = map[string]saved{}
	for _, s := range noted {
		l.since[s.name] = s
	}
	return l, err
}

// noted is what a note says of a setting that the card has stored as this provider has set it.
// Somebody may have set the same setting since. Then the note is about another value, and says nothing.
func (l Look) noted(name string) (s saved, ok bool) {
	row, there := l.row(name)
	s, ok = l.since[name]
	return s, ok && there && s.since != "" && s.since != powerCycle && row.Next.Is(s.set)
}

// Read looks at a card and asks it.
func Read(ctx context.Context, c cards.Card) (Look, error) {
	at, err := c.Look(ctx)
	var gone *cards.NoCardError
	if err != nil && !errors.As(err, &gone) {
		return Look{}, err
	}
	return Ask(ctx, c.Host, c.PCI, Find(at.Snap, c.PCI))
}

// row is one setting; there is none while the card does not say what it has.
func (l Look) row(name string) (inventory.CardSetting, bool) {
	row, ok := l.Rows.Or(nil)[name]
	return row, ok
}

// Holds reports whether the card will have a value after its next start.
func (l Look) Holds(name, value string) bool {
	row, ok := l.row(name)
	return ok && row.Next.Is(value)
}

// open are the names of the settings that are not stored as asked for.
func (l Look) open(q Request) (names []string) {
	for _, name := range q.names() {
		if l.Rows.Known() && !l.Holds(name, q.Settings[name]) {
			names = append(names, name)
		}
	}
	return names
}

// Differences says in what the card differs from what is asked for.
func (l Look) Differences(q Request) (lines []string) {
	for _, name := range l.open(q) {
		row, _ := l.row(name)
		lines = append(lines, name+" is "+orNone(row.Next.Raw)+" at the next start, not "+q.Settings[name])
	}
	return lines
}

func orNone(raw string) string {
	if raw == "" {
		return "not there"
	}
	return raw
}

// AwaitsRestart reports whether one of the settings will have another value after the next start than it
// has now. Where the firmware does not show the current values, it is known only of what this provider has set.
func (l Look) AwaitsRestart(q Request) (waits, known bool) {
	known = true
	for name := range q.Settings {
		row, ok := l.row(name)
		shown := ok && row.Current.Raw != ""
		note, noted := l.noted(name)
		waits = waits || shown && row.Current.Raw != row.Next.Raw || noted && note.waits(l.Boot)
		known = known && (shown || noted)
	}
	return waits, known || waits
}

// Restarts reports whether the card needs a restart to have what is asked for. Where it does not show its
// current values, each one that is not stored yet needs one.
func (l Look) Restarts(q Request) bool {
	for name, value := range q.Settings {
		row, _ := l.row(name)
		has := row.Current
		if has.Raw == "" {
			has = row.Next
		}
		note, noted := l.noted(name)
		if l.Rows.Known() && (!has.Is(value) || noted && note.waits(l.Boot)) {
			return true
		}
	}
	return false
}

// Changed are the settings that differ from the default of the firmware, as an import takes them; none
// where it does not show its defaults. Link types are not among them.
func (l Look) Changed() map[string]string {
	all := map[string]string{}
	for name, row := range l.Rows.Or(nil) {
		value := Word(row.Next)
		// Names that no configuration may have, as those of link types, would make an import that cannot be planned.
		if row.Default.Raw != "" && row.Default.Raw != row.Next.Raw && CheckSetting(name, value) == nil {
			all[name] = value
		}
	}
	return all
}

// Word is a value as a configuration has it: true for True(1), PXE for PXE(1), 8 for 8.
func Word(v inventory.SettingValue) string {
	if isBool(v) {
		return strings.ToLower(v.Name())
	}
	return v.Name()
}

func isBool(v inventory.SettingValue) bool { return v.Raw == "True(1)" || v.Raw == "False(0)" }
