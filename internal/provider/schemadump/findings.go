package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/schemadump/symptom"
)

const findingsHead = `---
page_title: "Findings"
subcategory: ""
description: |-
  Every reason for which the provider refuses, asks for consent, or warns.
---

<!-- Written by internal/provider/schemadump from the catalogue in the code. -->

# Findings

A finding is one reason for or against a change. Its code never changes its meaning. The command
` + "`terraform-provider-infiniband explain FW023`" + ` prints its section here. There are four kinds:

* **refused**: the plan stops. No argument allows the change.
* **needs consent**: the plan stops until an argument names exactly this change. The message prints the line to add. If the resource is
  in a module, give the line to the module, as [the module of a lab](crossflash.md#the-configuration) takes it. The consent counts while
  it is in the configuration. You may remove it after the apply.
* **warning**: the plan goes on.
* **note**: only the log has it (` + "`TF_LOG=INFO`" + `).

The provider judges while planning, and again at apply just before the change. Before it writes a card, it judges once more
on the host, while it holds the lock of the host.
`

func writeFindings(file string) error {
	var b strings.Builder
	b.WriteString(findingsHead)
	writeIndex(&b)
	for _, family := range finding.Families {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", family.Title, family.Text)
		for _, rule := range family.Rules {
			writeRule(&b, rule)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o600)
}

func writeRule(b *strings.Builder, r *finding.Rule) {
	fmt.Fprintf(b, "\n### %s\n\n%s", r.Heading(), escape(r.Section()))
	if more, ok := r.More(); ok {
		fmt.Fprintf(b, "\nMore: [%s](%s).\n", more.Title, strings.TrimSuffix(more.Page+".md#"+more.Anchor, "#"))
	}
}

// escape keeps <words in angle brackets> from being read as HTML. Code is shown as
// it is written.
func escape(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(parts[i])
	}
	return strings.Join(parts, "`")
}

// writeIndex leads to the findings from what people see, from the resource, and from the
// argument that consents.
func writeIndex(b *strings.Builder) {
	b.WriteString("\n## Index\n\nThe title of a message has its code. Search this page for it, or begin with what you see.\n")
	b.WriteString("\n### By what you see\n\n| What you see | Findings |\n|---|---|\n")
	for _, row := range symptom.Situations() {
		fmt.Fprintf(b, "| %s | %s |\n", row.Seen, links(row.Findings))
	}
	for _, part := range symptom.Parts() {
		for _, row := range part.Rows {
			if len(row.Findings) > 0 {
				fmt.Fprintf(b, "| %s | %s |\n", row.Seen, links(row.Findings))
			}
		}
	}
	b.WriteString("\n[Troubleshooting](troubleshooting.md) has the cause of each, and what to do.\n")
	b.WriteString("\n### By resource\n")
	for _, place := range symptom.Places() {
		writePlace(b, place)
	}
	b.WriteString("\n### By the consent\n\n| Consent | Findings |\n|---|---|\n")
	consents := map[string][]*finding.Rule{}
	var names []string
	for _, r := range finding.All() {
		if r.Consent == "" {
			continue
		}
		name := r.ConsentName()
		if consents[name] == nil {
			names = append(names, name)
		}
		consents[name] = append(consents[name], r)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(b, "| `%s` | %s |\n", name, links(consents[name]))
	}
}

// links lead to findings of this page.
func links(rules []*finding.Rule) string {
	all := make([]string, len(rules))
	for i, r := range rules {
		all[i] = fmt.Sprintf("[%s](#%s)", r, finding.Anchor(r.Heading()))
	}
	return strings.Join(all, ", ")
}

// writePlace lists what a resource may show: chapters that count as a whole, and the
// findings of the others with their titles.
func writePlace(b *strings.Builder, place symptom.Place) {
	var whole []string
	var single []*finding.Rule
	for _, f := range finding.Families {
		of, without := split(f.Rules, place.Rules)
		chapter := fmt.Sprintf("[%s](#%s)", f.Title, finding.Anchor(f.Title))
		switch {
		case len(without) == 0:
			whole = append(whole, chapter)
		case len(without) == 1 && len(of) > 1:
			whole = append(whole, chapter+" but "+links(without))
		default:
			single = append(single, of...)
		}
	}
	fmt.Fprintf(b, "\n#### %s\n", place.Resource)
	if len(whole) > 0 {
		fmt.Fprintf(b, "\nAll of %s.\n", strings.Join(whole, ", "))
	}
	if len(single) == 0 {
		return
	}
	b.WriteString("\n| Finding | Title | Kind |\n|---|---|---|\n")
	for _, r := range single {
		fmt.Fprintf(b, "| %s | %s | %s |\n", links([]*finding.Rule{r}), r.Title, r.Severity)
	}
}

// split parts rules into those that are among others and those that are not.
func split(rules, others []*finding.Rule) (among, without []*finding.Rule) {
	for _, r := range rules {
		if slices.Contains(others, r) {
			among = append(among, r)
		} else {
			without = append(without, r)
		}
	}
	return among, without
}
