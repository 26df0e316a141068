package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/schemadump/symptom"
)

const symptomsHead = `---
page_title: "Troubleshooting"
subcategory: ""
description: |-
  From what ibstat, opensm, ip and ping show to the cause, to the message of the provider, and to what to do.
---

<!-- Written by internal/provider/schemadump from the table in internal/provider/schemadump/symptom. -->

# Troubleshooting

Find the heading that describes what you see. Texts that programs print are in ` + "`this type`" +
	`. If no heading fits:

1. Run ` + "`terraform plan`" + `. Each message has a code; [Findings](findings.md) explains it.
2. Read ` + "`problems`" + ` of ` + "`infiniband_connectivity`" + ` between two hosts. Read ` + "`differences`" +
	` of ` + "`infiniband_fabric`" + ` on a host that has infiniband-diags.
   The cause comes first. Write both as outputs. A plan shows them as ` + "`(known after apply)`" + ` while a change is open:
   ` + "`terraform plan -refresh-only`" + ` reads them then.
3. If a subnet manager of the configuration does not do its work, restart it: the apply then names the cause. Do this only if
   ` + "`ibstat` shows `Physical state: LinkUp`" + ` for its port. The apply stops opensm first. Traffic goes on, but a port
   that comes up waits until opensm runs again. If the port has no link, the apply fails after more than a minute. Then
   opensm stays on the host and starts at boot, and no state has it (%s): keep the block, and apply again when the port
   has a link. If all this is acceptable: ` + "`terraform apply -replace=infiniband_opensm.NAME`" + `.
`

func writeSymptoms(file string) error {
	var b strings.Builder
	fmt.Fprintf(&b, symptomsHead, findingLink(finding.OpensmPortWithoutLink))
	for _, part := range symptom.Parts() {
		fmt.Fprintf(&b, "\n## %s\n", part.Title)
		for _, r := range part.Rows {
			if err := writeSymptom(&b, r); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o600)
}

func writeSymptom(b *strings.Builder, r symptom.Row) error {
	fmt.Fprintf(b, "\n### %d. %s\n\n%s\n\n", r.Number, r.Seen, r.Cause)
	var says []string
	for _, rule := range r.Findings {
		says = append(says, findingLink(rule))
	}
	says = append(says, kinds("`infiniband_opensm`, cause", r.Causes)...)
	says = append(says, kinds("`infiniband_connectivity`", r.Connectivity)...)
	says = append(says, kinds("`infiniband_fabric`", r.Fabric)...)
	if r.Quiet != "" {
		says = append(says, r.Quiet)
	}
	fmt.Fprintf(b, "- **The provider says:** %s\n- **Do:** %s\n", strings.Join(says, "; "), r.Do)
	return nil
}

func kinds[K ~string](of string, all []K) []string {
	if len(all) == 0 {
		return nil
	}
	words := make([]string, len(all))
	for i, k := range all {
		words[i] = "`" + string(k) + "`"
	}
	return []string{of + " " + strings.Join(words, ", ")}
}

func findingLink(r *finding.Rule) string {
	return fmt.Sprintf("[%s](findings.md#%s)", r, finding.Anchor(r.Heading()))
}
