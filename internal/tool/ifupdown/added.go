package ifupdown

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Added are the lines of a file of ours that Render does not write.
func Added(text string) (added []tool.Setting) {
	f, _ := Parse(text) // lines that are not understood are added ones
	in := ownStanzas{name: f.modeName()}
	for n, line := range logicalLines(tool.WithoutMark(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		value := strings.Join(words[1:], " ")
		if !in.hold(words, value) {
			added = append(added, tool.Setting{Line: n, Name: words[0], Value: value})
		}
	}
	return added
}

// ownStanzas goes through a file of ours; ours is whether an option is one of our stanzas.
type ownStanzas struct {
	name string
	ours bool
}

// hold reports whether a line is one that Render may write, or another form of one.
func (o *ownStanzas) hold(words []string, value string) bool {
	switch word := words[0]; {
	case word == "auto" || word == "allow-hotplug":
		return value == o.name
	case word == "iface":
		o.ours = len(words) == 4 && words[1] == o.name
		return o.ours && (words[3] == "static" || words[3] == "manual")
	case strings.HasPrefix(word, "allow-"), isSource(word):
		return false
	case slices.Contains([]string{"mapping", "template", "rename"}, word), strings.HasPrefix(word, "no-"):
		o.ours = false
		return false
	default:
		// Any other word is an option, and counts only below an iface line of ours.
		return o.ours && isHeld(o.name, word, value)
	}
}

// modeName is the interface whose stanza sets a mode, as ours does, or that of the first
// stanza, or the first of auto where somebody took the stanzas out.
func (f File) modeName() string {
	for _, s := range f.Stanzas {
		for _, o := range s.Options {
			if modeOf(s.Name, inOneLine(o.Value)) != "" {
				return s.Name
			}
		}
	}
	switch {
	case len(f.Stanzas) > 0:
		return f.Stanzas[0].Name
	case len(f.Auto) > 0:
		return f.Auto[0]
	}
	return ""
}
