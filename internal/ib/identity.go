package ib

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Identity is what tells one card from another, wherever it sits. What could not
// be read is empty. GUIDs are those of the node and of its ports: cards may share
// a system image GUID.
type Identity struct {
	Serial, Part, Chip string // serial and part number of the vital product data
	MACs               []MAC
	GUIDs              []GUID
}

// Likeness is the outcome of comparing two identities.
type Likeness int

// The outcomes. The zero value proves nothing.
const (
	Undecided Likeness = iota
	Same
	Other
)

// Compare says whether two identities are of one card, and why. The reason is a
// sentence without a full stop. Another serial number is another card. The same one proves
// a card only if no other MACs and GUIDs speak against it: boards are known that were delivered
// with the product data of one. Where a serial number is missing, MACs and GUIDs decide.
func Compare(recorded, now Identity) (Likeness, string) {
	if recorded.Chip != "" && now.Chip != "" && recorded.Chip != now.Chip {
		return Other, fmt.Sprintf("the chip is %s, and %s was recorded", now.Chip, recorded.Chip)
	}
	was, is := word(recorded.Serial), word(now.Serial)
	if was == "" || is == "" {
		return compareValues(recorded, now)
	}
	if was != is {
		return Other, fmt.Sprintf("the serial number is %s, and %s was recorded", is, was)
	}
	if recorded.Part != "" && now.Part != "" && recorded.Part != now.Part {
		// Each maker numbers its boards in its own way, and another firmware may show other
		// product data.
		if like, _ := compareValues(recorded, now); like != Same {
			return like, fmt.Sprintf("the serial number is %s as recorded, but the part number is %s, and %s was recorded",
				is, now.Part, recorded.Part)
		}
	}
	if like, why := compareValues(recorded, now); like == Other {
		return Other, fmt.Sprintf("the serial number is %s as recorded, but %s", is, why)
	}
	return Same, "the serial number is " + is
}

// compareValues compares MACs and GUIDs. One common value is enough: the others may
// have been set since. MACs tell nothing of a card of which only GUIDs are known.
func compareValues(recorded, now Identity) (Likeness, string) {
	a, b := recorded.values(), now.values()
	for _, v := range a {
		if slices.Contains(b, v) {
			return Same, "it has " + v + " as recorded"
		}
	}
	was, is := recorded.Unique(), now.Unique()
	both := len(was.MACs) > 0 && len(is.MACs) > 0 || len(was.GUIDs) > 0 && len(is.GUIDs) > 0
	switch missing := "the serial number is not known, "; {
	case both:
		return Other, fmt.Sprintf("it has %s, and %s was recorded", strings.Join(b, ", "), strings.Join(a, ", "))
	case recorded.Empty():
		return Undecided, "nothing was recorded that tells the card from others"
	case len(a) == 0:
		return Undecided, missing + "and no MAC or GUID was recorded that tells the card from others"
	case len(b) == 0:
		return Undecided, missing + "and the card shows no MAC or GUID that tells it from others"
	default:
		return Undecided, missing + "and MACs cannot be compared with GUIDs"
	}
}

// values are the addresses that may tell cards apart.
func (i Identity) values() []string {
	var all []string
	i = i.Unique()
	for _, m := range i.MACs {
		all = append(all, "MAC "+m.String())
	}
	for _, g := range i.GUIDs {
		all = append(all, "GUID "+g.String())
	}
	return all
}

// Unique leaves out MACs and GUIDs that cannot tell cards apart, as those that were never set,
// and repetitions.
func (i Identity) Unique() Identity {
	var macs []MAC
	for _, m := range i.MACs {
		if UniqueMAC(m) && !slices.Contains(macs, m) {
			macs = append(macs, m)
		}
	}
	var guids []GUID
	for _, g := range i.GUIDs {
		if UniqueGUID(g) && !slices.Contains(guids, g) {
			guids = append(guids, g)
		}
	}
	i.MACs, i.GUIDs = macs, guids
	return i
}

