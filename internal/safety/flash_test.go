package safety

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
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

// A flash that may not start says so first, and forbids the restart that was to follow by
// name; one that could not be asked does not.
func TestFlash_that_may_not_start_forbids_the_restart(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*CardFacts)
		code   string
		lost   bool
	}{
		"no image": {func(c *CardFacts) { c.Flash, c.FlashError = nil, "No valid image found" }, "FW044", true},
		"damaged":  {func(c *CardFacts) { c.Verified = VerifyBad }, "FW043", true},
		"taken":    {func(c *CardFacts) { c.Flash, c.FlashTaken = nil, true }, "FW044", false},
		"no rights": {func(c *CardFacts) { c.Flash, c.FlashError = nil, "open: Permission denied" }, "FW044",
			false},
		"not asked": {func(c *CardFacts) { c.Flash, c.FlashFailure = nil, inventory.FlashUsersUnknown }, "FW044", false},
	} {
		for _, request := range []string{"firmware", "guids"} {
			f := goodFacts()
			x.change(&f.card)
			v := requests[request](f)
			said := expectFinding(t, v.Findings, x.code, finding.Refuse)
			if x.lost && !strings.HasPrefix(said.WayOut, "Do not restart the host, and do not switch it off.") {
				t.Errorf("%s, %s: the way out is %q", request, name, said.WayOut)
			}
			if v.Has(finding.RestartIntoDamagedFlash) != x.lost {
				t.Errorf("%s, %s: FW063 is said: %t", request, name, !x.lost)
			}
		}
	}
}

// A card whose firmware keeps mstflint from its flash does not keep the host from a restart
// for ever: nobody writes to it from outside. A flash that is damaged does, whoever owns it.
func TestLoads_of_a_card_that_nobody_can_verify(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*CardFacts)
		stops  bool
	}{
		"not verified":         {func(c *CardFacts) { c.Verified = VerifyUnknown }, true},
		"secure firmware":      {func(c *CardFacts) { c.Verified, c.Flash.SecurityAttrs = VerifyUnknown, "secure-fw" }, false},
		"ConnectX-6":           {func(c *CardFacts) { c.Verified, c.Chip.Name = VerifyUnknown, "ConnectX-6" }, false},
		"ConnectX-6, damaged":  {func(c *CardFacts) { c.Verified, c.Chip.Name = VerifyBad, "ConnectX-6" }, true},
		"ConnectX-6, not read": {func(c *CardFacts) { c.Flash, c.Chip.Name = nil, "ConnectX-6" }, true},
	} {
		card := goodCard()
		x.change(&card)
		if stops := len(Loads([]CardFacts{card})) > 0; stops != x.stops {
			t.Errorf("%s: stops the restart: %t", name, stops)
		}
	}
}

func TestSupport_mstflint(t *testing.T) {
	card, s := goodCard(), goodHost().Support
	if got := s.mstflint(card); got != "For ConnectX-3 and ConnectX-3 Pro mstflint 4.25 or older is best. "+s.Mstflint {
		t.Errorf("ConnectX-3: %q", got)
	}
	card.Chip.Format = "FS4"
	if got := s.mstflint(card); got != s.Mstflint {
		t.Errorf("a later card: %q", got)
	}
}

// The texts of findings that were misread.
func TestTexts_saidOnce(t *testing.T) {
	t.Parallel()
	in := goodFirmware()
	in.Host.Observe, in.Image.HWIDs = true, []ib.HWID{{ID: 1}}
	if v := Firmware(in); len(v.Findings) != 1 || v.Findings[0].Rule != finding.HostObserved || v.Action != ActionRefuse {
		t.Errorf("of a host that is only read: %+v", v.Findings)
	}
	in = goodFirmware()
	laterCard(&in, 0x1013)
	in.Request.Activation = ActivationNone
	for _, f := range Firmware(in).Findings {
		if f.Rule == finding.RestartNeeded &&
			(strings.Contains(f.Detail(), "ConnectX-3") || !strings.Contains(f.Detail(), "ConnectX-4")) {
			t.Errorf("of a ConnectX-4: %s", f.Detail())
		}
	}
	card := goodFirmware().Card
	card.Flash, card.FlashError = nil, "-E- Cannot open /dev/mem: Permission denied"
	if f := cardState(card); len(f) != 1 || !strings.Contains(f[0].Detail(), "Reading the flash needs root") ||
		!strings.Contains(f[0].Detail(), `become = "none"`) {
		t.Errorf("without root: %+v", f)
	}
}
