package adoption

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// cabling is a fabric as it was found: the cables, and who looked at it.
type cabling struct {
	host, port string
	cables     []tftypes.Value
}

// cablingOf has no cables of a fabric without a subnet manager: one that is down is not as it is meant to be.
func cablingOf(host string, fabric map[string]tftypes.Value) (c cabling) {
	c.host, c.port = host, textOf(fabric["port_guid"])
	if len(listOf(fabric["sms"])) > 0 {
		c.cables = listOf(fabric["links"])
	}
	return c
}

// listOf are the elements of a list; nil of one that is null or not known.
func listOf(list tftypes.Value) (elements []tftypes.Value) {
	if !list.IsNull() && list.IsKnown() {
		_ = list.As(&elements) // it is a list
	}
	return elements
}

// Cables is a file that holds the cables of each fabric that was drawn; empty without one. Error counters are
// sums that nobody may have cleared for years, so they are no difference here.
func (f *Lab) Cables() []byte {
	var blocks []string
	for _, c := range f.cablings {
		if len(c.cables) == 0 {
			continue
		}
		var b strings.Builder
		name := identifier(c.host)
		fmt.Fprintf(&b, "data \"infiniband_fabric\" %q {\nhost = %s\nport_guid = %s\nmax_errors = {}\n\nexpected_links = [\n",
			name, Text(c.host), Text(c.port))
		for _, cable := range c.cables {
			b.WriteString(cableLine(cable))
		}
		said := "data.infiniband_fabric." + name + ".differences[*].message"
		fmt.Fprintf(&b, "]\n}\n\ncheck %q {\nassert {\ncondition = length(%s) == 0\nerror_message = join(\"\\n\", %s)\n}\n}"+
			"\n\noutput %q {\ndescription = \"What differs from these cables. A change of it is drift.\"\nvalue = %s\n}\n",
			"fabric_"+name, said, said, "fabric_"+name, said)
		blocks = append(blocks, b.String())
	}
	if len(blocks) == 0 {
		return nil
	}
	return Format(comment("The cables as they were found, each with its width and speed. Every plan names those that are "+
		"missing, new or slower. For errors and links that flap, see infiniband_fabric_baseline.") + "\n" +
		strings.Join(blocks, "\n"))
}

// cableLine puts a cable on one line, as a person would; empty if nobody answers at one of its ends.
func cableLine(cable tftypes.Value) string {
	link := valuesOf(cable)
	words := []string{"a = " + Text(textOf(valuesOf(link["a"])["end"])), "b = " + Text(textOf(valuesOf(link["b"])["end"]))}
	if link["b"].IsNull() {
		return ""
	}
	for name, value := range map[string]tftypes.Value{"min_width": link["width"], "min_speed": link["speed"]} {
		if text := textOf(value); text != "" {
			words = append(words, name+" = "+Text(text))
		}
	}
	slices.Sort(words[2:])
	slices.Reverse(words[2:])
	return "{ " + strings.Join(words, ", ") + " },\n"
}

// valuesOf are the attributes of an object; nil of one that is null.
func valuesOf(object tftypes.Value) (values map[string]tftypes.Value) {
	if object.IsNull() || object.As(&values) != nil {
		return nil
	}
	return values
}

// drawn takes what a host sees of its fabric, and gives the hosts that are on it.
func (f *Lab) drawn(host string, fabric map[string]tftypes.Value) []string {
	f.pictures = append(f.pictures, textOf(fabric["mermaid"]))
	c := cablingOf(host, fabric)
	if !slices.ContainsFunc(f.cablings, func(other cabling) bool { return identifier(other.host) == identifier(host) }) {
		f.cablings = append(f.cablings, c)
	}
	return hostsOf(fabric["nodes"])
}
