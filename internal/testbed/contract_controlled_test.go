//go:build testbed && linux

package testbed

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// controlledDeals are the cases of a chip whose firmware writes its own flash. What its image
// names begins with prefix.
func controlledDeals(chip card.Chip, prefix string) []deal {
	flags := func(flags uint16) func() card.Config {
		return func() card.Config {
			return tocCard(chip, func(s *card.TOCSpec) { s.Signed, s.Flags = true, flags })
		}
	}
	plain, signed := flags(card.FlagControlled), flags(card.FlagSigned|card.FlagControlled)
	file := func(name string) string { return "-i /img/" + prefix + "-" + name + ".bin" }
	looks := []string{"@ q", "@ q full", "--flashed_version @ q"}
	return append(secureDeals(chip, prefix), []deal{
		{name: "query", card: plain, args: "@ q"},
		{name: "query full", card: plain, args: "@ q full"},
		{name: "query the way of an update", card: plain, args: "--flashed_version @ q"},
		{name: "query signed", card: signed, args: "@ q full"},
		{name: "verify", card: plain, args: "@ v"},
		{name: "checksum", card: plain, args: "@ checksum"},
		{name: "hardware", card: plain, args: "@ hw query"},
		{name: "read image", card: plain, args: "@ ri /root/out.bin", then: []string{"-i /root/out.bin q", "-i /root/out.bin v"}},
		{name: "burn newer", card: plain, args: "@ " + file("ctrl") + " b", then: append(looks, "@ v", "@ checksum")},
		{name: "burn newer signed", card: signed, args: "-s @ " + file("ctrl") + " b", then: looks},
		{name: "burn older, EOF", card: plain, args: "@ " + file("ctrl-old") + " b"},
		{name: "burn older, answered y", card: plain, stdin: "y\n", args: "@ " + file("ctrl-old") + " b", then: looks},
		{name: "burn and burn the image back", card: plain, args: "@ ri /root/out.bin", then: []string{
			"-s @ " + file("ctrl") + " b", "-s -y @ -i /root/out.bin b", "@ q", "@ v"}},
		{name: "burn other PSID", card: plain, args: "-s @ " + file("ctrl-other") + " b"},
		{name: "burn other PSID, answered y", card: plain, stdin: "y\n",
			args: "-s -allow_psid_change @ " + file("ctrl-other") + " b", then: []string{"@ q"}},
		{name: "burn for another chip", card: plain, args: "-s @ " + file("ctrl-chip") + " b", then: []string{"@ q"}},
		{name: "burn an image without signature", card: plain, args: "-s @ " + file("new") + " b", then: []string{"@ q"}},
		{name: "set GUID and MAC", card: plain, args: "-guid 0xe41d2d0300e44ed0 -mac 0xe41d2de44ed8 @ sg",
			then: []string{"@ q", "@ v", "@ checksum"}},
		{name: "set GUID and MAC signed", card: signed, args: "-guid 0xe41d2d0300e44ed0 -mac 0xe41d2de44ed8 @ sg",
			then: []string{"@ q full"}},
		{name: "set GUID only", card: plain, args: "-guid 0xe41d2d0300e44ed0 @ sg", then: []string{"@ q"}},
		{name: "set UID", card: plain, args: "-uid 0xe41d2d0300e44ed0 @ sg", then: []string{"@ q"}},
		{name: "set GUID and MAC over a staged image", card: plain, args: "-s @ " + file("ctrl") + " b",
			then: []string{"-guid 0xe41d2d0300e44ed0 -mac 0xe41d2de44ed8 @ sg", "@ q", "@ v"}},
		{name: "set all GUIDs", card: plain, args: "-guids 1 2 3 4 @ sg"},
		{name: "set a multicast MAC", card: plain, args: "-mac 0x0102030405aa @ sg"},
		{name: "query while a BMC updates", card: plain, flash: heldByBMC, args: "@ q", then: []string{"@ q"}},
		{name: "state of an update on a card that has none", card: func() card.Config { return tocCard(chip, nil) },
			tool: "mstreg", args: "@ --reg_id 0x9062 --reg_len 0x20 --get"},
		{name: "state of an update on a card of an earlier generation", card: vpiCard, tool: "mstreg",
			args: "@ --reg_id 0x9062 --reg_len 0x20 --get"},
		{name: "state of an update", card: plain, tool: "mstreg", args: "@ --reg_id 0x9062 --reg_len 0x20 --get"},
		{name: "state of an update that a BMC makes", card: plain, tool: "mstreg", flash: heldByBMC,
			args: "@ --reg_id 0x9062 --reg_len 0x20 --get"},
	}...)
}

// secureDeals are those of a chip whose firmware is secure: nothing else reads or writes its flash.
func secureDeals(chip card.Chip, prefix string) []deal {
	secure := func() card.Config {
		return tocCard(chip, func(s *card.TOCSpec) { s.Signed, s.Flags = true, card.FlagSecure|card.FlagControlled })
	}
	file := func(name string) string { return "-i /img/" + prefix + "-" + name + ".bin" }
	looks := []string{"@ q", "@ q full", "--flashed_version @ q"}
	return []deal{
		{name: "query secure", card: secure, args: "@ q full"},
		{name: "verify secure", card: secure, args: "@ v"},
		{name: "checksum secure", card: secure, args: "@ checksum"},
		{name: "read image secure", card: secure, args: "@ ri /root/out.bin"},
		{name: "burn a secure card", card: secure, args: "-s @ " + file("secure") + " b", then: looks},
		{name: "hardware secure", card: secure, args: "@ hw query"},
		{name: "burn a secure card, and an older image after it", card: secure, args: "-s @ " + file("secure") + " b",
			then: []string{"-s -y @ " + file("ctrl-old") + " b", "@ q"}},
		{name: "burn other PSID on a secure card", card: secure, stdin: "y\n",
			args: "-s -allow_psid_change @ " + file("ctrl-other") + " b"},
		{name: "set GUID and MAC of a secure card", card: secure, args: "-guid 0xe41d2d0300e44ed0 -mac 0xe41d2de44ed8 @ sg",
			then: []string{"@ q"}},
	}
}

// heldByBMC has a BMC send an image to the card.
func heldByBMC(c *card.Card) {
	c.Boot()
	c.Update().Hold(card.OwnerBMC, card.UpdateDownload)
}

// TestContract_of_firmware_that_updates_itself is the contract for cards of which mstflint asks
// the firmware.
func TestContract_of_firmware_that_updates_itself(t *testing.T) {
	t.Parallel()
	for prefix, chip := range laterChips {
		t.Run(chip.Name, func(t *testing.T) {
			t.Parallel()
			deals := controlledDeals
			if chip == card.ConnectX7 {
				deals = secureDeals // the tool does not find its flash behind the emulated gateway
			}
			contract(t, "controlled-"+prefix, deals(chip, prefix))
		})
	}
}
