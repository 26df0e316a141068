package diagnostic

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlain_leaves_nothing_that_acts(t *testing.T) {
	for text, want := range map[string]string{
		"two lines\n\tand a tab":    "two lines\n\tand a tab",
		"Größe 5 µm, “quoted” → 日本": "Größe 5 µm, “quoted” → 日本",
		"\x1b[2J\x1b]0;title\x07":   `\x1b[2J\x1b]0;title\x07`,
		"all is well\rDANGER":       `all is well\x0dDANGER`,
		"of a DOS file\r\n":         "of a DOS file\n",
		"a\x00b\x7fc\x08":           `a\x00b\x7fc\x08`,
		"csi \u009b2J":              `csi \u009b2J`,
		"latin \xe9 1":              `latin \xe9 1`,
		"\u202etxt.exe":             `\u202etxt.exe`,
		"line\u2028separator":       `line\u2028separator`,
	} {
		if got := Plain(text); got != want || Plain(got) != got {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestPlain_is_bounded(t *testing.T) {
	got := Plain("begin" + strings.Repeat("é", 1<<20) + "end")
	if len(got) > plainLimit+100 || !strings.HasPrefix(got, "begin") || !strings.HasSuffix(got, "end") ||
		!strings.Contains(got, "left out") || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %.50q", len(got), got)
	}
}
