// Package secret takes out of a text what nobody else may see: passwords, keys, tokens, by the
// names of their settings and by their own form, and wherever else the same value stands.
//
// It must not know a host, or replace what only names somebody.
package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Removed stands in place of a secret.
const Removed = "(removed)"

// Remover knows the secrets of all texts that it was shown.
type Remover struct {
	values map[string]bool // as they were written
	forms  []string        // of them, the longest first; nil until they are needed
	Count  int             // of values that were taken out
}

// New returns one that knows none.
func New() *Remover { return &Remover{values: map[string]bool{}} }

// words are the names of settings that hold a secret, or end or begin with such a word.
const words = `passw(?:or)?d(?:[-_]raw)?|passphrase|pass|pwd|psk|secrets?|tokens?|credentials?|private[-_. ]?key` +
	`|preshared[-_. ]?key|` +
	`wep[-_]?key\d?|api[-_]?key|auth[-_]?key|access[-_]?key|encryption[-_]?key|m_?key|sm_?key|sa_?key|vs_?key` +
	`|cc_?key|am_?key|` +
	`dhchap[-_]?(?:ctrl[-_]?)?(?:key|secret)|sed_user|community|pin|wireless[-_]key\d?`

// quoted is a string in quotes, with the escapes of JSON.
const quoted = `"(?:[^"\\]|\\.)*"|'[^']*'`

