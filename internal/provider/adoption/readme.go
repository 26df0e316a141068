package adoption

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// Readme says what was found. more is a paragraph on how to go on.
func (f *Lab) Readme(more string) string {
	var b strings.Builder
	b.WriteString("# The InfiniBand lab\n\n")
	b.WriteString(wrap("This is the configuration of a lab that was there before. `terraform-provider-infiniband adopt` "+
		"read the hosts and wrote it. Nothing was changed on them.") + "\n\n")
	b.WriteString(wrap("Run `terraform init`, then `terraform plan`. "+f.Summary()+". After `terraform apply` the state has "+
		"all of it, and `imports.tf` can go.") + "\n")
	b.WriteString(more)
	f.table(&b)
	b.WriteString("\n## Fabric\n\n")
	for _, picture := range f.pictures {
		fmt.Fprintf(&b, "```mermaid\n%s\n```\n\n", strings.TrimSpace(picture))
	}
	if len(f.pictures) == 0 {
		b.WriteString("No host could draw it: " + oneText(f.undrawn) + "\n")
	}
	var taken [][]*Object
	for _, o := range f.TakenOver() {
		taken = append(taken, []*Object{o})
	}
	f.list(&b, "Taken over by the apply", nil, taken)
	f.list(&b, "Not adopted", f.FailedHosts(), f.RefusedAlike())
	f.writeWarnings(&b)
	return b.String()
}

// writeWarnings lists what the plan warns of.
func (f *Lab) writeWarnings(b *strings.Builder) {
	told := map[string]bool{}
	for _, o := range f.Adopted() {
		for _, w := range o.warnings {
			if told[w.Summary] {
				continue
			}
			if len(told) == 0 {
				b.WriteString("\n## Warnings of the plan\n\n")
			}
			told[w.Summary] = true
			fmt.Fprintf(b, "- %s. %s\n", strings.TrimSuffix(oneText(w.Summary), "."), oneText(w.Detail))
		}
	}
}

func (f *Lab) table(b *strings.Builder) {
	b.WriteString("\n## Hosts\n\n| Host | System | Card | Chip | Firmware | PSID | Ports |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, m := range f.Up() {
		for i := range m.snap.Cards {
			c := &m.snap.Cards[i]
			version, psid := c.RunningFW, string(c.RunningPSID)
			if c.Flash != nil {
				version, psid = c.Flash.FW.String(), string(c.Flash.PSID)
			}
			row := []string{m.Name, m.OS, c.PCI.String(), c.Model(), version, psid, ports(c)}
			for j := range row {
				row[j] = cell(row[j])
			}
			b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		}
	}
}

func ports(c *inventory.Card) string {
	var all []string
	for _, p := range c.Ports {
		words := strings.Join(strings.Fields(p.LinkLayer+" "+p.State), " ")
		if p.Physical == "LinkUp" && p.Rate != "" {
			words += ", " + p.Rate
		}
		all = append(all, fmt.Sprintf("%d: %s", p.Number, words))
	}
	return strings.Join(all, "; ")
}

// plain is what Markdown shows as it stands: no character of it is markup, or begins a link.
var plain = regexp.MustCompile(`^(?:[A-Za-z0-9 .,;()_+-]|[:/][^/])*$`)

// cell makes a text fit into a table. What comes from a host is no markup there.
func cell(s string) string {
	s = oneText(diagnostic.Visible(s))
	switch {
	case s == "":
		return "unknown"
	case plain.MatchString(s) && !strings.Contains(s, "www."):
		return s
	}
	return diagnostic.NoMarkup(s)
}

// list says of hosts and objects why they are not adopted as they are.
func (f *Lab) list(b *strings.Builder, title string, hosts []*Machine, objects [][]*Object) {
	if len(hosts)+len(objects) == 0 {
		return
	}
	b.WriteString("\n## " + title + "\n\n")
	for _, m := range hosts {
		fmt.Fprintf(b, "- Host `%s`: %s. %s\n", m.Name, strings.TrimSuffix(m.Error.Summary, "."), oneText(m.Error.Detail))
	}
	for _, all := range objects {
		ids := strings.ReplaceAll(IDs(all), ", ", "`, `")
		fmt.Fprintf(b, "- `%s` `%s`: %s\n", all[0].Type, ids, oneText(all[0].Reason.Summary))
	}
}
