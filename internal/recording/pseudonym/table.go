package pseudonym

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Table replaces. First it is shown all texts, by Learn; then Replace gives each as it may be
// shown.
type Table struct {
	key [32]byte
	// words are names and serial numbers with what stands for them; kinds says what each is.
	words map[string]string
	kinds map[string]string
	// makers are the lowest and the highest number that each maker's addresses have.
	makers map[uint32][2]uint32
	shifts map[uint32]uint32
	masks  [3]int // of each private range, the shortest prefix of a network in it
	public map[netip.Prefix]netip.Prefix
	pkeys  map[uint16]uint16
	seen   map[string]bool // numbers of four digits in any text
	// done are the replacements that were made, for the table that stays at home.
	done map[string]string
	// dotted are names with dots in any text: those of hosts under a domain that another text names.
	dotted map[string]bool
	tokens *regexp.Regexp
	// keyPlace is a place of a P_Key as a whole; nil without any key.
	keyPlace *regexp.Regexp
}

// New returns a table with a key of its own, so that two recordings have nothing in common.
func New() *Table {
	t := &Table{words: map[string]string{}, kinds: map[string]string{}, makers: map[uint32][2]uint32{},
		shifts: map[uint32]uint32{}, masks: [3]int{24, 24, 24}, public: map[netip.Prefix]netip.Prefix{},
		pkeys: map[uint16]uint16{}, seen: map[string]bool{}, done: map[string]string{}, dotted: map[string]bool{}}
	_, _ = rand.Read(t.key[:]) // never fails
	return t
}

// Pair is one replacement.
type Pair struct {
	Is    string `json:"is"`
	Stood string `json:"stands_for"`
}

// Pairs are the replacements that were made, in the order of what stands in the texts now.
func (t *Table) Pairs() []Pair {
	var all []Pair
	for _, was := range slices.Sorted(maps.Keys(t.done)) {
		all = append(all, Pair{Is: t.done[was], Stood: was})
	}
	slices.SortStableFunc(all, func(a, b Pair) int { return strings.Compare(a.Is, b.Is) })
	return all
}

// note remembers a replacement that was made.
func (t *Table) note(was, is string) string {
	if was != is {
		t.done[was] = is
	}
	return is
}

// number is a number below limit that only the key and the text decide.
func (t *Table) number(kind, text string, limit uint32) uint32 {
	return binary.BigEndian.Uint32(t.hash(kind, text)) % limit
}

func (t *Table) hash(kind, text string) []byte {
	h := hmac.New(sha256.New, t.key[:])
	h.Write([]byte(kind + "\x00" + text))
	return h.Sum(nil)
}

// isBounded reports whether no letter or digit stands beside a token. The names of udev have a
// MAC address behind an x.
func isBounded(text string, begin, end int) bool {
	before := begin == 0 || !isWordByte(text[begin-1]) ||
		begin >= 3 && strings.Contains("enx wlx ibx", text[begin-3:begin])
	return before && (end == len(text) || !isWordByte(text[end]))
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// isDecimal reports whether digits may be those of a time or a size.
func isDecimal(digits string) bool { return strings.Trim(digits, "0123456789") == "" }
