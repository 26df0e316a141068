package pseudonym

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A P_Key is replaced only where it is one: a number of two bytes is many other things.
var (
	keyNamed = regexp.MustCompile(`(?i)(?:pkey|p-key|p_key|PartitionKey|pkeys/\d+)` +
		`["']?[=:.\s][.\s]*["']?(0x[0-9a-f]{4}|\d{4,5})\b`)
	keyShown = regexp.MustCompile(`"key": ?"(0x[0-9a-f]{4})"`)
	keyOfSet = regexp.MustCompile(`(?m)^\|?\s*[\w-]+\s*=\s*(0x[0-9a-fA-F]{1,4})\s*[,:]`)
	keyTable = regexp.MustCompile(`(?m)^\|?\s*\d+:((?: 0x[0-9a-f]{4})+)\s*$`)
)

// member is the bit of a full member of a partition.
const member = 0x8000

// learnPKeys notes the P_Keys of a text; all get other numbers, in the same order.
func (t *Table) learnPKeys(text string) {
	for _, re := range []*regexp.Regexp{keyNamed, keyShown, keyOfSet, keyTable} {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			for word := range strings.FieldsSeq(m[1]) {
				key, err := strconv.ParseUint(word, 0, 16)
				if bare := uint16(key) &^ member; err == nil && bare != 0 && bare != 0x7fff {
					t.pkeys[bare] = 0
				}
			}
		}
	}
	for _, word := range fourDigits.FindAllString(strings.ToLower(text), -1) {
		t.seen[word] = true
	}
	t.tokens = nil
}

var fourDigits = regexp.MustCompile(`\b(?:0x)?[0-9a-f]{4}\b|\b[0-9]{5}\b`)

// isSeen reports whether a number stands in a text already, for whatever: nobody could tell the two apart.
func (t *Table) isSeen(key uint16) bool {
	for _, k := range []uint16{key, key | member} {
		if word := fmt.Sprintf("%04x", k); t.seen[word] || t.seen["0x"+word] || t.seen[strconv.Itoa(int(k))] {
			return true
		}
	}
	return false
}

// assignPKeys spreads the numbers that stand for the keys over what there is.
func (t *Table) assignPKeys() {
	var keys []uint16
	for key := range t.pkeys {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	const first, last = 0x100, 0x7f00
	for i, key := range keys {
		room := uint32(last-first) / uint32(len(keys))
		with := uint16(first + uint32(i)*room + t.number("pkey", strconv.Itoa(int(key)), room/2))
		for end := with + uint16(room/2); with < end && t.isSeen(with); {
			with++
		}
		t.pkeys[key] = with
	}
}

// pkeyParts is the expression of all places where a key may stand, with what says that it is one.
func (t *Table) pkeyParts() string {
	if len(t.pkeys) == 0 {
		return ""
	}
	t.assignPKeys()
	var digits, decimal []string
	for of := range t.pkeys {
		for _, k := range []uint16{of, of | member} {
			digits = append(digits, fmt.Sprintf("%04x", k))
			decimal = append(decimal, strconv.Itoa(int(k)))
		}
	}
	slices.Sort(digits)
	key := "(?i:" + strings.Join(digits, "|") + ")"
	return `(?i:pkey|p-key|p_key|PartitionKey|pkeys/\d+)["']?[=:.\s][.\s]*["']?(?:0x` + key + "|" +
		strings.Join(decimal, "|") + `)` +
		`|"key": ?"0x` + key + `"|\bib[\w]*\.` + key +
		`|[\w-]+\s*=\s*0x(?i:0*)` + key + `|\d+:(?: 0x[0-9a-f]{4})+|-0x` + key
}

var keyToken = regexp.MustCompile(`(?i)(0x|\.)([0-9a-f]{4})\b|\b([0-9]{4,5})$`)

// pkeyToken replaces the keys in one of these places; ok is false for a token of another kind.
func (t *Table) pkeyToken(token string) (is string, ok bool) {
	if t.keyPlace == nil || !t.keyPlace.MatchString(token) {
		return "", false
	}
	return keyToken.ReplaceAllStringFunc(token, func(found string) string {
		m := keyToken.FindStringSubmatch(found)
		base, digits := 16, m[2]
		if m[3] != "" {
			base, digits = 10, m[3]
		}
		key, err := strconv.ParseUint(digits, base, 16)
		with := t.pkey(uint16(key))
		if err != nil || with == uint16(key) {
			return found
		}
		if base == 10 {
			return t.note(digits, strconv.Itoa(int(with)))
		}
		return m[1] + t.note(digits, fmt.Sprintf("%04x", with))
	}), true
}

// isBroadcast reports whether an address of IPoIB is that of all interfaces of a partition.
func isBroadcast(token string) bool {
	return strings.HasPrefix(strings.ToLower(token), "00:ff:ff:ff:ff:")
}

// broadcastKey replaces the key in the address that all interfaces of a partition listen to:
// 00:ff:ff:ff:ff:12:40:1b:KK:KK:…
func (t *Table) broadcastKey(token string) string {
	key, err := strconv.ParseUint(token[24:26]+token[27:29], 16, 16)
	if err != nil {
		return token
	}
	with := t.pkey(uint16(key))
	return fmt.Sprintf("%s%02x:%02x%s", token[:24], with>>8, with&0xff, token[29:])
}

// pkey is what stands for a key, with the bit of its member.
func (t *Table) pkey(key uint16) uint16 {
	with, known := t.pkeys[key&^member]
	if !known {
		return key
	}
	return with | key&member
}
