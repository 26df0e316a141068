package rollback

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

func good() Input {
	now := ib.Firmware{PSID: "MT_9000000012", FW: ib.MustParseFWVersion("16.35.4030")}
	next := ib.Firmware{PSID: now.PSID, FW: ib.MustParseFWVersion("16.35.8008")}
	chip := ib.HWID{ID: 0x20d}
	return Input{
		Card: "MT1712X00002", HWID: fact.Known(chip),
		Flash: inventory.Flash{Firmware: now, ReleaseDate: "2024-06-27", ProductVersion: "rel-16_35_4030",
			ROM: []string{"type=UEFI version=14.29.15 cpu=AMD64,AARCH64", "type=PXE version=3.6.902 cpu=AMD64"}},
		Now: Image{Name: "old.bin", SHA256: "aa", Firmware: now, HWIDs: []ib.HWID{chip}, Product: "rel-16_35_4030",
			Release: "2024-06-27", Security: 1, Controlled: true,
			ROM: []string{"type=PXE version=3.6.902 cpu=AMD64", "type=UEFI version=14.29.15 cpu=AMD64,AARCH64"}},
		New:     Image{Name: "new.bin", SHA256: "bb", Firmware: next, HWIDs: []ib.HWID{chip}, Security: 1, Controlled: true},
		Consent: Consent{Card: "MT1712X00002", Rollback: "aa", Image: "bb"},
	}
}

// Each thing that the card says of itself counts, and each part of the consent.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(in *Input)
		rule     *finding.Rule
		severity finding.Severity
		says     string
	}{
		"as allowed":        {func(*Input) {}, finding.FlashWithoutCopy, finding.Note, "a fingerprint, and no copy"},
		"no consent":        {func(in *Input) { in.Consent = Consent{} }, finding.FlashWithoutCopy, finding.NeedsConsent, "MT1712X00002"},
		"another card":      {func(in *Input) { in.Card = "MT2" }, finding.FlashWithoutCopy, finding.NeedsConsent, "MT2"},
		"another way back":  {func(in *Input) { in.Now.SHA256 = "cc" }, finding.FlashWithoutCopy, finding.NeedsConsent, "old.bin"},
		"another image":     {func(in *Input) { in.New.SHA256 = "cc" }, finding.FlashWithoutCopy, finding.NeedsConsent, "old.bin"},
		"not signed":        {func(in *Input) { in.New.Controlled = false }, finding.FirmwareSecure, finding.Refuse, "new.bin has no signature"},
		"no signed way":     {func(in *Input) { in.Now.Controlled = false }, finding.FirmwareSecure, finding.Refuse, "old.bin has no signature"},
		"another board":     {func(in *Input) { in.New.PSID = "MT_9" }, finding.FirmwareSecure, finding.Refuse, "In the image: MT_9"},
		"version":           {func(in *Input) { in.Now.FW.Sub++ }, finding.RollbackDiffers, finding.Refuse, "version of the card 16.35.4030"},
		"PSID":              {func(in *Input) { in.Now.PSID = "MT_9" }, finding.RollbackDiffers, finding.Refuse, "PSID of the card"},
		"release date":      {func(in *Input) { in.Now.Release = "" }, finding.RollbackDiffers, finding.Refuse, "of the image none"},
		"product version":   {func(in *Input) { in.Flash.ProductVersion = "" }, finding.RollbackDiffers, finding.Refuse, "of the card none"},
		"boot ROM":          {func(in *Input) { in.Now.ROM = in.Now.ROM[:1] }, finding.RollbackDiffers, finding.Refuse, "boot ROM of the card"},
		"hardware id":       {func(in *Input) { in.Now.HWIDs[0].Rev++ }, finding.RollbackDiffers, finding.Refuse, "hardware id"},
		"silicon not known": {func(in *Input) { in.HWID = fact.Unknown[ib.HWID]("locked") }, finding.RollbackDiffers, finding.Refuse, "hardware id"},
		"staged": {func(in *Input) { in.Flash.RunningFW = ib.MustParseFWVersion("16.35.4000") }, finding.RollbackDiffers, finding.Refuse,
			"the card still runs 16.35.4000"},
		"security version": {func(in *Input) { in.New.Security = 2 }, finding.RollbackClosed, finding.Refuse, "new.bin: 2"},
	} {
		in := good()
		c.change(&in)
		found := Check(in)
		if len(found) != 1 || found[0].Rule != c.rule || found[0].Severity != c.severity || !strings.Contains(found[0].Evidence, c.says) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
