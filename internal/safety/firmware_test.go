package safety

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/bootrom"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
)

// firmwareCases makes each finding on a burn appear.
var firmwareCases = []struct {
	code     string
	severity finding.Severity
	name     string
	change   func(*FirmwareInput)
}{
	{"FW080", finding.Refuse, "another card", func(in *FirmwareInput) { in.Card.Identity.Now.Serial = "MT1234X00002" }},
	{"FW080", finding.Refuse, "another card that has the image", func(in *FirmwareInput) {
		in.Card.Flash.PSID, in.Card.Flash.FW, in.Card.Checksum = in.Image.PSID, in.Image.FW, in.Image.Checksum
		in.Card.Identity.Now.Serial = "MT1234X00002"
	}},
	{"FW081", finding.Refuse, "nothing recorded", func(in *FirmwareInput) { in.Card.Identity.Recorded = ib.Identity{} }},
	{"FW081", finding.Refuse, "serial number not readable", func(in *FirmwareInput) {
		in.Card.Identity.Now.Serial, in.Card.Identity.Unread = "", "lspci is not installed"
	}},
	{"FW082", finding.Refuse, "moved", func(in *FirmwareInput) {
		in.Card.Identity.Now.Serial, in.Card.Identity.Elsewhere = "MT1234X00002", "0000:02:00.0"
	}},
	{"FW001", finding.Refuse, "unreadable",
		func(in *FirmwareInput) { in.Image.Problem, in.Image.Detail = ImageUnreadable, "permission denied" }},
	{"FW003", finding.Refuse, "truncated",
		func(in *FirmwareInput) { in.Image.Problem, in.Image.Detail = ImageTruncated, "ends at 0x100" }},
	{"FW003", finding.Refuse, "wrong CRC",
		func(in *FirmwareInput) { in.Image.Problem, in.Image.Detail = ImageCRC, "DDR at 0x88" }},
	{"FW004", finding.Refuse, "zip",
		func(in *FirmwareInput) { in.Image.Problem, in.Image.Kind = ImageContainer, "a zip archive" }},
	{"FW005", finding.Refuse, "other hash", func(in *FirmwareInput) { in.Image.Declared = "ffff" }},
	{"FW006", finding.Refuse, "raw dump",
		func(in *FirmwareInput) { in.Image.Problem, in.Image.Detail = ImageRawDump, "two slots" }},
	{"FW007", finding.Refuse, "not failsafe", func(in *FirmwareInput) { in.Image.Failsafe = false }},
	{"FW070", finding.Refuse, "a boot ROM that cannot be kept", func(in *FirmwareInput) {
		in.Image.ROM, in.Request.BootROM = []string{"type=PXE version=3.4.900"}, bootrom.Keep
	}},
	{"FW071", finding.Warn, "a boot ROM that goes", func(in *FirmwareInput) {
		laterCard(in, 0x1013).Flash.ROM = []string{"type=PXE version=3.4.752"}
	}},
	{"FW008", finding.Refuse, "flash not failsafe", func(in *FirmwareInput) { in.Card.Failsafe = FailsafeNo }},
	{"FW009", finding.Refuse, "no PSID in the image", func(in *FirmwareInput) { in.Image.PSID = "" }},
	{"FW010", finding.Refuse, "FS5", func(in *FirmwareInput) { in.Image.Format = "FS5" }},
	{"FW059", finding.Refuse, "security attributes not known", func(in *FirmwareInput) {
		c := laterCard(in, 0x1013)
		c.UpdateMethod, c.Flash.SecurityAttrs = "fw_ctrl", ""
	}},
	{"FW084", finding.Warn, "image without a signature", func(in *FirmwareInput) {
		laterCard(in, 0x1013).UpdateMethod = "fw_ctrl"
	}},
	{"FW084", finding.Warn, "another PSID on a card that writes its own flash", func(in *FirmwareInput) {
		laterCard(in, 0x1017).UpdateMethod = "fw_ctrl"
		in.Image.Controlled, in.Card.Flash.PSID = true, psidEN
		runsPSID(&in.Card, psidEN)
		in.Request.PSIDChange = &Change[ib.PSID]{From: psidEN, To: psidVPI}
	}},
	{"FW085", finding.Refuse, "image of another board by the driver", func(in *FirmwareInput) {
		laterCard(in, 0x1013)
		in.Image.Controlled, in.Card.Flash.ByDriver, in.Card.Flash.PSID = true, true, psidEN
		back := in.Image
		in.Card.Rollback = &back
		runsPSID(&in.Card, psidEN)
		in.Request.PSIDChange = &Change[ib.PSID]{From: psidEN, To: psidVPI}
	}},
	{"FW059", finding.Refuse, "update method not known",
		func(in *FirmwareInput) { laterCard(in, 0x1017).UpdateMethod = "" }},
	{"FW060", finding.Refuse, "other slots", func(in *FirmwareInput) {
		laterCard(in, 0x1013)
		in.Backup, in.Image.Slot = goodBackup(), 1<<22
		in.Backup.Layout.Slot = 1 << 23
	}},
	{"FW060", finding.Refuse, "newer layout", func(in *FirmwareInput) {
		laterCard(in, 0x1017)
		in.Backup, in.Image.FlashLayout = goodBackup(), FlashLayout{Slot: 1 << 23, Version: 1}
		in.Backup.Layout.Slot = 1 << 23
	}},
	{"FW059", finding.Refuse, "firmware that is not reached", func(in *FirmwareInput) {
		laterCard(in, 0x1017).UpdateMethod = "fw_ctrl, but mstflint does not reach the running firmware"
	}},
	{"FW061", finding.Refuse, "ConnectX-6 that mstflint writes", func(in *FirmwareInput) { laterCard(in, 0x101b) }},
	{"FW061", finding.Refuse, "image for ConnectX-6 without a signature", func(in *FirmwareInput) {
		laterCard(in, 0x101b).UpdateMethod = "fw_ctrl"
	}},
	{"FW061", finding.Refuse, "another PSID on ConnectX-6 Dx", func(in *FirmwareInput) {
		laterCard(in, 0x101d).UpdateMethod = "fw_ctrl"
		in.Image.Controlled, in.Image.PSID = true, psidEN
	}},
	{"FW061", finding.Refuse, "chip that was not tried", func(in *FirmwareInput) { laterCard(in, 0x1021) }},
	{"FW037", finding.Refuse, "rollback image of another version", func(in *FirmwareInput) {
		secured(in).Rollback.FW = fw242
	}},
	{"FW038", finding.Refuse, "higher security version", func(in *FirmwareInput) {
		secured(in)
		in.Image.Security = 2
	}},
	{"FW039", finding.NeedsConsent, "secure firmware, with a way back", func(in *FirmwareInput) { secured(in) }},
	{"FW042", finding.Refuse, "secure ConnectX-5", func(in *FirmwareInput) {
		c := laterCard(in, 0x1017)
		c.Flash.SecurityAttrs, c.UpdateMethod = "secure-fw", "fw_ctrl"
	}},
	{"FW010", finding.Refuse, "FS3 not parsed",
		func(in *FirmwareInput) { in.Image.Problem, in.Image.Detail = ImageUnsupported, "FS3" }},
	{"FW011", finding.Refuse, "no hardware ids", func(in *FirmwareInput) { in.Image.HWIDs = nil }},
	{"FW012", finding.Refuse, "malformed",
		func(in *FirmwareInput) { in.Image.Problem, in.Image.Detail = ImageMalformed, "loop at 0x20" }},
	{"FW014", finding.Refuse, "encrypted",
		func(in *FirmwareInput) { in.Image.Problem, in.Image.Detail = ImageEncrypted, "the section table" }},
	{"FW020", finding.Refuse, "other chip",
		func(in *FirmwareInput) { in.Image.HWIDs = []ib.HWID{{ID: 0x1f5}, {ID: 0x1f5, Rev: 1}} }},
	{"FW021", finding.Refuse, "other revision",
		func(in *FirmwareInput) { in.Image.HWIDs = []ib.HWID{{ID: 0x1f7, Rev: 1}} }},
	{"FW022", finding.Refuse, "silicon unknown",
		func(in *FirmwareInput) { in.Card.HWID = fact.Unknown[ib.HWID]("not permitted") }},
	{"FW023", finding.NeedsConsent, "cross-flash",
		func(in *FirmwareInput) { in.Card.Flash.PSID = psidEN; runsPSID(&in.Card, psidEN) }},
	{"FW023", finding.Note, "cross-flash allowed", func(in *FirmwareInput) {
		in.Card.Flash.PSID = psidEN
		runsPSID(&in.Card, psidEN)
		in.Request.PSIDChange = &Change[ib.PSID]{From: psidEN, To: psidVPI}
	}},
	{"FW023", finding.NeedsConsent, "consent to another pair", func(in *FirmwareInput) {
		in.Card.Flash.PSID = psidEN
		runsPSID(&in.Card, psidEN)
		in.Request.PSIDChange = &Change[ib.PSID]{From: "MT_9999999999", To: psidVPI}
	}},
	{"FW025", finding.Refuse, "no PSID in flash",
		func(in *FirmwareInput) { in.Card.Flash.PSID = ""; runsPSID(&in.Card, "") }},
	{"FW025", finding.Refuse, "PSID only in the running firmware",
		func(in *FirmwareInput) { in.Card.Flash.PSID, in.Image.PSID = "", ""; in.Image.PSID = psidVPI }},
	{"FW026", finding.NeedsConsent, "older", func(in *FirmwareInput) {
		in.Card.Flash.FW = ib.MustParseFWVersion("2.42.5700")
		runsVersion(&in.Card, ib.MustParseFWVersion("2.42.5700"))
	}},
	{"FW026", finding.NeedsConsent, "downgrade of another pair", func(in *FirmwareInput) {
		in.Card.Flash.FW = ib.MustParseFWVersion("2.42.5700")
		runsVersion(&in.Card, ib.MustParseFWVersion("2.42.5700"))
		in.Request.Downgrade = &Change[ib.FWVersion]{From: fw242, To: fw236}
	}},
	{"FW026", finding.NeedsConsent, "older notation",
		func(in *FirmwareInput) { in.Image.FW = ib.MustParseFWVersion("2.1100.6630") }},
	{"FW035", finding.NeedsConsent, "other branch", func(in *FirmwareInput) { branches(in) }},
	{"FW035", finding.Note, "other branch allowed", func(in *FirmwareInput) {
		branches(in)
		in.Request.Branch = &Change[ib.FWVersion]{From: in.Card.Flash.FW, To: in.Image.FW}
	}},
	{"FW035", finding.NeedsConsent, "other branch of another pair", func(in *FirmwareInput) {
		branches(in)
		in.Request.Branch = &Change[ib.FWVersion]{From: in.Card.Flash.FW, To: fw242}
	}},
	{"FW028", finding.NeedsConsent, "same version, other content",
		func(in *FirmwareInput) { in.Card.Flash.FW = fw242; runsVersion(&in.Card, fw242) }},
	{"FW028", finding.NeedsConsent, "reinstall of another version", func(in *FirmwareInput) {
		in.Card.Flash.FW = fw242
		runsVersion(&in.Card, fw242)
		in.Request.Reinstall = "2.36.5000"
	}},
	{"FW030", finding.Refuse, "format of another generation",
		func(in *FirmwareInput) { in.Card.Chip, _ = ib.ChipByPCI(0x1013) }},
	{"FW033", finding.Warn, "board of another model", func(in *FirmwareInput) {
		in.Card.PartNumber, in.Image.PRSName = "MCX314A-BCCT", "cx3pro-1_MCX354A_FCC.prs"
	}},
	{"FW034", finding.NeedsConsent, "two ports for one by the table of boards", func(in *FirmwareInput) {
		in.Card.PartNumber, in.Image.PartNumber = "MCX353A-FCBT", "MCX354A-FCB_A2-A5"
	}},
	{"FW034", finding.NeedsConsent, "the consent is for another image", func(in *FirmwareInput) {
		in.Card.PartNumber, in.Image.PartNumber = "MCX353A-FCBT", "MCX354A-FCB_A2-A5"
		in.Request.OtherBoard = "MT_9000000001"
	}},
	{"FW034", finding.Note, "two ports for one, as allowed", func(in *FirmwareInput) {
		in.Card.PartNumber, in.Image.PartNumber = "MCX353A-FCBT", "MCX354A-FCB_A2-A5"
		in.Request.OtherBoard = in.Image.PSID.String()
	}},
	{"FW034", finding.Warn, "two ports for one by part number", func(in *FirmwareInput) {
		in.Card.PartNumber, in.Image.PRSName = "MCX353A-FCBT", "cx3-1_MCX354A.prs"
	}},
	{"FW034", finding.Warn, "one port for two by the kernel",
		func(in *FirmwareInput) { in.Image.PRSName = "cx3-1_MCX311A.prs" }},
	{"FW040", finding.Refuse, "other vendor", func(in *FirmwareInput) { in.Card.VendorID = 0x8086 }},
	{"FW040", finding.Refuse, "unknown chip", func(in *FirmwareInput) { in.Card.Chip = ib.Chip{} }},
	{"FW041", finding.Refuse, "livefish", func(in *FirmwareInput) { in.Card.Livefish = true }},
	{"FW042", finding.Refuse, "secure firmware",
		func(in *FirmwareInput) { in.Card.Flash.SecurityAttrs = "secure-fw, dev" }},
	{"FW043", finding.Refuse, "flash damaged",
		func(in *FirmwareInput) { in.Card.Verified, in.Card.VerifyError = VerifyBad, "DDR: wrong CRC" }},
	{"FW044", finding.Refuse, "flash unreadable",
		func(in *FirmwareInput) { in.Card.Flash, in.Card.FlashError = nil, "semaphore" }},
	{"FW045", finding.Refuse, "staged image",
		func(in *FirmwareInput) { runsVersion(&in.Card, ib.MustParseFWVersion("2.30.8000")) }},
	{"FW045", finding.Refuse, "staged PSID", func(in *FirmwareInput) { runsPSID(&in.Card, psidEN) }},
	{"FW046", finding.Warn, "zero GUIDs", func(in *FirmwareInput) { in.Card.Flash.GUIDs.Node = 0 }},
	{"FW047", finding.Refuse, "blank card", func(in *FirmwareInput) { in.Card.Flash.BlankGUIDs = true }},
	{"FW049", finding.Warn, "duplicate", func(in *FirmwareInput) {
		in.Lab.Cards = []clash.Holder{{Host: "xeon2zfs", PCI: here, GUIDs: in.Card.Flash.GUIDs}}
	}},
	{"FW051", finding.Refuse, "no tool", func(in *FirmwareInput) { in.Host.MSTFlint.Present = false }},
	{"FW051", finding.Refuse, "no tool on TrueNAS",
		func(in *FirmwareInput) { in.Host.MSTFlint.Present, in.Host.Support.Mstflint = false, "Update TrueNAS." }},
	{"FW052", finding.Refuse, "tool crashes", func(in *FirmwareInput) { in.Host.MSTFlint.Version = "4.31.0" }},
	{"FW052", finding.Refuse, "tool too old", func(in *FirmwareInput) { in.Host.MSTFlint.Version = "4.6.0" }},
	{"FW052", finding.Refuse, "version of the tool unknown", func(in *FirmwareInput) { in.Host.MSTFlint.Version = "" }},
	{"FW045", finding.Refuse, "a job has written since the start, and no driver shows what runs", func(in *FirmwareInput) {
		driverless(&in.Card)
		in.Card.StagedBy = "J"
	}},
	{"FW054", finding.Refuse, "virtual function", func(in *FirmwareInput) { in.Card.Virtual = true }},
	{"FW054", finding.Refuse, "second function",
		func(in *FirmwareInput) { in.Card.PCI = ib.MustParsePCIAddress("0000:01:00.1") }},
	{"FW055", finding.Note, "no RDMA device, and the tool sees no other version",
		func(in *FirmwareInput) { in.Card.RunningAssumed = true }},
	{"FW055", finding.NeedsConsent, "no driver", func(in *FirmwareInput) { driverless(&in.Card) }},
	{"FW055", finding.NeedsConsent, "no driver, and consent to another version", func(in *FirmwareInput) {
		driverless(&in.Card)
		in.Request.UnprovenFlash = "2.30.8000"
	}},
	{"FW055", finding.Note, "no driver, as allowed", func(in *FirmwareInput) {
		driverless(&in.Card)
		in.Request.UnprovenFlash = fw236.String()
	}},
	{"FW055", finding.Note, "no driver, and our own job wrote it before the host started", func(in *FirmwareInput) {
		driverless(&in.Card)
		in.Card.StartedWith, in.Card.JobChecksum = "J", in.Card.Checksum
	}},
	{"FW045", finding.Refuse, "no consent to firmware that is known not to run", func(in *FirmwareInput) {
		driverless(&in.Card)
		in.Card.StagedBy, in.Request.UnprovenFlash = "J", fw236.String()
	}},
	{"FW056", finding.Refuse, "not verified", func(in *FirmwareInput) { in.Card.Verified = VerifyUnknown }},
	{"FW057", finding.Warn, "tool prints junk", func(in *FirmwareInput) { in.Host.MSTFlint.Version = "4.29.0" }},
	{"FW058", finding.Warn, "kernel without mlx4", func(in *FirmwareInput) {
		in.Card.Driver, in.Host.Support.NoDriver = "", "kernels of RHEL 10 are built without mlx4"
	}},
	{"HO045", finding.Refuse, "burn by hand", func(in *FirmwareInput) {
		in.Card.Flash, in.Card.FlashError = nil, "busy"
		in.Host.Users = fact.Known([]inventory.CardUser{burnAt(here)})
	}},
	{"HO045", finding.Refuse, "somebody came while the card was read", func(in *FirmwareInput) {
		in.Card.Verified, in.Card.InUse = VerifyUnknown, []string{"mstflint -d 01:00.0 b, pid 4711, user root"}
	}},
	{"HO045", finding.Refuse, "users not known",
		func(in *FirmwareInput) { in.Host.Users = fact.Unknown[[]inventory.CardUser]("/proc is hidden") }},
	{"HO051", finding.NeedsConsent, "a burn failed elsewhere, one of two is allowed", func(in *FirmwareInput) {
		in.Found = hostcheck.Stopped([]inventory.Stop{{ID: "job1", Host: "nas"}, {ID: "job2"}}, []string{"job1"})
	}},
	{"FW091", finding.Refuse, "an image that nobody has approved", func(in *FirmwareInput) {
		in.Found = []finding.Finding{finding.ImageNotApproved.Find("00ff is not in approved.sha256")}
	}},
	{"HO001", finding.NeedsConsent, "SSH over a bond of two cards", func(in *FirmwareInput) {
		in.Host.SSH.Devs = fact.Known([]string{"bond0.7"})
	}},
	{"HO001", finding.NeedsConsent, "unknown path of the session", func(in *FirmwareInput) {
		in.Host.SSH.Devs = fact.Unknown[[]string]("ip hung")
	}},
	{"HO001", finding.NeedsConsent, "SSH over a virtual function",
		func(in *FirmwareInput) { rideVirtual(&in.Host, fact.Known(here)) }},
	{"HO002", finding.NeedsConsent, "default route over a virtual function", func(in *FirmwareInput) {
		rideVirtual(&in.Host, fact.Known(here))
		in.Host.SSH.Devs, in.Host.Routes.Default = fact.Known([]string{"eno1"}), []inventory.DefaultRoute{{Dev: "v0"}}
	}},
	{"HO012", finding.NeedsConsent, "NFS over a virtual function", func(in *FirmwareInput) {
		rideVirtual(&in.Host, fact.Known(here))
		in.Host.SSH.Devs, in.Host.Storage = fact.Known([]string{"eno1"}), []inventory.Storage{tank(fact.Known("v0"))}
	}},
	{"HO012", finding.NeedsConsent, "unknown way to storage", func(in *FirmwareInput) {
		in.Host.Storage = []inventory.Storage{tank(fact.Unknown[string]("ip hung"))}
	}},
	{"HO001", finding.NeedsConsent, "SSH over the card",
		func(in *FirmwareInput) { in.Host.SSH.Devs = fact.Known([]string{"enp1s0d1"}) }},
	{"HO001", finding.Note, "SSH over the card, allowed", func(in *FirmwareInput) {
		in.Host.SSH.Devs = fact.Known([]string{"enp1s0"})
		in.Request.ManagementPath = []string{"enp1s0"}
	}},
	{"HO002", finding.NeedsConsent, "two interfaces, one of them allowed", func(in *FirmwareInput) {
		in.Host.SSH.Devs = fact.Known([]string{"enp1s0"})
		in.Host.Routes.Default = []inventory.DefaultRoute{{Dev: "enp1s0d1"}}
		in.Request.ManagementPath = []string{"enp1s0"}
	}},
	{"HO002", finding.Note, "two interfaces, both allowed", func(in *FirmwareInput) {
		in.Host.SSH.Devs = fact.Known([]string{"enp1s0"})
		in.Host.Routes.Default = []inventory.DefaultRoute{{Dev: "enp1s0d1"}}
		in.Request.ManagementPath = []string{"enp1s0d1", "enp1s0"}
	}},
	{"HO017", finding.Refuse, "journal of another version", func(in *FirmwareInput) {
		in.Host.Jobs = []inventory.Job{journal("J", here, true)}
		in.Host.Jobs[0].Request["version"] = "2"
	}},
	{"HO017", finding.Refuse, "journal that a power cut left empty", func(in *FirmwareInput) {
		in.Host.Jobs = []inventory.Job{journal("J", here, false)}
		in.Host.Jobs[0].Request = map[string]string{}
	}},
	{"HO017", finding.Refuse, "journal that does not say whose it is", func(in *FirmwareInput) {
		in.Host.Jobs = []inventory.Job{{ID: "by hand", Running: fact.Known(false), Request: map[string]string{"garbage": ""}}}
	}},
	{"HO002", finding.NeedsConsent, "default route over the card", func(in *FirmwareInput) {
		in.Host.Routes.Default = []inventory.DefaultRoute{{Dev: "enp1s0"}}
	}},
	{"HO003", finding.Refuse, "lockdown", func(in *FirmwareInput) { in.Host.Lockdown = fact.Known("integrity") }},
	{"HO003", finding.Note, "lockdown with mstflint's module", func(in *FirmwareInput) {
		in.Host.Lockdown, in.Host.Modules = fact.Known("integrity"), map[string]bool{"mstflint_access": true}
	}},
	{"HO004", finding.Refuse, "job on another card", func(in *FirmwareInput) {
		in.Host.Jobs = []inventory.Job{journal("j", there, true)}
	}},
	{"HO005", finding.Warn, "job not settled", func(in *FirmwareInput) {
		in.Host.Jobs = []inventory.Job{journal("j", here, false)}
		in.Host.Jobs[0].Exit = "0"
	}},
	{"HO005", finding.Warn, "job interrupted",
		func(in *FirmwareInput) { in.Host.Jobs = []inventory.Job{journal("j", here, false)} }},
	{"HO006", finding.Refuse, "no space", func(in *FirmwareInput) { in.Host.StateFree = fact.Known[int64](1 << 20) }},
	{"HO007", finding.Refuse, "reboot not allowed", func(in *FirmwareInput) { in.Host.RebootAllowed = false }},
	{"HO008", finding.Refuse, "observe", func(in *FirmwareInput) { in.Host.Observe = true }},
	{"HO009", finding.Warn, "SM on the card", func(in *FirmwareInput) { in.Host.Cards = managedOn(2, 1) }},
	{"HO010", finding.Refuse, "no systemd-run", func(in *FirmwareInput) { in.Host.Commands["systemd-run"] = false }},
	{"HO011", finding.Warn, "no activation", func(in *FirmwareInput) { in.Request.Activation = ActivationNone }},
	{"HO012", finding.NeedsConsent, "NFS over the card", func(in *FirmwareInput) {
		in.Host.Storage = []inventory.Storage{tank(fact.Known("enp1s0"))}
	}},
	{"HO012", finding.Note, "NFS over the card, allowed", func(in *FirmwareInput) {
		in.Host.Storage = []inventory.Storage{tank(fact.Known("enp1s0"))}
		in.Request.ManagementPath = []string{"enp1s0"}
	}},
	{"HO013", finding.Refuse, "NFS server", func(in *FirmwareInput) {
		in.Host.Servers = fact.Known([]inventory.Server{{Name: "NFS", Clients: 3}, {Name: "SMB"}})
	}},
	{"HO013", finding.Refuse, "NFS server, SMB allowed", func(in *FirmwareInput) {
		in.Host.Servers, in.Host.Interrupts = fact.Known([]inventory.Server{{Name: "NFS", Clients: 3}, {Name: "SMB"}}),
			[]string{"SMB"}
	}},
	{"HO013", finding.Note, "NFS server, allowed", func(in *FirmwareInput) {
		in.Host.Servers, in.Host.Interrupts = fact.Known([]inventory.Server{{Name: "NFS", Clients: 3}, {Name: "SMB"}}),
			[]string{"NFS"}
	}},
	{"HO013", finding.Warn, "NFS server without clients", func(in *FirmwareInput) {
		in.Host.Servers = fact.Known([]inventory.Server{{Name: "NFS"}, {Name: "SMB"}})
	}},
	{"HO014", finding.Refuse, "resilver", func(in *FirmwareInput) {
		in.Host.Scans = fact.Known([]inventory.Pool{{Name: "tank", Doing: "resilver"}})
	}},
	{"HO015", finding.Refuse, "on battery", func(in *FirmwareInput) {
		in.Host.Battery = fact.Known([]inventory.UPS{{Name: "ups@localhost", Status: "OB DISCHRG"}})
	}},
	{"HO015", finding.Refuse, "on battery, without a restart", func(in *FirmwareInput) {
		in.Host.Battery, in.Request.Activation = fact.Known([]inventory.UPS{{Name: "ups@localhost", Status: "OB DISCHRG"}}),
			ActivationNone
	}},
	{"HO016", finding.Warn, "kubelet", func(in *FirmwareInput) {
		in.Host.Units = map[string]inventory.Unit{"kubelet.service": {ActiveState: "active"}}
	}},
	{"BK001", finding.Refuse, "no second read",
		func(in *FirmwareInput) { in.Backup = goodBackup(); in.Backup.TwoReadsEqual = false }},
	{"BK001", finding.Refuse, "backup of another card",
		func(in *FirmwareInput) { in.Backup = goodBackup(); in.Backup.GUIDs.Node++ }},
	{"BK001", finding.Refuse, "backup not parsed",
		func(in *FirmwareInput) { in.Backup = goodBackup(); in.Backup.Parsed = false }},
	{"BK001", finding.Refuse, "backup of another version",
		func(in *FirmwareInput) { in.Backup = goodBackup(); in.Backup.FW = fw242 }},
	{"BK001", finding.Refuse, "backup not verified by the tool",
		func(in *FirmwareInput) { in.Backup = goodBackup(); in.Backup.ToolVerified = false }},
	{"BK010", finding.Refuse, "backup_dir is a file", func(in *FirmwareInput) { in.Host.BackupProblem = "it is a file" }},
	{"BK002", finding.Refuse, "no backup_dir", func(in *FirmwareInput) { in.Host.BackupDir = "" }},
}

