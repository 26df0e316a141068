// Package picture draws a fabric: as a standalone SVG, as Mermaid and as
// Graphviz DOT. The same fabric always gives the same bytes.
//
// It must not read anything but the fabric, or let a node description break out
// of a label.
package picture

import (
	"fmt"
	"html"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
)

// The colours of links, which are also in the legend.
const (
	colourFine = "#64748b"
	colourSlow = "#d97706"
	colourDown = "#dc2626"
)

// colour says how a link does: red if nothing can use it, amber if it could be
// faster.
func colour(l *fabric.Link) string {
	switch {
	case !usable(l):
		return colourDown
	case l.Degraded() || l.BelowWish:
		return colourSlow
	}
	return colourFine
}

func usable(l *fabric.Link) bool {
	return l.B != nil && l.A.State == "Active" && l.B.State == "Active"
}

// rate is what stands at a link.
func rate(l *fabric.Link) string {
	switch {
	case l.B == nil:
		return "no answer"
	case !l.Up():
		return "down"
	case !usable(l):
		return l.Rate() + ", " + l.A.State
	}
	return l.Rate()
}

// manager says whether and how a node manages the subnet: "SM", "SM standby".
func manager(f *fabric.Fabric, n *fabric.Node) string {
	for _, sm := range f.SMs {
		switch {
		case sm.Node != n:
		case sm.State == "master":
			return "SM"
		default:
			return "SM " + sm.State
		}
	}
	return ""
}

// usual is the rate that most links have, so that only the others need a label
// where there are many.
func usual(f *fabric.Fabric) string {
	count, best := map[string]int{}, ""
	for _, l := range f.Links {
		if r := rate(l); usable(l) {
			count[r]++
			// Of equals the lower in the alphabet: a map has no order, and the same fabric has to give the same picture.
			if count[r] > count[best] || count[r] == count[best] && r < best {
				best = r
			}
		}
	}
	return best
}

// ids gives nodes short names in the order of the fabric.
func ids(f *fabric.Fabric) map[*fabric.Node]string {
	names := map[*fabric.Node]string{}
	for i, n := range f.Nodes {
		letter := "h"
		if n.Switch {
			letter = "s"
		}
		names[n] = fmt.Sprintf("%s%d", letter, i)
	}
	return names
}

// title is a card's name and its device: what the node name map gives, or its host's.
func title(n *fabric.Node) (name, device string) {
	if n.Given != "" {
		return n.Label(), ""
	}
	return n.HostName(), n.Device()
}

// lines is what a node's label says, line by line.
func lines(f *fabric.Fabric, n *fabric.Node) []string {
	var list []string
	if n.Switch {
		list = []string{n.Label(), fmt.Sprintf("%d ports", n.PortCount)}
	} else {
		name, device := title(n)
		if list = []string{name}; device != "" {
			list = append(list, device)
		}
	}
	if m := manager(f, n); m != "" {
		list = append(list, m)
	}
	return list
}

// Mermaid draws for Markdown that understands ```mermaid.
func Mermaid(f *fabric.Fabric, missing []fabric.AbsentCable) string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	names := ids(f)
	for _, n := range f.Nodes {
		class, shape := "card", [2]string{"(", ")"}
		switch {
		case n.Switch:
			class, shape = "switch", [2]string{"[", "]"}
		case manager(f, n) == "SM":
			class = "master"
		}
		fmt.Fprintf(&b, "  %s%s\"%s\"%s:::%s\n", names[n], shape[0], mermaidText(strings.Join(lines(f, n), "\n")), shape[1],
			class)
	}
	edge := 0
	style := func(colour string, dashed bool) {
		dash := ""
		if dashed {
			dash = ",stroke-dasharray:6 4"
		}
		fmt.Fprintf(&b, "  linkStyle %d stroke:%s,stroke-width:2px%s\n", edge, colour, dash)
		edge++
	}
	for i, l := range f.Links {
		if l.B == nil {
			fmt.Fprintf(&b, "  x%d([\"?\"])\n  %s ---|\"%d · no answer\"| x%d\n", i, names[l.A.Node], l.A.Number, i)
		} else {
			fmt.Fprintf(&b, "  %s ---|\"%d · %s · %d\"| %s\n", names[l.A.Node], l.A.Number, mermaidText(rate(l)), l.B.Number,
				names[l.B.Node])
		}
		style(colour(l), l.B == nil)
	}
	for i, m := range missing {
		a, bEnd := ghost(&b, names, m.NodeA, m.A, fmt.Sprintf("m%da", i)), ghost(&b, names, m.NodeB, m.B,
			fmt.Sprintf("m%db", i))
		fmt.Fprintf(&b, "  %s -.-|\"missing\"| %s\n", a, bEnd)
		style(colourDown, true)
	}
	b.WriteString("  classDef switch fill:#1e293b,stroke:#0f172a,color:#f8fafc\n  classDef card " +
		"fill:#f8fafc,stroke:#94a3b8,color:#0f172a\n" +
		"  classDef master fill:#ecfdf5,stroke:#059669,color:#0f172a,stroke-width:2px\n")
	return b.String()
}

