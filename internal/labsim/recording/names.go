package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// tableEnd is the end of the name of the table that stays at home.
const tableEnd = ".names.json"

// pair is one replacement.
type pair struct {
	Is    string `json:"is"`
	Stood string `json:"stands_for"`
}

// Names is the table of what a recording has replaced.
type Names struct{ own, sent words }

// words are texts with what stands for them, and the expression that finds them.
type words struct {
	all *regexp.Regexp
	by  map[string]string
}

// ReadNames reads the table that lies beside a recording; nil if none does.
func ReadNames(recording string) (*Names, error) {
	info, err := os.Stat(recording + tableEnd)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && info.Size() > mostTable {
		return nil, fmt.Errorf("%s has %d bytes; a table has at most %d", recording+tableEnd, info.Size(), mostTable)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(recording + tableEnd)
	}
	var pairs []pair
	if err == nil {
		err = json.Unmarshal(data, &pairs)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", recording+tableEnd, err)
	}
	for _, p := range pairs {
		if text := p.Is + p.Stood; p.Is == "" || p.Stood == "" || strings.ContainsFunc(text, isUnprintable) {
			return nil, fmt.Errorf("%s cannot be used: the pair %q and %q is none of a recording", recording+tableEnd,
				p.Is, p.Stood)
		}
	}
	own, sent := map[string]string{}, map[string]string{}
	for _, p := range pairs {
		maps.Copy(own, forms(p))
		maps.Copy(sent, forms(pair{Is: p.Stood, Stood: p.Is}))
	}
	return &Names{newWords(own), newWords(sent)}, nil
}

// isUnprintable: names have no line ends, and nothing that a terminal would obey.
func isUnprintable(c rune) bool { return !unicode.IsPrint(c) }

func newWords(by map[string]string) words {
	all := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return len(b) - len(a) })
	for i, w := range all {
		all[i] = regexp.QuoteMeta(w)
	}
	return words{regexp.MustCompile(strings.Join(append(all, "$^"), "|")), by}
}

// Own gives a text of the recording the names and addresses back that it was recorded with.
func (n *Names) Own(text string) string { return n.own.replace(text) }

// Sent gives a text the names and addresses of the recording.
func (n *Names) Sent(text string) string { return n.sent.replace(text) }

// restore gives a lab its own names back, if the table of its replacements lies beside the recording. ok reports
// whether it does.
func (l *Lab) restore(name string) (ok bool, err error) {
	names, err := ReadNames(name)
	if err != nil || names == nil {
		return false, err
	}
	for h := range l.Hosts {
		host := &l.Hosts[h]
		texts := []*string{&host.Name, &host.Problem}
		for a := range host.Answers {
			answer := &host.Answers[a]
			texts = append(texts, &answer.Command, &answer.Problem, &answer.Output, &answer.Errors)
		}
		for _, text := range texts {
			*text = names.Own(*text)
		}
	}
	return true, nil
}

// marks are the ways to write an address of so many digits: how many stand between two marks.
var marks = []struct {
	digits, group int
	mark          string
}{{12, 2, ":"}, {12, 2, "-"}, {16, 2, ":"}, {16, 2, "-"}, {16, 4, ":"}}

var isHex = regexp.MustCompile(`^[0-9a-f]{12,16}$`)

// forms are those in which a replacement stands in the texts, with what stood there.
func forms(p pair) map[string]string {
	out := map[string]string{p.Is: p.Stood}
	if !isHex.MatchString(p.Is) {
		return out
	}
	out["0x"+p.Is] = "0x" + p.Stood
	for _, m := range marks {
		if m.digits != len(p.Is) {
			continue
		}
		with := func(text string) string {
			var parts []string
			for part := range slices.Chunk([]byte(text), m.group) {
				parts = append(parts, string(part))
			}
			return strings.Join(parts, m.mark)
		}
		out[with(p.Is)] = with(p.Stood)
	}
	for is, stood := range out {
		if upper := strings.ToUpper(is); !strings.HasPrefix(is, "0x") {
			out[upper] = strings.ToUpper(stood)
		}
	}
	return out
}

// replace replaces what stands alone: no letter or digit beside it. The names of udev have an address behind
// an x.
func (w words) replace(text string) string {
	var out strings.Builder
	from := 0
	for at := 0; at < len(text); {
		m := w.all.FindStringIndex(text[at:])
		if m == nil {
			break
		}
		begin, end := at+m[0], at+m[1]
		if begin == end {
			break
		}
		if begin > 0 && isWordByte(text[begin-1]) && text[begin-1] != 'x' || end < len(text) && isWordByte(text[end]) {
			at = begin + 1
			continue
		}
		out.WriteString(text[from:begin])
		out.WriteString(w.by[text[begin:end]])
		from, at = end, end
	}
	return out.String() + text[from:]
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
