package adoption

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
)

// Text is a text as HCL writes it, with everything escaped that HCL would evaluate.
func Text(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

// Key is the key of a map or an object.
func Key(name string) string {
	if hclsyntax.ValidIdentifier(name) {
		return name
	}
	return Text(name)
}

// expression is a known value as HCL writes it. Attributes that are null are left out.
func expression(v tftypes.Value) string {
	if v.IsNull() || !v.IsKnown() {
		return "null"
	}
	var (
		list  []tftypes.Value
		named map[string]tftypes.Value
	)
	switch typ := v.Type(); {
	case typ.Is(tftypes.Object{}) && v.As(&named) == nil:
		return braces(named, Key)
	case typ.Is(tftypes.Map{}) && v.As(&named) == nil:
		return braces(named, Text)
	case v.As(&list) == nil:
		items := make([]string, len(list))
		for i, item := range list {
			items[i] = expression(item)
		}
		if typ.Is(tftypes.Set{}) {
			slices.Sort(items)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return scalar(v)
}

func scalar(v tftypes.Value) string {
	var (
		yes    bool
		number big.Float
	)
	switch {
	case v.As(&yes) == nil:
		return strconv.FormatBool(yes)
	case v.As(&number) == nil:
		return number.Text('f', -1)
	}
	return Text(textOf(v))
}

// braces puts what is short on one line.
func braces(named map[string]tftypes.Value, spelling func(string) string) string {
	var items []string
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !named[name].IsNull() {
			items = append(items, spelling(name)+" = "+expression(named[name]))
		}
	}
	all := strings.Join(items, ", ")
	switch {
	case len(items) == 0:
		return "{}"
	case strings.Contains(all, "{") || len(all) > 60:
		return "{\n" + strings.Join(items, "\n") + "\n}"
	}
	return "{ " + all + " }"
}

// width is where the lines of comments and paragraphs end.
const width = 100

// wrap breaks paragraphs into lines. Lines that are indented stay as they are.
func wrap(s string) string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		if strings.HasPrefix(line, " ") {
			out = append(out, strings.TrimRight(line, " \t\r"))
			continue
		}
		now := ""
		for _, word := range strings.Fields(line) {
			if now != "" && len(now)+1+len(word) > width {
				out, now = append(out, now), ""
			}
			now = strings.TrimSpace(now + " " + word)
		}
		out = append(out, now)
	}
	return strings.Join(out, "\n")
}

// comment makes a comment from a text. An empty text gives none.
func comment(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.SplitSeq(wrap(s), "\n") {
		b.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	return b.String()
}

func prefixLines(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// Format is what terraform fmt makes of a file.
func Format(s string) []byte { return hclwrite.Format([]byte(s)) }

// oneText puts paragraphs on one line.
func oneText(s string) string { return strings.Join(strings.Fields(s), " ") }

func textOf(v tftypes.Value) string {
	var text string
	if v.IsNull() || !v.IsKnown() || !v.Type().Is(tftypes.String) || v.As(&text) != nil {
		return ""
	}
	return text
}
