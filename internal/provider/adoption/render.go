package adoption

import (
	"fmt"
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

// block writes a resource. forEach is empty unless it stands for several hosts; after names
// the blocks that come before it without being named by a value.
func block(o *Object, given form, forEach string, after []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "resource %q %q {\n", o.Type, o.Name)
	if forEach != "" {
		fmt.Fprintf(&b, "for_each = %s\n\n", forEach)
	}
	for _, a := range given {
		fmt.Fprintf(&b, "%s = %s\n", a.name, a.expression(o))
	}
	if len(after) > 0 {
		fmt.Fprintf(&b, "\ndepends_on = [%s]\n", strings.Join(after, ", "))
	}
	b.WriteString("}\n")
	return b.String()
}

// after are the blocks with the link types of the cards whose ports a block uses. A port that
// is Ethernet has no interface, and no subnet manager finds it.
func (f *Lab) after(all []*Object) (blocks []string) {
	if all[0].Type != ipoibType && all[0].Type != smType {
		return nil
	}
	for _, o := range all {
		for _, other := range f.objects {
			written := other.Type == linkType && (other.taken || other.adopted())
			if written && o.card != nil && other.card == o.card && !slices.Contains(blocks, other.block()) {
				blocks = append(blocks, other.block())
			}
		}
	}
	return blocks
}

// about is the comment above a resource. It says what a reader wants to know and the
// arguments do not say.
func about(o *Object) string {
	join := func(words ...string) string {
		return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
	}
	switch o.Type {
	case cardType:
		return join(o.is("chip"), o.is("part_number"), prefixLines("serial number ", o.is("serial_number")))
	case firmwareType:
		if o.is("image_id") != "" {
			return "The image that was burned by this provider. Its copy is on the host; for another burn, stage a file " +
				"with infiniband_firmware_image."
		}
		return "Held as it is: a plan shows other firmware. To burn an image, write image_id in place of these two values."
	case ipoibType:
		return join(o.is("interface"), o.is("network_stack"))
	case smType:
		return o.is("unit")
	}
	return ""
}

func prefixLines(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// Format is what terraform fmt makes of a file.
func Format(s string) []byte { return hclwrite.Format([]byte(s)) }
