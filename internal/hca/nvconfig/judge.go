package nvconfig

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Assess gives the verdict on settings from one look. It never writes.
func Assess(ctx context.Context, o *cards.Session, c cards.Card, q Request, l Look) (cards.Assessment, error) {
	a := o.Assess(c, l.at)
	in := safety.SettingsInput{Host: a.Host, Found: check(q, l), Writes: len(l.open(q)) > 0, Restarts: l.Restarts(q),
		ManagementPath: q.Consent, Activation: q.Activation}
	err := o.Judge(ctx, c.Host, &a, func(card safety.CardFacts) safety.Verdict {
		in.Card = card
		return safety.Settings(in)
	})
	return a, err
}

// check gives the findings on names and values, and on a card that does not say what it has.
func check(q Request, l Look) (found []finding.Finding) {
	// Functions of one card share one configuration: two objects would write over each other.
	if q.Card.Function() != 0 {
		return []finding.Finding{finding.CardOtherFunction.Find("%s is function %d", q.Card, q.Card.Function()).
			WithWayOut("Name " + q.Card.Slot() + ".0.")}
	}
	rows, known := l.Rows.Get()
	if !known {
		return []finding.Finding{finding.SettingsUnreadable.Find("%s of %s: %s", tool, q.Host, l.Rows.Why())}
	}
	for _, name := range q.names() {
		row, ok := rows[name]
		if !ok {
			found = append(found, unknown(q, l, name))
			continue
		}
		if why := unfit(name, q.Settings[name], row.Next); why != "" {
			found = append(found, finding.SettingValueUnfit.Find("%s = %q: %s", name, q.Settings[name], why))
		}
	}
	return found
}

// unknown is about a name that the card does not have, with those that it may be meant for.
// Names belong to a release of the tool: BOOT_RETRY_CNT of 4.21 is BOOT_RETRY_CNT1 in 4.31.
func unknown(q Request, l Look, name string) finding.Finding {
	release := "mstflint " + cmp.Or(l.at.Snap.MSTFlint.Version, "of an unknown version")
	text := fmt.Sprintf("%s does not show %s for card %s of %s", release, name, q.Card, q.Host)
	if near := near(name, l.Rows.Or(nil)); len(near) > 0 {
		text += "; near it: " + strings.Join(near, ", ")
	}
	return finding.SettingUnknown.Find("%s", text)
}

// mostNear is how many names are suggested.
const mostNear = 5

// near are the names that are few letters away, or one the begin of the other, else those that share
// words.
func near(name string, rows map[string]inventory.CardSetting) (list []string) {
	all := slices.Sorted(maps.Keys(rows))
	for _, other := range all {
		begins := strings.HasPrefix(other, name) || strings.HasPrefix(name, other)
		if begins || distance(name, other) <= 1+len(name)/5 {
			list = append(list, other)
		}
	}
	if len(list) == 0 {
		list = sharing(name, all)
	}
	return list[:min(len(list), mostNear)]
}

// sharing are the names that share the most words with one, at least one of four letters.
func sharing(name string, all []string) (most []string) {
	// One word in common at least; the most common ones, as "EN" and "P1", are left out by their length.
	best := 1
	for _, other := range all {
		shared := 0
		for _, word := range strings.Split(other, "_") {
			if len(word) >= 4 && slices.Contains(strings.Split(name, "_"), word) {
				shared++
			}
		}
		if shared > best {
			best, most = shared, nil
		}
		if shared == best {
			most = append(most, other)
		}
	}
	return most
}

// distance is how many letters have to be changed, added or left out to make one word of another.
func distance(a, b string) int {
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		now := append(make([]int, 0, len(b)+1), i+1)
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			now = append(now, min(change, last[j+1]+1, now[j]+1))
		}
		last = now
	}
	return last[len(b)]
}

// unfit says why a setting, which the card shows with a value, cannot take another one; empty if it may.
func unfit(name, value string, has inventory.SettingValue) string {
	number, err := strconv.ParseUint(value, 0, 64)
	switch {
	// The tool prints a list as its bounds only (4.21).
	case strings.HasPrefix(has.Raw, "Array["):
		return "it is a list of values, and only single ones can be set"
	case isBool(has):
		if word := strings.ToLower(value); word != "true" && word != "false" && (err != nil || number > 1) {
			return "it takes true or false"
		}
	// A value with a name is printed with its number behind it; one without is a number.
	case !strings.Contains(has.Raw, "("):
		return unfitNumber(name, number, err, has)
	case err != nil && words[name] != nil:
		if !slices.ContainsFunc(words[name], func(word string) bool { return strings.EqualFold(word, value) }) {
			return "it takes " + strings.Join(words[name], ", ")
		}
	}
	return ""
}

func unfitNumber(name string, number uint64, err error, has inventory.SettingValue) string {
	setting := strings.TrimSuffix(strings.TrimSuffix(name, "_P1"), "_P2") // a ConnectX-3 has those of ports for each
	switch limit, limited := limits[setting]; {
	case err != nil:
		return "it takes a number; the card has " + has.Raw
	case limited && number > limit:
		return fmt.Sprintf("it takes numbers up to %d", limit)
	}
	return ""
}

// Seen is what the settings of a resource were at one look.
type Seen struct{ Next map[string]string }

// SeenOf is what a look has found of the settings that are named.
func SeenOf(l Look, names []string) Seen {
	s := Seen{Next: map[string]string{}}
	for _, name := range names {
		if row, ok := l.row(name); ok {
			s.Next[name] = row.Next.Raw
		}
	}
	return s
}

// CheckSeen refuses to replace what somebody has stored since it was seen, unless it is what is asked for.
func CheckSeen(q Request, l Look, before Seen) []finding.Finding {
	var all []managed.Setting
	for _, name := range q.names() {
		row, ok := l.row(name)
		was, seen := before.Next[name]
		if ok && seen && !row.Next.Is(q.Settings[name]) {
			all = append(all, managed.Setting{Had: name + " was", Has: "is", Was: was, Is: row.Next.Raw})
		}
	}
	return managed.Since("Settings of card "+q.Card.String()+" of "+q.Host+" have changed", managed.Changed(all...)...)
}