func TestFirmware_findings(t *testing.T) {
	for _, c := range firmwareCases {
		t.Run(c.code+" "+c.name, func(t *testing.T) {
			in := goodFirmware()
			c.change(&in)
			v := Firmware(in)
			expectFinding(t, v.Findings, c.code, c.severity)
			if c.severity.Blocks() != v.Blocked() {
				t.Errorf("blocked is %t; findings %+v", v.Blocked(), v.Findings)
			}
			if v.Blocked() && (v.Action != ActionRefuse || v.Permits(ActionBurn, "intel9/0000:01:00.0")) {
				t.Errorf("blocked, and yet action %s", v.Action)
			}
		})
	}
}

func TestFirmware_clean_burn(t *testing.T) {
	in := goodFirmware()
	planned := Firmware(in)
	if planned.Action != ActionBurn || planned.Activation != ActivationReboot || len(planned.Findings) != 0 ||
		len(planned.Answers) != 0 {
		t.Fatalf("verdict %+v", planned)
	}
	if planned.Permits(ActionBurn, "intel9/0000:01:00.0") {
		t.Error("a verdict without a backup permits a burn")
	}
	in.Backup = goodBackup()
	final := Firmware(in)
	if !final.Permits(ActionBurn, "intel9/0000:01:00.0") || !final.Equal(planned) {
		t.Errorf("the final verdict does not permit the burn: %+v", final)
	}
	for _, other := range []string{"intel9/0000:02:00.0", "xeon2zfs/0000:01:00.0"} {
		if final.Permits(ActionBurn, other) {
			t.Errorf("the verdict on one card permits the burn of %s", other)
		}
	}
	if final.Permits(ActionSetGUIDs, "intel9/0000:01:00.0") {
		t.Error("the verdict on a burn permits another action")
	}
}

