package safety

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// goodRestore is a card that was cross-flashed, and its backup.
func goodRestore() FirmwareInput {
	in := goodFirmware()
	in.Card.Flash.PSID, in.Card.Flash.FW = psidVPI, fw242
	runsPSID(&in.Card, psidVPI)
	runsVersion(&in.Card, fw242)
	in.Image.PSID, in.Image.FW = psidEN, fw236
	in.Restore = &RestoreFacts{Path: "/backups/x", Left: ib.Firmware{PSID: psidVPI, FW: fw242}}
	return in
}

func TestRestore_consents_are_the_recorded_pair(t *testing.T) {
	in := goodRestore()
	v := Firmware(in)
	if v.Blocked() || v.Action != ActionBurn || v.To != (ib.Firmware{PSID: psidEN, FW: fw236}) || len(v.Answers) != 2 {
		t.Fatalf("verdict %+v", v)
	}
	if v.Permits(ActionBurn, "intel9/0000:01:00.0") {
		t.Error("a verdict without a backup of the present firmware permits the restore")
	}
	in.Backup = goodBackup()
	in.Backup.PSID, in.Backup.FW = psidVPI, fw242
	if final := Firmware(in); !final.Permits(ActionBurn, "intel9/0000:01:00.0") || !final.Equal(v) {
		t.Errorf("the final verdict does not permit it: %+v", final)
	}
	// Consents from elsewhere count for nothing.
	in = goodRestore()
	in.Restore.Left.PSID = "MT_9999999999"
	in.Request.PSIDChange = &Change[ib.PSID]{From: psidVPI, To: psidEN}
	expectFinding(t, Firmware(in).Findings, "BK006", finding.Refuse)
}

func TestRestore_same_version_other_content(t *testing.T) {
	in := goodRestore()
	in.Image.PSID, in.Image.FW = psidVPI, fw242
	if v := Firmware(in); v.Blocked() || v.Action != ActionBurn {
		t.Errorf("verdict %+v", v)
	}
	in.Image.Checksum = in.Card.Checksum
	if v := Firmware(in); v.Blocked() || v.Action != ActionNone {
		t.Errorf("the same content: %+v", v)
	}
}

// restoreCases makes each finding on a restore appear.
var restoreCases = []struct {
	code   string
	name   string
	change func(*FirmwareInput)
}{
	{"BK003", "missing", func(in *FirmwareInput) { in.Restore.Missing = "no such file" }},
	{"BK004", "damaged", func(in *FirmwareInput) { in.Restore.Damaged = "another SHA-256" }},
	{"BK004", "not known to be it", func(in *FirmwareInput) { in.Restore.Unproven = "no SHA-256 of it is known" }},
	{"BK005", "of another card", func(in *FirmwareInput) { in.Restore.Other = "serial number 1" }},
	{"BK006", "other version in flash", func(in *FirmwareInput) { in.Card.Flash.FW = ib.MustParseFWVersion("2.42.5700") }},
	{"BK006", "other PSID in flash", func(in *FirmwareInput) { in.Card.Flash.PSID = "MT_9100111019" }},
	{"FW020", "backup for another chip", func(in *FirmwareInput) { in.Image.HWIDs = []ib.HWID{{ID: 0x1f5}} }},
	{"FW041", "recovery mode", func(in *FirmwareInput) { in.Card.Livefish = true }},
	{"FW043", "flash damaged", func(in *FirmwareInput) { in.Card.Verified = VerifyBad }},
	{"FW044", "flash unreadable", func(in *FirmwareInput) { in.Card.Flash = nil }},
	{"FW045", "staged image", func(in *FirmwareInput) { runsVersion(&in.Card, fw236) }},
	{"HO007", "reboot not allowed", func(in *FirmwareInput) { in.Host.RebootAllowed = false }},
	{"HO008", "observe", func(in *FirmwareInput) { in.Host.Observe = true }},
	{"BK010", "backup_dir is a file", func(in *FirmwareInput) { in.Host.BackupProblem = "it is a file" }},
	{"BK002", "no backup_dir", func(in *FirmwareInput) { in.Host.BackupDir = "" }},
}

