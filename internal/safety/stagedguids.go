package safety

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// stagedGUIDs finds GUIDs in flash that the card does not run with and that no job has
// written since the host started: somebody has burned the same firmware with other GUIDs.
// Ethernet-only firmware has no GUIDs in flash, and a card without a driver shows none. Of
// firmware that does not run, or may not, stagedFindings speaks.
func stagedGUIDs(card CardFacts) []finding.Finding {
	running, known := card.Running.Get()
	if !card.FlashKnown() || card.GUIDsBy != "" || !known || running != card.InFlash().Firmware {
		return nil
	}
	for _, g := range []struct {
		name       string
		flash, now ib.GUID
	}{
		{"node GUID", card.InFlash().GUIDs.Node, card.NodeGUID},
		{"system image GUID", card.InFlash().GUIDs.SystemImage, card.SystemGUID},
	} {
		if !usableGUID(g.flash) || !usableGUID(g.now) || g.flash == g.now {
			continue
		}
		found := finding.GUIDsWouldChange.Find("In flash: %s %s, which no job has written since the "+
			"host started. The card runs with %s. The apply writes over what is in flash.", g.name, g.flash, g.now)
		found.Severity, found.Summary = finding.Warn, "GUIDs that somebody has written are replaced before they ran"
		return []finding.Finding{found.WithWayOut("")}
	}
	return nil
}