func TestVerdict_cannot_be_forged(t *testing.T) {
	forged := Verdict{Action: ActionBurn, Activation: ActivationReboot}
	if forged.Permits(ActionBurn, "intel9/0000:01:00.0") {
		t.Error("a literal permits a burn")
	}
	in := goodFirmware()
	in.Host.Observe = true
	in.Backup = goodBackup()
	edited := Firmware(in)
	edited.Findings, edited.Action = nil, ActionBurn
	if edited.Permits(ActionBurn, "intel9/0000:01:00.0") {
		t.Error("a refusal with its findings removed permits a burn")
	}
}

func TestFirmware_answers_only_what_was_allowed(t *testing.T) {
	in := goodFirmware()
	in.Card.Flash.PSID, in.Card.Flash.FW = psidEN, fw242
	runsPSID(&in.Card, psidEN)
	runsVersion(&in.Card, fw242)
	in.Request.PSIDChange = &Change[ib.PSID]{From: psidEN, To: psidVPI}
	v := Firmware(in)
	if len(v.Answers) != 2 || v.Answers[0] != QuestionVersion || v.Answers[1] != QuestionPSID {
		t.Errorf("answers %v of %+v", v.Answers, v)
	}
	in.Request.PSIDChange = nil
	if v := Firmware(in); len(v.Answers) != 0 {
		t.Errorf("a refusal answers %v", v.Answers)
	}
}

