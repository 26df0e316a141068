package safety

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// A host that is only read is refused with what is not as asked: the reader wants to know.
func TestOnlyRead_says_what_is_not_as_asked(t *testing.T) {
	t.Parallel()
	burn, guids, links := goodFirmware(), goodGUIDs(), goodLink()
	burn.Host.Observe, guids.Host.Observe, links.Host.Observe = true, true, true
	unread, rebuilt := burn, burn
	unread.Card.Flash = nil
	rebuilt.Image.Firmware = rebuilt.Card.Flash.Firmware
	rebuilt.Card.Checksum, rebuilt.Image.Checksum = "a", "b"
	later := goodLink()
	mlx5(&later, map[int]ib.LinkType{1: ib.LinkTypeETH})
	later.Host.Observe = true
	backup := BackupInput{Card: burn.Card, Host: burn.Host}
	flash := burn.Card.Flash
	has := string(flash.PSID) + " " + flash.FW.String()
	for name, c := range map[string]struct {
		verdict Verdict
		want    string
	}{
		"burn":           {Firmware(burn), "card 0000:01:00.0 has " + has + " in flash, not " + string(burn.Image.PSID)},
		"flash unread":   {Firmware(unread), "card 0000:01:00.0 has unknown firmware in flash, not "},
		"another build":  {Firmware(rebuilt), "card 0000:01:00.0 has another build of " + has + " in flash"},
		"GUIDs":          {GUIDs(guids), "has " + guids.Card.InFlash().GUIDs.Text() + " in flash, not GUIDs "},
		"link types":     {LinkTypes(links), "port 1 of card 0000:01:00.0 is eth, not ib; port 2 of card 0000:01:00.0 is eth"},
		"link types (5)": {LinkTypes(later), "port 1 of card 0000:01:00.0 is eth"},
		"backup":         {Backup(backup), "a copy of the firmware is kept there"},
	} {
		var got string
		for _, f := range c.verdict.Findings {
			if f.Rule == finding.HostObserved {
				got = f.Evidence
			}
		}
		if !strings.HasPrefix(got, "Host intel9 is not as asked: ") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q lacks %q", name, got, c.want)
		}
	}
}
