package review

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	show "github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// member is a part of a JSON object; nil if there is none.
func member(v any, key string) any {
	object, _ := v.(map[string]any)
	return object[key]
}

// element is a part of a JSON list; nil if there is none.
func element(v any, i int) any {
	if list, _ := v.([]any); i < len(list) {
		return list[i]
	}
	return nil
}

func isTrue(v any) bool {
	yes, _ := v.(bool)
	return yes
}

// textOf is a part of a JSON object that is a text.
func textOf(v any, key string) string {
	text, _ := member(v, key).(string)
	return text
}

// keysOf are the keys of JSON objects, sorted.
func keysOf(objects ...any) []string {
	all := map[string]any{}
	for _, v := range objects {
		object, _ := v.(map[string]any)
		maps.Copy(all, object)
	}
	return slices.Sorted(maps.Keys(all))
}

// places are where two objects have values, in order.
func places(before, after []leaf) []string {
	var all []string
	for _, l := range slices.Concat(before, after) {
		all = append(all, l.at)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func textAt(all []leaf, at string) string {
	for _, l := range all {
		if l.at == at {
			return l.text
		}
	}
	return ""
}

// longest is what a value may take of a table.
const longest = 160

// code is a value as Markdown. A name of a plan may hold anything: in it nothing is markup, a
// link, or somebody to notify, and no cell of a table ends.
func code(value string) string {
	value = show.Line(value)
	if cut := []rune(value); len(cut) > longest {
		value = string(cut[:longest]) + "…"
	}
	switch {
	case value == "":
		return "–"
	case !strings.ContainsAny(value, "`|\\"):
		return "`" + value + "`"
	}
	var b strings.Builder
	for _, c := range value {
		if c == ' ' || unicode.IsLetter(c) || unicode.IsDigit(c) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "&#%d;", c)
		}
	}
	return "<code>" + b.String() + "</code>"
}

// fence is a text of several lines as Markdown, in which nothing is markup.
func fence(text string) string {
	text = strings.TrimSpace(show.Plain(text))
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	return mark + "text\n" + text + "\n" + mark
}