// With adds to an identity what else is known of the same card. What is there comes first: it
// stands in ids and plans.
func (i Identity) With(more Identity) Identity {
	i.Serial, i.Part, i.Chip = cmp.Or(i.Serial, more.Serial), cmp.Or(i.Part, more.Part), cmp.Or(i.Chip, more.Chip)
	i.MACs, i.GUIDs = slices.Concat(i.MACs, more.MACs), slices.Concat(i.GUIDs, more.GUIDs)
	return i.Unique()
}

// UniqueMAC reports whether a MAC may be that of one card alone. Vendors put
// 00:02:c9:00:00:xx into files for distribution.
func UniqueMAC(m MAC) bool { return !m.IsZero() && !m.IsMulticast() && m>>8 != 0x0002c90000 }

// UniqueGUID reports whether a GUID may be that of one card alone. Vendors put
// 0x0002c9000100d0xx into files for distribution.
func UniqueGUID(g GUID) bool { return !g.IsZero() && !g.IsUnset() && g>>8 != 0x0002c9000100d0 }

// ValueChange is one GUID or MAC of a card that becomes another one, as text.
type ValueChange struct {
	Place    int // in Texts
	From, To string
	Unique   bool // From may be the value of one card and one port alone
}

// IsSet reports whether there was a value before: neither zero nor what blank flash holds.
func (c ValueChange) IsSet() bool {
	digits := strings.NewReplacer("0x", "", ":", "").Replace(c.From)
	return strings.Trim(digits, "0") != "" && strings.Trim(digits, "f") != ""
}

// Changes are the values of g that others replace. What several have in common, as a later chip
// has one GUID for node, port 1 and system image, is named once.
func (g GUIDSet) Changes(others GUIDSet) []ValueChange {
	ports, macs := g.Port1 != g.Port2, g.MAC1 != g.MAC2
	unique := [6]bool{UniqueGUID(g.Node), ports && UniqueGUID(g.Port1), ports && UniqueGUID(g.Port2),
		UniqueGUID(g.SystemImage), macs && UniqueMAC(g.MAC1), macs && UniqueMAC(g.MAC2)}
	var all []ValueChange
	to := others.Texts()
	for place, from := range g.Texts() {
		repeats := slices.ContainsFunc(all, func(c ValueChange) bool { return c.From == from && c.To == to[place] })
		if from != to[place] && !repeats {
			all = append(all, ValueChange{Place: place, From: from, To: to[place], Unique: unique[place]})
		}
	}
	return all
}

// Empty reports whether nothing is there that tells the card from others of its
// kind.
func (i Identity) Empty() bool { return word(i.Serial) == "" && len(i.values()) == 0 }

// Record is the identity in short, for messages and for the journal of a host: without MACs
// and GUIDs if the serial number is known.
func (i Identity) Record() Identity {
	if word(i.Serial) != "" {
		i.MACs, i.GUIDs = nil, nil
		return i
	}
	return i.Unique()
}

// String gives "serial number MT1234X00001, part number MCX314A-BCCT, chip
// ConnectX-3 Pro", which ParseIdentity reads.
func (i Identity) String() string {
	var parts []string
	add := func(label, value string) {
		if value = strings.TrimSpace(strings.ReplaceAll(value, ",", " ")); value != "" {
			parts = append(parts, label+" "+value)
		}
	}
	add(serialLabel, word(i.Serial))
	add(partLabel, i.Part)
	add(chipLabel, i.Chip)
	for _, m := range i.MACs {
		add(macLabel, m.String())
	}
	for _, g := range i.GUIDs {
		add(guidLabel, g.String())
	}
	return strings.Join(parts, ", ")
}

const (
	serialLabel = "serial number"
	partLabel   = "part number"
	chipLabel   = "chip"
	macLabel    = "MAC"
	guidLabel   = "GUID"
)