func TestFirmware_nothing_to_do(t *testing.T) {
	in := goodFirmware()
	in.Card.Flash.FW, in.Card.Checksum, in.Card.Flash.ProductVersion = fw242, "bb", in.Image.Product
	runsVersion(&in.Card, fw242)
	if v := Firmware(in); v.Action != ActionNone || v.Activation != ActivationNone || v.Blocked() {
		t.Errorf("the same content: %+v", v)
	}
	in.Card.Checksum = ""
	if v := Firmware(in); v.Action != ActionNone {
		t.Errorf("content not compared: %+v", v)
	}
	in.Card.ChecksumWhy = "mstflint crashed"
	f := expectFinding(t, Firmware(in).Findings, "FW028", finding.NeedsConsent)
	if !strings.Contains(f.Evidence, "mstflint crashed") {
		t.Errorf("evidence: %s", f.Evidence)
	}
	in.Card.ChecksumWhy = ""
	runsVersion(&in.Card, fw236)
	if v := Firmware(in); v.Action != ActionNone || v.Activation != ActivationReboot || v.Blocked() {
		t.Errorf("in flash and not running: %+v", v)
	}
	// Nothing shows what the card runs, and a job wrote its flash since the host started.
	driverless(&in.Card)
	if v := Firmware(in); v.Action != ActionNone || v.Activation != ActivationNone || v.Blocked() {
		t.Errorf("running unknown: %+v", v)
	}
	in.Card.StagedBy = "J"
	if v := Firmware(in); v.Action != ActionNone || v.Activation != ActivationReboot || v.Blocked() {
		t.Errorf("staged, and running unknown: %+v", v)
	}
	in.Host.RebootAllowed = false
	if v := Firmware(in); !v.Has(finding.RebootNotAllowed) {
		t.Errorf("reboot not allowed: %+v", v)
	}
}