// ghost is a node that should be there and is not.
func ghost(b *strings.Builder, names map[*fabric.Node]string, n *fabric.Node, end, name string) string {
	if n != nil {
		return names[n]
	}
	fmt.Fprintf(b, "  %s([\"%s\"])\n", name, mermaidText(fabric.Printable(end)))
	return name
}

// mermaidText writes everything that means something to Mermaid, Markdown or HTML
// as an entity code of Mermaid's, which begins with # and not with &.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString("<br/>")
		case strings.ContainsRune("\"#&<>`\\*_~[](){}|;", r) && r != '(' && r != ')':
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// DOT draws for the programs of Graphviz.
func DOT(f *fabric.Fabric, missing []fabric.AbsentCable) string {
	var b strings.Builder
	b.WriteString("graph fabric {\n  graph [rankdir=TB, ranksep=1.2, nodesep=0.4, fontname=\"Helvetica\"];\n" +
		"  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11, fillcolor=\"#f8fafc\", " +
		"color=\"#94a3b8\"];\n  edge [fontname=\"Helvetica\", fontsize=9];\n")
	names := ids(f)
	for _, n := range f.Nodes {
		style := ""
		switch {
		case n.Switch:
			style = ", fillcolor=\"#1e293b\", color=\"#0f172a\", fontcolor=\"#f8fafc\""
		case manager(f, n) == "SM":
			style = ", fillcolor=\"#ecfdf5\", color=\"#059669\", penwidth=2"
		}
		fmt.Fprintf(&b, "  %s [label=%s%s];\n", names[n], dotText(strings.Join(lines(f, n), "\n")), style)
	}
	for i, l := range f.Links {
		if l.B == nil {
			fmt.Fprintf(&b, "  x%d [label=\"?\", color=\"%s\"];\n  %s -- x%d [label=\"no answer\", taillabel=\"%d\", "+
				"color=\"%s\", style=dashed];\n", i, colourDown, names[l.A.Node], i, l.A.Number, colourDown)
			continue
		}
		fmt.Fprintf(&b, "  %s -- %s [label=%s, taillabel=\"%d\", headlabel=\"%d\", color=\"%s\", penwidth=2];\n",
			names[l.A.Node], names[l.B.Node], dotText(rate(l)), l.A.Number, l.B.Number, colour(l))
	}
	for i, m := range missing {
		ends := [2]string{names[m.NodeA], names[m.NodeB]}
		for k, end := range []string{m.A, m.B} {
			if ends[k] == "" {
				ends[k] = fmt.Sprintf("m%d%c", i, 'a'+k)
				fmt.Fprintf(&b, "  %s [label=%s, style=dashed, color=\"%s\"];\n", ends[k], dotText(fabric.Printable(end)),
					colourDown)
			}
		}
		fmt.Fprintf(&b, "  %s -- %s [label=\"missing\", color=\"%s\", style=dashed];\n", ends[0], ends[1], colourDown)
	}
	b.WriteString("}\n")
	return b.String()
}

func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// xmlText escapes what XML forbids in text and attributes; control characters
// were made visible before.
func xmlText(s string) string { return html.EscapeString(fabric.Printable(s)) }
