package inventory

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
)

// CardSettings are all settings that mstconfig shows of a card's own configuration, by the names of the
// tool. As StoredLinkTypes they are no part of the snapshot.
type CardSettings struct {
	Served fact.Bool
	Rows   fact.Of[map[string]CardSetting]
}

// CardSetting is one setting. Next is what the card will have after its next start. Default and Current
// are empty where firmware or tool do not show them.
type CardSetting struct{ Default, Current, Next SettingValue }

// SettingValue is one value as the tool prints it, such as "IB(1)", "8" or "Array[0..7]".
type SettingValue struct {
	Raw    string
	Number int64
	HasNum bool
}

var named = regexp.MustCompile(`^[^()]+\((-?\d+|0x[0-9a-fA-F]+)\)$`)

// ParseSettingValue reads one value as the tool prints it.
func ParseSettingValue(raw string) SettingValue {
	v := SettingValue{Raw: raw}
	number := raw
	if m := named.FindStringSubmatch(raw); m != nil {
		number = m[1]
	}
	if n, err := strconv.ParseInt(number, 0, 64); err == nil {
		v.Number, v.HasNum = n, true
	}
	return v
}

// Name is the word of a value that has one: "IB" of "IB(1)", else the value itself.
func (v SettingValue) Name() string {
	name, _, _ := strings.Cut(v.Raw, "(")
	return name
}

// Is reports whether a word that the tool takes gives this value. It takes a name in any spelling, and
// numbers also in hexadecimal.
func (v SettingValue) Is(word string) bool {
	// By number first: "1" and "0x1" are the same, and "IB" has both a name and a number.
	if n, err := strconv.ParseInt(word, 0, 64); err == nil && v.HasNum {
		return n == v.Number
	}
	return v.Raw != "" && strings.EqualFold(v.Name(), word)
}
