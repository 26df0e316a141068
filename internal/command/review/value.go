package review

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

// longest is what a value may take of a table. The files that one apply writes have room in it.
const longest = 400

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
	return "<code>" + show.NoMarkup(value) + "</code>"
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

// laterKnown stands for a value that only the apply will know.
const laterKnown = "(known after apply)"

// leaf is one value of a resource: where it is, and how it is written.
type leaf struct{ at, text string }

// leaves are the values of v that are neither null, unknown nor empty. Sensitive ones are hidden.
func leaves(at string, v, unknown, sensitive any) []leaf {
	if hidden, _ := sensitive.(bool); hidden && v != nil {
		return []leaf{{at, "(sensitive)"}}
	}
	if later, _ := unknown.(bool); later {
		return []leaf{{at, laterKnown}}
	}
	switch v := v.(type) {
	case map[string]any:
		var all []leaf
		for _, key := range keysOf(v, unknown) {
			below := strings.TrimPrefix(at+"."+key, ".")
			all = append(all, leaves(below, v[key], member(unknown, key), member(sensitive, key))...)
		}
		return all
	case []any:
		return listed(at, v, unknown, sensitive)
	case nil:
		return nil
	case string:
		return []leaf{{at, v}}
	}
	return []leaf{{at, fmt.Sprint(v)}}
}

// listed is a list: texts and numbers on one line, and the members of objects each for itself.
func listed(at string, v []any, unknown, sensitive any) []leaf {
	var all []leaf
	var texts []string
	for i, item := range v {
		below := leaves(fmt.Sprintf("%s[%d]", at, i), item, element(unknown, i), element(sensitive, i))
		if len(below) == 1 && !strings.Contains(below[0].at[len(at):], ".") {
			texts = append(texts, below[0].text)
			continue
		}
		all = append(all, below...)
	}
	if len(texts) > 0 {
		all = append([]leaf{{at, strings.Join(texts, ", ")}}, all...)
	}
	return all
}