func TestRestore_findings(t *testing.T) {
	for _, c := range restoreCases {
		t.Run(c.code+" "+c.name, func(t *testing.T) {
			in := goodRestore()
			c.change(&in)
			v := Firmware(in)
			f := expectFinding(t, v.Findings, c.code, finding.Refuse)
			if !v.Blocked() || v.Action != ActionRefuse || f.Attribute != "" {
				t.Errorf("action %s, attribute %q", v.Action, f.Attribute)
			}
		})
	}
}

// Nothing shows what runs: the way back to what was there before is taken all the same.
func TestRestore_without_a_driver(t *testing.T) {
	in := goodRestore()
	driverless(&in.Card)
	v := Firmware(in)
	if f := expectFinding(t, v.Findings, "FW055", finding.Note); v.Blocked() || f.Consent != "" {
		t.Errorf("%+v", v)
	}
}

func TestRestore_waits_for_a_running_job(t *testing.T) {
	in := goodRestore()
	in.Card.Flash = nil
	in.Host.Jobs = []inventory.Job{journal("j", here, true)}
	if v := Firmware(in); v.Blocked() || v.Action != ActionWait {
		t.Errorf("verdict %+v", v)
	}
}

func TestRestore_consent_that_needs_an_apply_says_so(t *testing.T) {
	f := finding.AtDestroy(finding.Finding{Rule: finding.SessionOverCard, Severity: finding.NeedsConsent,
		Attribute: finding.Allow, Consent: `management_path = ["enp1s0"]`})
	if f.Attribute != "" || !strings.Contains(f.WayOut, "apply, so that the state holds it") || f.Consent == "" {
		t.Errorf("%+v", f)
	}
}

func TestBackup_findings(t *testing.T) {
	for _, c := range []struct {
		code   string
		name   string
		change func(*BackupInput)
	}{
		{"FW040", "other vendor", func(in *BackupInput) { in.Card.VendorID = 0x8086 }},
		{"FW043", "flash damaged", func(in *BackupInput) { in.Card.Verified, in.Card.VerifyError = VerifyBad, "DDR: wrong CRC" }},
		{"FW044", "flash unreadable", func(in *BackupInput) { in.Card.Flash, in.Card.FlashError = nil, "semaphore" }},
		{"FW051", "no tool", func(in *BackupInput) { in.Host.MSTFlint.Present = false }},
		{"HO003", "lockdown", func(in *BackupInput) { in.Host.Lockdown = fact.Known("integrity") }},
		{"HO004", "this card is being burned",
			func(in *BackupInput) { in.Host.Jobs = []inventory.Job{journal("j", here, true)} }},
		{"HO004", "another card is being burned",
			func(in *BackupInput) { in.Host.Jobs = []inventory.Job{journal("j", there, true)} }},
		{"HO045", "burn by hand", func(in *BackupInput) { in.Card.InUse = []string{"mstflint"} }},
		{"HO006", "no space", func(in *BackupInput) { in.Host.StateFree = fact.Known[int64](1 << 20) }},
		{"HO008", "observe", func(in *BackupInput) { in.Host.Observe = true }},
		{"BK001", "reads differ", func(in *BackupInput) { in.Backup = goodBackup(); in.Backup.TwoReadsEqual = false }},
		{"BK010", "backup_dir is a file", func(in *BackupInput) { in.Host.BackupProblem = "it is a file" }},
		{"BK002", "no backup_dir", func(in *BackupInput) { in.Host.BackupDir = "" }},
	} {
		t.Run(c.code+" "+c.name, func(t *testing.T) {
			in := BackupInput{Card: goodCard(), Host: goodHost()}
			c.change(&in)
			v := Backup(in)
			expectFinding(t, v.Findings, c.code, finding.Refuse)
			if v.Action != ActionRefuse {
				t.Errorf("action %s", v.Action)
			}
		})
	}
}

func TestBackup_permits_no_write(t *testing.T) {
	in := BackupInput{Card: goodCard(), Host: goodHost(), Backup: goodBackup()}
	// neither keeps a card from being read
	in.Card.Flash.SecurityAttrs, in.Host.Commands["systemd-run"] = "secure-fw", false
	v := Backup(in)
	if v.Blocked() || v.Action != ActionBackup {
		t.Fatalf("verdict %+v", v)
	}
	for _, a := range []Action{ActionBurn, ActionSetGUIDs, ActionBackup} {
		if v.Permits(a, "intel9/0000:01:00.0") {
			t.Errorf("it permits %s", a)
		}
	}
}