// TestFirmware_without_a_restart_disturbs_nobody: what only a restart concerns
// is no reason against writing flash.
func TestFirmware_without_a_restart_disturbs_nobody(t *testing.T) {
	in := goodFirmware()
	in.Host.Servers, in.Host.Units = fact.Known([]inventory.Server{{Name: "NFS"}}),
		map[string]inventory.Unit{"k3s.service": {ActiveState: "active"}}
	in.Host.Scans = fact.Known([]inventory.Pool{{Name: "tank", Doing: "scrub"}})
	in.Request.Activation = ActivationNone
	v := Firmware(in)
	if v.Blocked() || v.Has(finding.HostServesShares) || v.Has(finding.HostScansPool) || v.Has(finding.HostInKubernetes) {
		t.Errorf("findings %+v", v.Findings)
	}
	in.Request.Activation = ActivationReboot
	in.Card.Flash.FW, in.Card.Checksum = fw242, "bb" // burned, and only the restart is left
	if v := Firmware(in); !v.Blocked() || !v.Has(finding.HostScansPool) || !v.Has(finding.HostServesShares) {
		t.Errorf("a restart that is left over: %+v", v.Findings)
	}
	in.Host.Scans, in.Host.Battery = fact.Known[[]inventory.Pool](nil),
		fact.Known([]inventory.UPS{{Name: "ups", Status: "OB LB"}})
	if v := Firmware(in); !v.Blocked() || !v.Has(finding.HostRunsOnBattery) {
		t.Errorf("a restart on battery: %+v", v.Findings)
	}
}

