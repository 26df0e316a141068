package adopt

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/adoption"
)

// setting is one argument of the provider block. Its value is a text, a number, a truth
// value, a list of texts, or more settings.
type setting struct {
	name  string
	value any
	// written is HCL that stands in the file in place of the value, if it is set.
	written string
	secret  bool // is in no file
}

type settings []setting

// data is what the protocol takes.
func (s settings) data() map[string]any {
	out := map[string]any{}
	for _, a := range s {
		out[a.name] = a.value
		switch below := a.value.(type) {
		case settings:
			out[a.name] = below.data()
		case []settings:
			var list []any
			for _, item := range below {
				list = append(list, item.data())
			}
			out[a.name] = list
		}
	}
	return out
}

// hcl is the body of the block.
func (s settings) hcl() string {
	var b strings.Builder
	for _, a := range s {
		if !a.secret {
			fmt.Fprintf(&b, "%s = %s\n", adoption.Key(a.name), a.expression())
		}
	}
	return b.String()
}

// paragraphs is hcl with a line between the arguments.
func (s settings) paragraphs() string {
	var all []string
	for i := range s {
		all = append(all, s[i:i+1].hcl())
	}
	return strings.Join(all, "\n")
}

func (a setting) expression() string {
	if a.written != "" {
		return a.written
	}
	switch v := a.value.(type) {
	case settings:
		return "{\n" + v.hcl() + "}"
	case []settings:
		var b strings.Builder
		for _, item := range v {
			fmt.Fprintf(&b, "{\n%s},\n", item.hcl())
		}
		return "[\n" + b.String() + "]"
	case []string:
		texts := make([]string, len(v))
		for i, text := range v {
			texts[i] = adoption.Text(text)
		}
		return "[" + strings.Join(texts, ", ") + "]"
	case string:
		return adoption.Text(v)
	}
	return fmt.Sprint(a.value)
}
