package hostcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Jobs gives the findings on jobs that are not over.
func Jobs(s *inventory.Snapshot, pci ib.PCIAddress) []finding.Finding {
	var found []finding.Finding
	for i := range s.Jobs {
		j := &s.Jobs[i]
		what := j.What()
		// A job that does not say whose it is may be this card's.
		// By slot: the functions of a card share its flash.
		switch ours := j.PCI.Slot() == pci.Slot() || !j.PCI.IsValid(); {
		// A job of another card blocks only while it runs: the lock is one for the host.
		case ours && (j.MayRun() || !j.Settled):
			found = append(found, ownJob(j, what))
		case j.MayRun():
			found = append(found, finding.FlashJobRunning.Find("%s", what))
		}
	}
	return found
}

// ownJob gives the finding on a job of this very card that is not over.
func ownJob(j *inventory.Job, what string) finding.Finding {
	switch {
	case j.Unreadable() != "" && !j.Settled:
		return finding.FlashJobUnreadable.Find("%s: %s", what, j.Unreadable()).WithWayOut(wayOutOfUnreadable(j))
	case j.Lost:
		return finding.FlashJobUnsettled.Find("%s is running, and somebody has removed its directory. The next apply waits "+
			"for its end and then reads the card.", what)
	case !j.Running.Known():
		return finding.FlashJobUnsettled.Find("%s may be running: %s. The next apply waits until that is known, and reads "+
			"the card afterwards.", what, j.Running.Why())
	case fact.Yes(j.Running):
		return finding.FlashJobUnsettled.Find("%s is running; the next apply waits for it and reads the card afterwards.",
			what)
	case j.Exit != "":
		return finding.FlashJobUnsettled.Find("%s has ended.", what)
	}
	return finding.FlashJobUnsettled.Find("%s was interrupted before it ended, by a power cut, a reset of the host, a "+
		"full disk, or a kill.", what)
}

// wayOutOfUnreadable says how a job is brought to an end of which this version cannot read
// what it was.
func wayOutOfUnreadable(j *inventory.Job) string {
	text, pci := "Wait", "ADDRESS"
	if j.PCI.IsValid() {
		pci = j.PCI.String()
	}
	if j.Request["version"] != "" {
		text = "Apply once with the version of the provider that wrote it. It records the result of the job.\n" +
			"If there is none any more: wait"
	}
	return fmt.Sprintf(text+" until systemctl is-active infiniband-flash-%[2]s.service says inactive, look at "+
		"the card with mstflint -d %[1]s q and mstflint -d %[1]s v, "+
		"and if the image is bootable, write on the host: echo by hand "+
		">/var/lib/terraform-provider-infiniband/jobs/%[2]s/settled", pci, j.ID)
}

// Stopped gives the finding on burns of other cards that failed; consent names jobs whose failure does not matter.
func Stopped(stops []inventory.Stop, consent []string) []finding.Finding {
	var ids, evidence []string
	open := false
	for _, s := range stops {
		ids, evidence = append(ids, s.ID), append(evidence, s.String())
		open = open || !slices.Contains(consent, s.ID)
	}
	if len(stops) == 0 {
		return nil
	}
	rule := finding.BurnFailedElsewhere
	f := rule.Find("%s", strings.Join(evidence, "\n")).WithConsent(rule.ConsentLine(finding.Names(ids...)))
	if !open {
		f = f.AsGranted(rule.Title + ", as allowed")
	}
	return []finding.Finding{f}
}