// TestFirmware_storage_on_another_card: only what rides on this card counts, and
// every interface is asked about once.
func TestFirmware_storage_on_another_card(t *testing.T) {
	in := goodFirmware()
	far := inventory.Storage{Kind: "nfs4", What: "a", Dev: fact.Known("enp65s0")}
	in.Host.Storage = []inventory.Storage{far, {Kind: "nfs4", What: "b", Dev: fact.Known("")}}
	if v := Firmware(in); v.Has(finding.StorageOverCard) {
		t.Errorf("findings %+v", v.Findings)
	}
	in.Host.Storage = []inventory.Storage{
		far, {Kind: "nfs4", What: "b", Dev: fact.Known("enp1s0")}, {Kind: "nfs4", What: "c", Dev: fact.Known("enp1s0")},
	}
	f := expectFinding(t, Firmware(in).Findings, "HO012", finding.NeedsConsent)
	if !strings.Contains(f.Evidence, "(nfs4 b, nfs4 c) uses enp1s0") || f.Consent != `management_path = ["enp1s0"]` {
		t.Errorf("evidence %q, consent %q", f.Evidence, f.Consent)
	}
}

// TestFirmware_names_the_way_out_of_recovery: the message is the runbook.
func TestFirmware_names_the_way_out_of_recovery(t *testing.T) {
	in := goodFirmware()
	in.Card.Livefish, in.Card.DeviceID = true, 0x01f8
	f := expectFinding(t, Firmware(in).Findings, "FW041", finding.Refuse)
	for _, part := range []string{"1. Verify the flash: mstflint -d 0000:01:00.0 v. If it verifies, write nothing: a jumper",
		"mstflint -d 0000:01:00.0 q", "/backups/intel9/CARD/TIME/ on the machine that runs Terraform",
		"-use_image_guids", "On the host, as root", "-i /var/lib/terraform-provider-infiniband/backups/FIRMWARE_SHA256.bin b",
		"copy firmware.bin", "another card", "Without a backup, stop"} {
		if !strings.Contains(f.WayOut, part) {
			t.Errorf("the runbook lacks %q:\n%s", part, f.WayOut)
		}
	}
}

