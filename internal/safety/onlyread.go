package safety

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// OnlyRead refuses to change a host in observe mode. differs says what is not as asked.
func OnlyRead(host string, differs ...string) finding.Finding {
	if len(differs) == 0 {
		return finding.HostObserved.Find("Host %s", host)
	}
	return finding.HostObserved.Find("Host %s is not as asked: %s", host, strings.Join(differs, "; "))
}

// onlyRead is that finding where the verdict itself knows what is not as asked.
func (v Verdict) onlyRead(f finding.Finding, card CardFacts) finding.Finding {
	firmware, guids := fmt.Sprintf("%s %s", v.From.PSID, v.From.FW), card.InFlash().GUIDs.Text()
	if !card.FlashKnown() {
		firmware, guids = "unknown firmware", "unknown GUIDs"
	}
	switch {
	case v.Action == ActionBurn && v.To != (ib.Firmware{}) && v.To != v.From:
		f.Evidence = OnlyRead(card.Host, fmt.Sprintf("card %s has %s in flash, not %s %s", card.PCI, firmware, v.To.PSID,
			v.To.FW)).Evidence
	case v.Action == ActionBurn && v.To != (ib.Firmware{}):
		f.Evidence = OnlyRead(card.Host, fmt.Sprintf("card %s has another build of %s in flash", card.PCI, firmware)).Evidence
	case v.Action == ActionSetGUIDs:
		f.Evidence = OnlyRead(card.Host, fmt.Sprintf("card %s has %s in flash, not %s", card.PCI, guids,
			v.GUIDs.Text())).Evidence
	case v.Action == ActionBackup:
		f.Evidence = OnlyRead(card.Host, "a copy of the firmware is kept there").Evidence
	}
	return f
}

// linkDiffers says in which ports the types are not as asked.
func linkDiffers(in LinkTypeInput) []string {
	var all []string
	if in.Edited != "" {
		all = append(all, "the file of the link types was changed by hand")
	}
	for _, n := range slices.Sorted(maps.Keys(in.Request.Ports)) {
		want, now := in.Request.Ports[n], in.Current[n]
		boot, stored := in.Persisted[n]
		switch {
		case now != "" && !linkIs(now, want):
			all = append(all, fmt.Sprintf("port %d of card %s is %s, not %s", n, in.Card.PCI, now, want))
		case stored && boot != want:
			all = append(all, fmt.Sprintf("port %d of card %s is %s at boot, not %s", n, in.Card.PCI, boot, want))
		case !stored:
			all = append(all, fmt.Sprintf("nothing makes port %d of card %s %s at boot", n, in.Card.PCI, want))
		}
	}
	return all
}
