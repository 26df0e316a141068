package safety

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// TestFlash_is_judged_for_every_write holds that each finding on the flash as it is stops
// each request that writes one: setting GUIDs burns the image in flash once more.
func TestFlash_is_judged_for_every_write(t *testing.T) {
	writes := map[string]func(change func(*CardFacts)) Verdict{
		"firmware": func(change func(*CardFacts)) Verdict {
			in := goodFirmware()
			change(&in.Card)
			return Firmware(in)
		},
		"restore": func(change func(*CardFacts)) Verdict {
			in := goodRestore()
			change(&in.Card)
			return Firmware(in)
		},
		"guids": func(change func(*CardFacts)) Verdict {
			in := goodGUIDs()
			change(&in.Card)
			return GUIDs(in)
		},
		"MACs alone": func(change func(*CardFacts)) Verdict {
			in := goodGUIDs()
			in.Request.HasGUIDs = false
			change(&in.Card)
			return GUIDs(in)
		},
		"guids of a card that has none": func(change func(*CardFacts)) Verdict {
			in := goodGUIDs()
			in.Card.Flash.BlankGUIDs, in.Card.Verified = true, VerifyBlank
			change(&in.Card)
			return GUIDs(in)
		},
	}
	states := []struct {
		rule   *finding.Rule
		change func(*CardFacts)
	}{
		{finding.CardInRecovery, func(c *CardFacts) { c.Livefish = true }},
		{finding.FlashUnreadable, func(c *CardFacts) { c.Flash = nil }},
		{finding.FlashDamaged, func(c *CardFacts) { c.Verified = VerifyBad }},
		{finding.FlashUnverified, func(c *CardFacts) { c.Verified = VerifyUnknown }},
		{finding.FlashNotFailsafe, func(c *CardFacts) { c.Failsafe = FailsafeNo }},
		{finding.FlashNotFailsafe, func(c *CardFacts) { c.Failsafe = FailsafeUnknown }},
		{finding.FirmwareSecure, func(c *CardFacts) { c.Flash.SecurityAttrs = "secure-fw" }},
	}
	for name, write := range writes {
		for _, s := range states {
			v := write(s.change)
			expectFinding(t, v.Findings, s.rule.Code, finding.Refuse)
			if v.Action != ActionRefuse {
				t.Errorf("%s with %s: action %s", name, s.rule.Code, v.Action)
			}
		}
	}
}