// TestFirmware_consent_to_a_cross_flash_names_card_and_image: one that does serves no second card, as after an
// exchange, and no other image.
func TestFirmware_consent_to_a_cross_flash_names_card_and_image(t *testing.T) {
	for name, tt := range map[string]struct {
		of   CrossFlash
		says string // empty: allowed
	}{
		"neither":       {CrossFlash{}, ""},
		"both":          {CrossFlash{Card: "MT1234X00001", Image: "00FF"}, ""},
		"another card":  {CrossFlash{Card: "MT1234X00002"}, `allow.psid_change.card is "MT1234X00002", and this card is "MT1234X00001".`},
		"another image": {CrossFlash{Image: "aa"}, `allow.psid_change.image_sha256 is "aa", and the image has "00ff".`},
	} {
		in := goodFirmware()
		in.Card.Flash.PSID, in.Card.Serial = psidEN, fact.Known("MT1234X00001")
		runsPSID(&in.Card, psidEN)
		in.Request.PSIDChange, in.Request.PSIDChangeOf = &Change[ib.PSID]{From: psidEN, To: psidVPI}, tt.of
		if tt.says == "" {
			expectFinding(t, Firmware(in).Findings, "FW023", finding.Note)
			continue
		}
		f := expectFinding(t, Firmware(in).Findings, "FW023", finding.NeedsConsent)
		if !strings.Contains(f.Evidence, tt.says) || !strings.Contains(f.Consent, `card = "MT1234X00001", image_sha256 = "00ff" }`) {
			t.Errorf("%s: %s\n%s", name, f.Evidence, f.Consent)
		}
	}
}

// TestFirmware_names_the_command_for_a_damaged_flash: a burn without -nofs is refused there. A
// flash that cannot be read may be whole, and gets no such command.
func TestFirmware_names_the_command_for_a_damaged_flash(t *testing.T) {
	const command = "mstflint -d 0000:01:00.0 -nofs -use_image_guids -use_image_ps -i " +
		"/var/lib/terraform-provider-infiniband/backups/FIRMWARE_SHA256.bin b"
	in := goodFirmware()
	in.Card.Verified, in.Card.VerifyError = VerifyBad, "Bad CRC"
	if f := expectFinding(t, Firmware(in).Findings, "FW043", finding.Refuse); !strings.Contains(f.WayOut, command) {
		t.Errorf("no command:\n%s", f.WayOut)
	}
	in.Card.Flash, in.Card.FlashError = nil, "Cannot open the device"
	if f := expectFinding(t, Firmware(in).Findings, "FW044", finding.Refuse); strings.Contains(f.WayOut, "-nofs") {
		t.Errorf("a command that is not failsafe, for a flash that may be whole:\n%s", f.WayOut)
	}
}

func TestFirmware_waits_for_a_running_job(t *testing.T) {
	in := goodFirmware()
	in.Card.Flash = nil // the job holds the lock
	in.Host.Jobs = []inventory.Job{journal("j", here, true)}
	if v := Firmware(in); v.Action != ActionWait || v.Blocked() || v.Permits(ActionBurn, "intel9/0000:01:00.0") {
		t.Errorf("verdict %+v", v)
	}
}

