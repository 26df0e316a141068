package diagnostic

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainLimit bounds one text; what is longer loses its middle.
const plainLimit = 64 << 10

// Plain is Visible for a text that is only shown: a very long one loses its middle.
func Plain(text string) string {
	if len(text) > plainLimit {
		text = text[:plainLimit*3/4] + fmt.Sprintf("\n(%d bytes left out)\n",
			len(text)-plainLimit) + text[len(text)-plainLimit/4:]
	}
	return Visible(text)
}

// Line is Plain as one line, with single blanks.
func Line(text string) string { return strings.Join(strings.Fields(Plain(text)), " ") }

// NoMarkup writes a line for Markdown or HTML: nothing in it is markup, a link, or somebody to notify, and no cell of a
// table ends.
func NoMarkup(line string) string {
	var b strings.Builder
	for _, c := range line {
		if c == ' ' || unicode.IsLetter(c) || unicode.IsDigit(c) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "&#%d;", c)
		}
	}
	return b.String()
}

// Visible makes a text safe for terminals and logs. A host may print anything: escape
// sequences that move the cursor or set the title, carriage returns that overwrite a
// line, marks that turn the direction of writing. They become visible as \x1b or
// \u202e; line ends and tabs stay.
func Visible(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.IndexFunc(text, active) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1 || r < 0x80 && active(r):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case active(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	return b.String()
}

// active reports whether a terminal may act on a character instead of showing it.
func active(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
