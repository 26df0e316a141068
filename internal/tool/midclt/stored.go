package midclt

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Stored is what the middleware has stored of each interface: the text of each field, by
// name. It has also what is pending: interface.update writes the database at once. What is
// empty or off is left out, so that no row and an empty one are the same.
type Stored map[string]map[string]string

// notStored are the fields of an entry that name it or follow the kernel.
var notStored = []string{"id", "name", "state", "fake", "type"}

// ParseStored reads the answer of QueryInterfaces.
func ParseStored(out []byte) (Stored, error) {
	all, err := ParseInterfaces(out)
	if err != nil {
		return nil, err
	}
	var entries []map[string]json.RawMessage
	if err := decode(out, &entries); err != nil {
		return nil, err
	}
	s := Stored{}
	for i, e := range entries {
		for _, f := range notStored {
			delete(e, f)
		}
		if NothingStored(all) {
			// Not stored: it is how the middleware says that there is no row.
			delete(e, "ipv4_dhcp")
			delete(e, "ipv6_auto")
		}
		s.set(all[i].Name, e)
	}
	return s, nil
}

func (s Stored) set(name string, fields map[string]json.RawMessage) {
	if s[name] == nil {
		s[name] = map[string]string{}
	}
	for f, v := range fields {
		if text := fieldText(f, v); text != "" {
			s[name][f] = text
		} else {
			delete(s[name], f)
		}
	}
}

// fieldText is a value as messages show it; empty if the value is. Whether addresses are
// stored in another order does not matter.
func fieldText(field string, v json.RawMessage) string {
	var aliases []Alias
	if field == "aliases" && json.Unmarshal(v, &aliases) == nil {
		texts := make([]string, len(aliases))
		for i, a := range aliases {
			texts[i] = fmt.Sprintf("%s/%d", a.Address, a.Netmask)
			if p, ok := a.Prefix(); ok {
				texts[i] = p.String()
			}
		}
		slices.Sort(texts)
		return strings.Join(texts, ", ")
	}
	text := string(v)
	if slices.Contains([]string{"null", "false", `""`, "[]", "{}"}, text) {
		return ""
	}
	return text
}

// After is what is stored after the steps of a Transaction.
func (s Stored) After(steps ...Step) Stored {
	next := Stored{}
	for name, fields := range s {
		next[name] = maps.Clone(fields)
	}
	name := ""
	for _, step := range steps {
		fields := map[string]json.RawMessage{}
		switch step[0] {
		case "interface.delete":
			delete(next, ownText[string](step[1]))
			continue
		case "interface.update":
			name, fields = ownText[string](step[1]), ownText[map[string]json.RawMessage](step[2])
		case "datastore.update":
			// The row is that of the interface that was stored before; see StoreRowMTU.
			fields["mtu"] = ownText[map[string]json.RawMessage](step[3])["int_mtu"]
		}
		next.set(name, fields)
	}
	return next
}

// ownText reads what argument has written.
func ownText[T any](text string) (v T) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic("midclt: " + err.Error())
	}
	return v
}

// Difference is what of one interface differs.
type Difference struct {
	Interface string
	Fields    []string // one phrase each: mtu 9000 instead of 1500
}

func (d Difference) String() string { return d.Interface + ": " + strings.Join(d.Fields, ", ") }

// Differences says in what the stored interfaces are others than want.
func (s Stored) Differences(want Stored) []Difference {
	var all []Difference
	for _, name := range union(s, want) {
		d := Difference{Interface: name}
		for _, f := range union(s[name], want[name]) {
			if now, then := s[name][f], want[name][f]; now != then {
				d.Fields = append(d.Fields, f+" "+orNothing(now)+" instead of "+orNothing(then))
			}
		}
		if len(d.Fields) > 0 {
			all = append(all, d)
		}
	}
	return all
}

func union[V any](a, b map[string]V) []string {
	names := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(names)
	return slices.Compact(names)
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}
