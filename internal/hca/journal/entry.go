package journal

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Entry is the request of a job as it is read again from its host. What it does
// not say, or is not understood, is zero.
type Entry struct {
	Card ib.Identity // that the job was for
	// Before and After are what the flash held and was to hold.
	Before, After ib.Firmware
	// GUIDsBefore and GUIDsAfter are the same of GUIDs and MACs. A card that had no
	// identity is Blank; a burn leaves the one that was there.
	GUIDsBefore, GUIDsAfter ib.GUIDSet
	Blank                   bool
	Backup                  string // the directory with what the job replaced
	Restore                 bool   // it undoes another job
	// OwnerMachine and OwnerProcess name who watches the job.
	OwnerMachine, OwnerProcess string
}

// Read reads the request of a job.
func Read(j *inventory.Job) Entry {
	e := Entry{
		Before: flashFrom(j, "from_psid", "from_fw"), Backup: j.Request["backup_path"], Restore: j.Request["purpose"] == purposeRestore,
		OwnerMachine: j.Request["owner_machine"], OwnerProcess: j.Request["owner_process"],
	}
	if id, err := ib.ParseIdentity(j.Request["card_identity"]); err == nil {
		e.Card = id
	}
	from, known := identityFrom(j.Request["from_guids"], j.Request["from_macs"])
	e.GUIDsBefore, e.Blank = from, !known
	if j.Kind == GUIDs {
		e.After = e.Before
		e.GUIDsAfter, _ = identityFrom(j.Request["to_guids"], j.Request["to_macs"])
		return e
	}
	e.After, e.GUIDsAfter = flashFrom(j, "to_psid", "to_fw"), from
	return e
}

func flashFrom(j *inventory.Job, psid, fw string) ib.Firmware {
	f := ib.Firmware{PSID: ib.PSID(j.Request[psid])}
	if v, err := ib.ParseFWVersion(j.Request[fw]); err == nil {
		f.FW = v
	}
	return f
}

func identityFrom(guids, macs string) (ib.GUIDSet, bool) {
	g, m := strings.Fields(guids), strings.Fields(macs)
	if len(g) != 4 || len(m) != 2 {
		return ib.GUIDSet{}, false
	}
	var set ib.GUIDSet
	for i, to := range []*ib.GUID{&set.Node, &set.Port1, &set.Port2, &set.SystemImage} {
		v, err := ib.ParseGUID(g[i])
		if err != nil {
			return ib.GUIDSet{}, false
		}
		*to = v
	}
	for i, to := range []*ib.MAC{&set.MAC1, &set.MAC2} {
		v, err := ib.ParseMAC(m[i])
		if err != nil {
			return ib.GUIDSet{}, false
		}
		*to = v
	}
	return set, true
}

// BackupOf finds the backup that was taken before the burn to which a flash owes
// its content: the last that succeeded with it, else the last that tried. It is
// empty if that burn undid another one.
func BackupOf(jobs []*inventory.Job, flash ib.Firmware) string {
	var source *inventory.Job
	for _, j := range jobs {
		if j.Kind != Burn || flashFrom(j, "to_psid", "to_fw") != flash {
			continue
		}
		if source == nil || j.Exit == "0" || source.Exit != "0" {
			source = j
		}
	}
	if source == nil || source.Request["purpose"] == purposeRestore {
		return ""
	}
	return source.Request["backup_path"]
}

// RestoredTo reports whether a job was to give the flash back this content, for a
// destroy.
func RestoredTo(j *inventory.Job, flash ib.Firmware) bool {
	return j.Request["purpose"] == purposeRestore && flashFrom(j, "to_psid", "to_fw") == flash
}