// ParseIdentity reads what String gives.
func ParseIdentity(s string) (Identity, error) {
	var i Identity
	if s == "" {
		return i, nil
	}
	for part := range strings.SplitSeq(s, ", ") {
		var err error
		switch label, value := cutLabel(part); label {
		case serialLabel:
			i.Serial = value
		case partLabel:
			i.Part = value
		case chipLabel:
			i.Chip = value
		case macLabel:
			var m MAC
			m, err = ParseMAC(value)
			i.MACs = append(i.MACs, m)
		case guidLabel:
			var g GUID
			g, err = ParseGUID(value)
			i.GUIDs = append(i.GUIDs, g)
		default:
			err = fmt.Errorf("%q is no part of it", part)
		}
		if err != nil {
			return Identity{}, fmt.Errorf("invalid identity %q of a card: %w", s, err)
		}
	}
	return i, nil
}

func cutLabel(part string) (label, value string) {
	for _, l := range []string{serialLabel, partLabel, chipLabel, macLabel, guidLabel} {
		if rest, ok := strings.CutPrefix(part, l+" "); ok {
			return l, rest
		}
	}
	return "", part
}

// Prefixes of tokens that are no serial number.
const (
	macToken  = "mac-"
	guidToken = "guid-"
)

// Token is one word for the strongest fact: the serial number, else the first MAC, else
// the first GUID. It is empty if there is none. It may stand in an id.
func (i Identity) Token() string {
	if serial := word(i.Serial); serial != "" {
		return serial
	}
	r := i.Record()
	switch {
	case len(r.MACs) > 0:
		return macToken + r.MACs[0].Hex()
	case len(r.GUIDs) > 0:
		return guidToken + r.GUIDs[0].Hex()
	}
	return ""
}

// ParseToken gives the identity that a token stands for.
func ParseToken(token string) (Identity, error) {
	if hex, ok := strings.CutPrefix(token, macToken); ok {
		m, err := ParseMAC(hex)
		return Identity{MACs: []MAC{m}}, err
	}
	if hex, ok := strings.CutPrefix(token, guidToken); ok {
		g, err := ParseGUID(hex)
		return Identity{GUIDs: []GUID{g}}, err
	}
	if token != word(token) {
		return Identity{}, fmt.Errorf("invalid identity %q: want a serial number of letters, digits, %q, %q and %q, or mac- "+
			"or guid- with hexadecimal digits", token, ".", "_", "-")
	}
	return Identity{Serial: token}, nil
}

// word makes a serial number fit for an id. A number without a letter or a digit other
// than zero was never set, nor was one of a single character; of the words, some are what
// boards are delivered with, and some what tools write for nothing.
func word(serial string) string {
	w := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, strings.TrimSpace(serial))
	switch strings.ToUpper(strings.Trim(w, "-._0")) {
	case "", "N-A", "NA", "NONE", "NULL", "EMPTY", "UNKNOWN", "NOT-SPECIFIED", "NOT-AVAILABLE", "NOT-APPLICABLE",
		"NOT-SET", "DEFAULT-STRING", "SERIAL-NUMBER", "SYSTEM-SERIAL-NUMBER", "TO-BE-FILLED-BY-O.E.M":
		return ""
	}
	if strings.Trim(w, w[:1]) == "" && len(w) > 1 {
		return ""
	}
	return strings.Trim(w, "-")
}

// Bases are the GUID and the MAC from which a card counts the others of the set, in the way of
// ConnectX-3 or in that of later chips, which have one GUID and nothing of its own for port 2.
// Zero where none gives them.
func (g GUIDSet) Bases() (guid GUID, mac MAC) {
	later := g == GUIDSet{Node: g.Node, Port1: g.Node, SystemImage: g.Node, MAC1: g.MAC1}
	three := GUIDSet{MAC1: g.MAC1, MAC2: g.MAC2}
	var err error
	three.Node, three.Port1, three.Port2, three.SystemImage, err = GUIDsFromBase(g.Node)
	if later || err == nil && g == three {
		guid = g.Node
	}
	if second, err := g.MAC1.Add(1); later || err == nil && !g.MAC1.IsZero() && second == g.MAC2 {
		mac = g.MAC1
	}
	return guid, mac
}