var (
	// setting is a name, what separates it from its value, and the value up to its end.
	setting = regexp.MustCompile(`(?i)(["']?\b(?:[a-z0-9]+[-_.])*(?:` + words + `)["']?\s*[:=]\s*)(` + quoted +
		`|[^\s"',;{}\[\]][^\s,;}\]]*)`)
	// line is a setting with a line of its own: its value may have blanks.
	line = regexp.MustCompile(`(?im)^(\|?[ \t]*(?:- )?["']?(?:[a-z0-9]+[-_.])*(?:` + words +
		`)["']?[ \t]*[:=][ \t]*)([^\s"'\[{|>][^\r\n]*)`)
	// option is a flag, or an option of opensm: nothing but blanks before the value.
	option = regexp.MustCompile(`(?im)(^\|?[ \t]*#?[ \t]*(?:[a-z0-9]+[-_])*(?:` + words + `)[ \t]+` +
		`|\s--?(?:[a-z0-9]+-)*(?:` + words + `)[ \t]+)(` + quoted + `|[^\s=:"']\S*)`)
	// listed is a list in brackets as the value.
	listed = regexp.MustCompile(`(?i)(["']?\b(?:[a-z0-9]+[-_.])*(?:` + words + `)["']?\s*[:=]\s*)(\[[^\]]*\]|\{[^}]*\})`)
	// commands are places of secrets in what people have the system run.
	commands = []*regexp.Regexp{
		regexp.MustCompile(`(?i)(authorization["']?\s*[:=]\s*(?:[a-z]+\s+)?)([^\s"'\\]+)`),
		regexp.MustCompile(`(\bsshpass\s+-p\s*)(` + quoted + `|\S+)`),
		regexp.MustCompile(`(\bmysql\w*\b[^\n;|&]*?\s-p)(` + quoted + `|\S+)`),
		regexp.MustCompile(`(\s(?:-u|-U|--user|--proxy-user)[ =]?["']?[^\s:"']+:)([^\s"']+)`),
		regexp.MustCompile(`(\b(?:enc|auth|auth-trunc|aead|comp)\s+(?:'[^']*'|"[^"]*"|\S+)\s+)(0x[0-9a-fA-F]{8,})`),
		regexp.MustCompile(`(\bkey\s+\d\d\s+)([0-9a-fA-F]{32,64})\b`),
	}
	login = regexp.MustCompile(`(://[^/\s:@]*:)([^/\s@]+)(@)`)
	// block is a key of YAML whose lines follow: a block of text, or whole sections that hold secrets.
	block = regexp.MustCompile(`(?i)^(\|?)([ \t]*(?:- )?)["']?((?:[a-z0-9]+[-_.])*(?:` + words +
		`))["']?:[ \t]*(?:[|>][-+0-9]*)?[ \t]*$`)
	section = regexp.MustCompile(`^(\|?)([ \t]*(?:- )?)["']?(wifis|modems|auth|keys|access-points)["']?:`)
	pem     = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z0-9 ]*PRIVATE ` +
		`KEY[A-Z ]*-----|$)`)
	// formed are values that are secrets by their own form.
	formed = regexp.MustCompile(`\b(?:gh[opsu]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|hf_|sk-|hvs\.|npm_)` +
		`[-_A-Za-z0-9]{12,}` +
		`|\beyJ[-_A-Za-z0-9]{8,}\.[-_A-Za-z0-9]{8,}\.[-_A-Za-z0-9]*` +
		`|\$(?:1|2[aby]|5|6|7|y|gy|argon2id?|apr1)\$[^\s:"']+` +
		`|DHHC-1:[0-9]{2}:[A-Za-z0-9+/=]+:?` +
		`|\b(?:ssh-[a-z0-9]+|ecdsa-sha2-[a-z0-9-]+|sk-ssh-[a-z0-9@.-]+) AAAA[A-Za-z0-9+/=]+(?: [^\s"']+)?`)
	long = regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}={0,2}`)
)

// harmless are values of such settings that are no secrets.
var harmless = []string{"", "none", "null", "true", "false", "yes", "no", "0", "0x0", "0x0000000000000000",
	"0x0000000000000001", "~", strings.ToLower(Removed)}

// Learn takes the secrets of a text into memory, and returns the text without them. A text that was
// cut, or in which somebody made a mistake, is no reason to keep what may be one.
func (r *Remover) Learn(text string) string {
	text = pem.ReplaceAllStringFunc(text, func(whole string) string {
		for line := range strings.Lines(whole) {
			if line = strings.Trim(line, "|\n\r \t"); !strings.HasPrefix(line, "-----") {
				r.remember(line)
			}
		}
		return Removed
	})
	text = r.withoutBlocks(text)
	text = r.take(login, text)
	for _, re := range append([]*regexp.Regexp{listed, line, setting, option}, commands...) {
		text = r.take(re, text)
	}
	text = formed.ReplaceAllStringFunc(text, r.remember)
	return long.ReplaceAllStringFunc(text, func(run string) string {
		if !isRandom(run) {
			return run
		}
		return r.remember(run)
	})
}

// take removes the second group of each match.
func (r *Remover) take(re *regexp.Regexp, text string) string {
	return re.ReplaceAllStringFunc(text, func(whole string) string {
		m := re.FindStringSubmatch(whole)
		value := strings.Trim(m[2], `"'`)
		if slices.Contains(harmless, strings.ToLower(strings.Trim(value, ". "))) {
			return whole
		}
		rest := strings.TrimPrefix(whole, m[1]+m[2])
		quote := m[2][:1]
		if quote != `"` && quote != "'" {
			quote = ""
		}
		if m[2][0] == '[' || m[2][0] == '{' {
			for part := range strings.FieldsFuncSeq(value, func(c rune) bool { return strings.ContainsRune("[]{},\"' ", c) }) {
				r.remember(part)
			}
			quote = `"`
		}
		return m[1] + quote + r.remember(value) + quote + rest
	})
}

// remember notes a secret. One that may be a number or a word of the system is taken out at its place
// only: the same letters stand elsewhere for something else.
func (r *Remover) remember(value string) string {
	r.Count++
	if plain := unescape(value); isDistinct(plain) {
		r.values[plain], r.values[value] = true, true
		r.forms = nil
	}
	return Removed
}

// isDistinct reports whether a value stands in other texts for nothing but itself.
func isDistinct(value string) bool {
	const fewest, ofNumber = 6, 12
	kinds := map[rune]bool{}
	for _, c := range value {
		kinds[c] = true
	}
	least := fewest
	if strings.Trim(value, "0123456789abcdefABCDEFx") == "" {
		least = ofNumber
	}
	return len(value) >= least && len(kinds) >= 4 && !slices.Contains(common, strings.ToLower(value))
}

