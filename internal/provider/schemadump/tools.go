package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/release"
)

// toolsSection is the table of what is known of the releases of mstflint and mstconfig.
func toolsSection() string {
	does := map[release.Grade]string{
		release.Works: "used", release.Unproven: "used, with a warning (FW057)", release.Crashes: "refused (FW052)",
		release.Removed: "not used", release.TooOld: "refused (FW052)",
	}
	var b strings.Builder
	b.WriteString("\n| Program | Cards | From version | Provider | Reason |\n|---|---|---|---|---|\n")
	rules := slices.Clone(release.Table)
	slices.SortStableFunc(rules, func(a, b release.Rule) int { return strings.Compare(b.Tool+a.Format, a.Tool+b.Format) })
	for _, r := range rules {
		cards := namesOf(func(c ib.Chip) bool { return c.Format == r.Format && burns(c) != notBurned })
		from := r.From
		if from == "0" {
			from = "–"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Tool, cards, from, does[r.Grade], r.Why)
	}
	b.WriteString("\nA line holds until the next one of the same program and cards.\n")
	fmt.Fprintf(&b, "\nThe packages of the distributions, for %s. FW052 names them, too. "+
		"Packages of Debian 12 are at [packages.debian.org](https://packages.debian.org/bookworm/mstflint).\n\n"+
		"| Distribution | `mstflint` |\n|---|---|\n", namesOf(ib.Chip.IsFS2))
	for _, d := range platform.All {
		for _, a := range d.Tools {
			if a.Format == string(fwimage.FS2) {
				fmt.Fprintf(&b, "| %s | %s |\n", strings.TrimSpace(d.Short+" "+a.Release), a.Advice)
			}
		}
	}
	return b.String() + "\n"
}