func TestFirmware_consents_are_literal(t *testing.T) {
	in := goodFirmware()
	in.Card.Flash.PSID = psidEN
	runsPSID(&in.Card, psidEN)
	f := expectFinding(t, Firmware(in).Findings, "FW023", finding.NeedsConsent)
	if want := `psid_change = { from = "MT_9200111023", to = "MT_9090111019" }`; f.Consent != want {
		t.Errorf("consent %s, want %s", f.Consent, want)
	}
	if !strings.Contains(f.Detail(), f.Consent) || !strings.Contains(f.Detail(), "FW023") {
		t.Errorf("detail lacks the line or the code:\n%s", f.Detail())
	}
	in.Request.PSIDChange = &Change[ib.PSID]{From: psidVPI, To: psidVPI}
	f = expectFinding(t, Firmware(in).Findings, "FW023", finding.NeedsConsent)
	if f.Summary != "allow.psid_change names another pair than the one observed" || !strings.Contains(f.Evidence, "allow.psid_change.from is") ||
		strings.Contains(f.Evidence, "allow.psid_change.to is") {
		t.Errorf("evidence does not say which half is off: %s", f.Evidence)
	}
	in = goodFirmware()
	in.Card.Flash.FW, in.Image.FW = fw242, fw236
	runsVersion(&in.Card, fw242)
	f = expectFinding(t, Firmware(in).Findings, "FW026", finding.NeedsConsent)
	if want := `downgrade = { from = "2.42.5000", to = "2.36.5000" }`; f.Consent != want {
		t.Errorf("consent %s, want %s", f.Consent, want)
	}
	in.Request.Downgrade = &Change[ib.FWVersion]{From: fw242, To: fw236}
	if v := Firmware(in); v.Action != ActionBurn {
		t.Errorf("downgrade with consent: %+v", v)
	}
}

// A restart into firmware that is not whole, or that nobody can read, is never
// done, and never advised.
func TestRestart_notIntoDamagedFlash(t *testing.T) {
	states := map[string]func(*CardFacts){
		"damaged":      func(c *CardFacts) { c.Verified, c.VerifyError = VerifyBad, "DDR: wrong CRC" },
		"not verified": func(c *CardFacts) { c.Verified, c.VerifyError = VerifyUnknown, "the tool hung" },
	}
	for name, change := range states {
		f := goodFacts()
		change(&f.card)
		expectFinding(t, requests["restart"](f).Findings, "FW063", finding.Refuse)
		expectFinding(t, requests["link types in the card"](f).Findings, "FW063", finding.Refuse)
		in := goodGUIDs()
		in.Card, in.Waits, in.Request.Activation = f.card, true, ActivationReboot
		in.Card.Flash.GUIDs = GUIDs(goodGUIDs()).GUIDs
		expectFinding(t, GUIDs(in).Findings, "FW063", finding.Refuse)
		burn := goodFirmware()
		change(&burn.Card)
		runsVersion(&burn.Card, ib.MustParseFWVersion("2.30.8000"))
		if f := expectFinding(t, Firmware(burn).Findings, "FW045", finding.Refuse); !strings.Contains(f.WayOut,
			"Do not restart the host") {
			t.Errorf("%s: the way out of FW045 is %q", name, f.WayOut)
		}
	}
	in := goodFirmware()
	in.Card.Flash.PSID = ""
	if f := expectFinding(t, Firmware(in).Findings, "FW045", finding.Refuse); !strings.Contains(f.WayOut,
		"Do not restart the host") {
		t.Errorf("no PSID in flash: the way out of FW045 is %q", f.WayOut)
	}
}

// A restart is one of the whole host: another card whose flash nobody can read keeps it
// from happening, whatever it is for.
func TestRestart_notWithAnotherDeadFlash(t *testing.T) {
	other := goodCard().Card
	other.PCI, other.Flash, other.FlashError = there, nil, "No valid image found"
	for name, x := range map[string]struct {
		change  func(*inventory.Card)
		refused bool
	}{
		"dead":             {func(*inventory.Card) {}, true},
		"read":             {func(c *inventory.Card) { c.Flash = goodCard().Flash }, false},
		"in recovery mode": {func(c *inventory.Card) { c.Livefish = true }, false},
		"second function":  {func(c *inventory.Card) { c.PCI = ib.MustParsePCIAddress("0000:41:00.1") }, false},
		"no chip of ours":  {func(c *inventory.Card) { c.Chip = ib.Chip{} }, false},
		"busy":             {func(c *inventory.Card) { c.FlashFailure = inventory.FlashBusy }, false},
	} {
		for _, request := range []string{"firmware", "restart", "guids", "link types in the card", "link types", "backup"} {
			f, c := goodFacts(), other
			x.change(&c)
			f.host.Cards = append(f.host.Cards, c)
			v := requests[request](f)
			restarts := request != "link types" && request != "backup"
			if v.Has(finding.RestartIntoDamagedFlash) != (x.refused && restarts) {
				t.Errorf("%s, %s: %+v", request, name, v.Blockers())
			}
			for _, f := range v.Blockers() {
				if f.Rule == finding.RestartIntoDamagedFlash && !strings.Contains(f.Evidence, there.String()) || f.Rule == finding.RestartIntoDamagedFlash && !strings.Contains(f.WayOut, "-d "+there.String()) {
					t.Errorf("%s, %s names another card: %+v", request, name, f)
				}
			}
		}
	}
}

// An image for another chip has another PSID, version and format too. No consent brings it onto the card.
func TestFirmware_an_image_of_another_chip_asks_for_no_consent(t *testing.T) {
	in := goodFirmware()
	in.Card.Flash.PSID = psidEN
	runsPSID(&in.Card, psidEN)
	in.Card.Chip, _ = ib.ChipByPCI(0x1013)
	in.Image.HWIDs = []ib.HWID{{ID: 0x1f5}}
	v := Firmware(in)
	expectFinding(t, v.Findings, "FW020", finding.Refuse)
	expectFinding(t, v.Findings, "FW030", finding.Refuse)
	for _, f := range v.Findings {
		if f.Asks() {
			t.Errorf("%s asks for a consent", f.Rule)
		}
	}
}