// common are words that people take for passwords, and that answers of hosts are full of.
var common = strings.Fields(`password ubuntu debian truenas fedora redhat archlinux network networks interface infiniband
mellanox opensm default systemd netplan server storage switch ethernet connected datagram managed enabled disabled
active inactive loaded static`)

// unescape is a value without the escapes of JSON; as it is if it has none.
func unescape(value string) string {
	var plain string
	if json.Unmarshal([]byte(`"`+value+`"`), &plain) == nil {
		return plain
	}
	return value
}

// withoutBlocks removes what stands deeper than a key of YAML whose value is a secret.
func (r *Remover) withoutBlocks(text string) string {
	var out strings.Builder
	hidden, depth := false, 0
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\r\n")
		body := strings.TrimPrefix(bare, "|")
		indent := len(body) - len(strings.TrimLeft(body, " \t"))
		if hidden && (strings.TrimSpace(body) == "" || indent > depth) && !strings.HasPrefix(bare, "@") {
			r.rememberLine(body)
			continue
		}
		hidden = false
		if m := section.FindStringSubmatch(bare); m != nil {
			r.rememberLine(bare[len(m[0]):])
			out.WriteString(m[0] + " {}\n")
			hidden, depth = true, len(m[2])
			continue
		}
		if m := block.FindStringSubmatch(bare); m != nil {
			out.WriteString(m[1] + m[2] + m[3] + ": \"" + Removed + "\"\n")
			hidden, depth = true, len(m[2])
			continue
		}
		out.WriteString(line)
	}
	return out.String()
}

// rememberLine notes the value of a line that is removed, which may be a setting or text.
func (r *Remover) rememberLine(line string) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	r.take(setting, line)
	if !strings.Contains(line, ":") {
		r.remember(strings.Trim(strings.TrimPrefix(line, "- "), `"'`))
	}
}

// isRandom reports whether a run of letters and digits is no word and no path.
func isRandom(run string) bool {
	var upper, lower, digit, slash int
	for _, c := range run {
		switch {
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= '0' && c <= '9':
			digit++
		case c == '/':
			slash++
		}
	}
	return upper > 2 && lower > 2 && digit > 1 && slash <= len(run)/16
}

// Clean takes every secret that was learned out of a text, in all forms in which it may stand there.
func (r *Remover) Clean(text string) string {
	for _, form := range r.allForms() {
		if n := strings.Count(text, form); n > 0 {
			r.Count += n
			text = strings.ReplaceAll(text, form, Removed)
		}
	}
	return text
}

// Check says which form of a secret is left in a text. Its error does not show it.
func (r *Remover) Check(name, text string) error {
	for _, form := range r.allForms() {
		if at := strings.Index(text, form); at >= 0 {
			return fmt.Errorf("%s still holds a secret in line %d", name, 1+strings.Count(text[:at], "\n"))
		}
	}
	return nil
}

func (r *Remover) allForms() []string {
	if r.forms != nil {
		return r.forms
	}
	r.forms = []string{}
	for value := range r.values {
		r.forms = append(r.forms, formsOf(value)...)
	}
	slices.Sort(r.forms)
	r.forms = slices.Compact(r.forms)
	// The longest first, so that a secret inside another one leaves no rest.
	slices.SortStableFunc(r.forms, func(a, b string) int { return len(b) - len(a) })
	return r.forms
}

// formsOf are a value as it is, and as programs write it into texts of their own.
func formsOf(value string) []string {
	escaped, err := json.Marshal(value)
	if err != nil {
		return []string{value}
	}
	asHex := hex.EncodeToString([]byte(value))
	forms := []string{value, string(escaped[1 : len(escaped)-1]), asHex, strings.ToUpper(asHex), url.QueryEscape(value),
		url.PathEscape(value), strings.ReplaceAll(value, "'", `'\''`)}
	for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		// Text before it moves a value by one or two bytes in the code; the letters that it
		// shares with its neighbours are left away.
		for skip := range 3 {
			coded := code.EncodeToString([]byte(strings.Repeat("\x00", skip) + value))
			first, last := (skip*8+5)/6, (skip+len(value))*8/6
			if last-first >= 8 {
				forms = append(forms, coded[first:last])
			}
		}
	}
	return forms
}
